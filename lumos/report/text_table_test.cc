#include "lumos/report/text_table.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lumos
