#include "lumos/base/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "lumos/base/test_folder.h"

namespace lumos {
namespace {

TEST(File, ReadsBackWhatItWrote) {
  const TempFolder folder;
  const std::string path = folder.path("file.txt");
  const std::string content("a\0b\n", 4);
  ASSERT_TRUE(write_file(path, content).has_value());
  EXPECT_EQ(read_file(path).value(), content);
}

TEST(File, ErrorsNameTheFileAndTheReason) {
  EXPECT_EQ(read_file("/no/such/file").error().message, "/no/such/file: cannot read: No such file or directory");
  EXPECT_EQ(read_file("/no/such/file").error().kind, ErrorKind::kUnreadable);
  EXPECT_EQ(read_file("/tmp").error().message, "/tmp: cannot read: Is a directory");
  EXPECT_EQ(write_file("/no/such/file", "x").error().message, "/no/such/file: cannot write: No such file or directory");
}

TEST(File, DevicesAreWrittenToAndNotReplaced) { EXPECT_TRUE(write_file("/dev/null", "x").has_value()); }

TEST(File, LinksAreFollowedAndStayLinks) {
  const TempFolder folder;
  const std::string target = folder.write("target", "old"), link = folder.path("link");
  ASSERT_EQ(symlink(target.c_str(), link.c_str()), 0);
  ASSERT_TRUE(write_file(link, "new").has_value());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_file(target).value(), "new");
}

TEST(File, ALinkToNothingMakesWhatItNames) {
  const TempFolder folder;
  const std::string link = folder.path("link");
  ASSERT_EQ(symlink("target", link.c_str()), 0);
  ASSERT_TRUE(write_file(link, "new").has_value());
  EXPECT_EQ(read_file(folder.path("target")).value(), "new");
}

TEST(File, BehindALinkTheOldContentStaysUntilTheNewIsWhole) {
  const TempFolder folder;
  const std::string target = folder.write("target", "old"), link = folder.path("link");
  ASSERT_EQ(symlink(target.c_str(), link.c_str()), 0);
  Draft draft(link);
  EXPECT_NE(draft.name(), target);
  ASSERT_TRUE(write_file("/dev/null", "").has_value());
  EXPECT_EQ(read_file(target).value(), "old");
}

TEST(File, DescriptorsAreSpecialWhateverIsBehindThem) {
  EXPECT_TRUE(is_special_file("/dev/stdout"));
  EXPECT_TRUE(is_special_file("/dev/null"));
  EXPECT_FALSE(is_special_file("/no/such/file"));
}

TEST(Draft, IsGoneUnlessItIsPutInPlace) {
  const TempFolder folder;
  const std::string path = folder.path("out");
  std::string name;
  {
    const Draft draft(path);
    name = folder.write(std::filesystem::path(draft.name()).filename(), "half");
    EXPECT_EQ(name, draft.name());
  }
  EXPECT_FALSE(std::filesystem::exists(name));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Draft, AllGoWhenTheProcessIsEndedAtOnce) {
  const TempFolder folder;
  Draft one(folder.path("one")), other(folder.path("other"));
  for (const Draft* draft : {&one, &other}) folder.write(std::filesystem::path(draft->name()).filename(), "half");
  remove_drafts();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("")));
}

}  // namespace
}  // namespace lumos
