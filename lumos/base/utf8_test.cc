#include "lumos/base/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace lumos {
namespace {

TEST(TerminalText, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(terminal_text("kernel\x1b[31m"), "kernel\\x1b[31m");
  EXPECT_EQ(terminal_text("\x1b]0;title\a"), "\\x1b]0;title\\x07");
  EXPECT_EQ(terminal_text("a\rb\x7f"), "a\\x0db\\x7f");
  EXPECT_EQ(terminal_text("c1 \xc2\x9b"), "c1 \\xc2\\x9b");
  EXPECT_EQ(terminal_text("\xe2\x80\xae turned"), "\\xe2\\x80\\xae turned");
}

TEST(TerminalText, KeepsTextLinesAndTabs) {
  EXPECT_EQ(terminal_text("a\tb\nµs 層"), "a\tb\nµs 層");
  EXPECT_EQ(terminal_line("a\tb\n"), "a\\x09b\\x0a");
}

TEST(TerminalText, ShowsBytesThatAreNoText) { EXPECT_EQ(terminal_text("a\xff"), "a\\xff"); }

RC_GTEST_PROP(TerminalText, HasNoControlBytes, (const std::string& text)) {
  const std::string shown = terminal_line(text);
  RC_ASSERT(std::none_of(shown.begin(), shown.end(),
                         [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
}

}  // namespace
}  // namespace lumos
