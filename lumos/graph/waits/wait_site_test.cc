#include "lumos/graph/waits/wait_site.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

WaitSite lone_waits(uint64_t count) {
  WaitSite site;
  site.lone = site.edges = count;
  site.scores.resize(kFirstStream);
  for (ReadingScore& score : site.scores) score.seen = count;
  return site;
}

TEST(WaitSite, KeepsTheStructuralReadingWhileNothingSpeaksAgainstIt) {
  WaitSite site = lone_waits(10);
  EXPECT_FALSE(choose_reading(site));
  EXPECT_EQ(site.reading, kStructure);
}

TEST(WaitSite, MovesToTheReadingThatTimeAllowsAndConfirms) {
  WaitSite site = lone_waits(40);
  site.scores[kStructure].contradicted = 10;
  site.scores[kNewest].binding = 5;
  EXPECT_TRUE(choose_reading(site));
  EXPECT_EQ(site.reading, kNewest);
  EXPECT_FALSE(choose_reading(site));
}

TEST(WaitSite, OneContradictionInTwentyIsForgiven) {
  WaitSite site = lone_waits(40);
  site.scores[kStructure].contradicted = 2;
  EXPECT_FALSE(choose_reading(site));
}

TEST(WaitSite, IsRefusedWhenTimeContradictsEveryReading) {
  WaitSite site = lone_waits(10);
  for (ReadingScore& score : site.scores) score.contradicted = 9;
  EXPECT_TRUE(choose_reading(site));
  EXPECT_TRUE(site.refused);
}

TEST(WaitSite, APatternIsRefusedWhenContradictedAndStaysSo) {
  WaitSite site;
  site.edges = 10;
  site.contradicted = 3;
  EXPECT_TRUE(choose_reading(site));
  EXPECT_TRUE(site.refused);
  site.contradicted = 0;
  EXPECT_FALSE(choose_reading(site));
  EXPECT_TRUE(site.refused);
}

TEST(WaitSite, ADistanceThatRepeatsIsNoChance) {
  WaitSite site = lone_waits(5);
  site.instances = 5;
  site.backs[{2, 7}] = 4;
  site.backs[{2, 1}] = 1;
  choose_reading(site);
  EXPECT_EQ(site.back_stream, 2u);
  EXPECT_EQ(site.back, 7u);
  site.backs[{2, 7}] = 2;
  choose_reading(site);
  EXPECT_EQ(site.back_stream, kNoIndex);
}

TEST(WaitSite, IsSureOfPatternsLessOfChoicesAndLeastOfFew) {
  WaitSite pattern;
  pattern.edges = 10;
  WaitSite many = lone_waits(100), few = lone_waits(2), confirmed = lone_waits(2);
  many.ambiguous = 100;
  few.ambiguous = confirmed.ambiguous = 2;
  confirmed.scores[kStructure].binding = 2;
  EXPECT_GT(confidence_pct(pattern), confidence_pct(many));
  EXPECT_GT(confidence_pct(many), confidence_pct(few));
  EXPECT_GT(confidence_pct(confirmed), confidence_pct(few));
  pattern.contradicted = 5;
  EXPECT_LE(confidence_pct(pattern), 50);
}

}  // namespace
}  // namespace lumos
