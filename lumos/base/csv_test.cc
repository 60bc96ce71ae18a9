#include "lumos/base/csv.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(Csv, ReadsQuotedCellsAndSkipsCommentsAndEmptyLines) {
  const auto table = parse_csv("# note\r\nname,size\r\n\r\n\"a, \"\"b\"\"\",3\r\n", "t.csv");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->columns, (std::vector<std::string>{"name", "size"}));
  ASSERT_EQ(table->rows.size(), 1u);
  EXPECT_EQ(table->rows[0], (std::vector<std::string>{"a, \"b\"", "3"}));
  EXPECT_EQ(table->lines[0], 4u);
  EXPECT_EQ(table->find_column("size"), 1);
  EXPECT_EQ(table->find_column("none"), -1);
}

TEST(Csv, AByteOrderMarkIsNoPartOfTheFirstColumn) {
  const auto table = parse_csv("\xef\xbb\xbfname,size\r\na,3\r\n", "t.csv");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->find_column("name"), 0);
}

TEST(Csv, AShortRowIsAnErrorThatNamesItsLine) {
  const auto table = parse_csv("a,b\n1,2\n3\n", "t.csv");
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().message.find("t.csv:3"), std::string::npos);
  EXPECT_FALSE(parse_csv("", "t.csv"));
  EXPECT_FALSE(parse_csv("a\n\"open\n", "t.csv"));
}

}  // namespace
}  // namespace lumos
