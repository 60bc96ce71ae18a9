#include "lumos/trace/words/rank_list.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(RankList, AListThatIsCutShowsItsFirstRanksAndHasNoMembers) {
  EXPECT_EQ(parse_rank_list("[0, 8, 16]").whole(), (std::vector<int32_t>{0, 8, 16}));
  const RankList cut = parse_rank_list("[0, 1, 2...]");
  EXPECT_TRUE(cut.cut && cut.whole().empty());
  EXPECT_EQ(cut.shown, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_TRUE(parse_rank_list("").whole().empty());
}

TEST(RankLists, EachTextIsParsedOnceAndStays) {
  NamePool names;
  const NameId one = names.intern("[0, 1]"), other = names.intern("[2, 3]");
  RankLists lists(names);
  const RankList* first = &lists.of(one);
  EXPECT_EQ(lists.of(other).shown, (std::vector<int32_t>{2, 3}));
  const NameId late = names.intern("[4]");
  EXPECT_EQ(lists.of(late).shown, (std::vector<int32_t>{4}));
  EXPECT_EQ(&lists.of(one), first);
}

}  // namespace
}  // namespace lumos
