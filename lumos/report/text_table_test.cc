#include "lumos/report/text_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace lumos {
namespace {

TEST(TextTable, AlignsColumns) {
  TextTable table({{"name", Align::kLeft}, {"ms"}});
  table.add({"a", "1.5"});
  table.add({"longer", "12.25"});
  table.add({"alone"});
  EXPECT_EQ(table.text(), "  name       ms\n  a         1.5\n  longer  12.25\n  alone\n");
}

TEST(TextTable, CutsTheFirstColumnToFit) {
  TextTable table({{"name", Align::kLeft}, {"ms"}});
  table.add({std::string(100, 'x'), "1"});
  const std::string text = table.text();
  EXPECT_NE(text.find("x...   1\n"), std::string::npos) << text;
  EXPECT_EQ(text.find(std::string(77, 'x')), std::string::npos);
}

TEST(TextTable, CutsCharactersNotBytes) {
  EXPECT_EQ(text_width("a\xc3\xa9z"), 3u);
  EXPECT_EQ(cut_text("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4), "\xc3\xa9...");
  EXPECT_EQ(cut_text("short", 5), "short");
}

TEST(HumanMs, KeepsAboutFourDigits) {
  EXPECT_EQ(human_ms(12345.678), "12345.7");
  EXPECT_EQ(human_ms(12.3456), "12.35");
  EXPECT_EQ(human_ms(0.01234), "0.0123");
  EXPECT_EQ(human_ms(0), "0");
  EXPECT_EQ(signed_percent(-0.001), "+0.00 %");
  EXPECT_EQ(signed_percent(1.239), "+1.24 %");
}

TEST(CutText, KeepsBothEndsOfALongName) {
  EXPECT_EQ(cut_middle("short", 9), "short");
  EXPECT_EQ(cut_middle("gemm_128x128_nn", 11), "gemm...8_nn");
  EXPECT_EQ(cut_middle("äöü äöü äöü", 6), cut_text("äöü äöü äöü", 6));  // Whole characters only.
}

TEST(FoldLines, BreaksProseAtWordsUnderItsIndent) {
  const std::string words = "  warning: " + std::string(60, 'a') + " " + std::string(20, 'b') + " c\nshort\n";
  EXPECT_EQ(fold_lines(words), "  warning: " + std::string(60, 'a') + "\n    " + std::string(20, 'b') + " c\nshort\n");
  EXPECT_EQ(fold_lines(""), "");
  EXPECT_EQ(fold_lines("no end"), "no end");
  EXPECT_EQ(fold_lines(std::string(100, 'x') + "\n"), std::string(100, 'x') + "\n");  // Names stay whole.
}

RC_GTEST_PROP(FoldLines, KeepsEveryWordAndFitsWhereWordsDo, (const std::vector<std::vector<uint8_t>>& lines)) {
  std::string text;
  for (const std::vector<uint8_t>& words : lines) {
    for (const uint8_t word : words) text += std::string(word % 4, ' ') + std::string(1 + word % 70, 'w');
    text += '\n';
  }
  const std::string folded = fold_lines(text);
  const auto words_of = [](std::string all) {
    std::replace(all.begin(), all.end(), '\n', ' ');
    std::erase(all, ' ');
    return all;
  };
  RC_ASSERT(words_of(folded) == words_of(text));
  RC_ASSERT(fold_lines(folded) == folded);
}

}  // namespace
}  // namespace lumos
