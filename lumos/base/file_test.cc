#include "lumos/base/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

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
  EXPECT_TRUE(is_special_file(link));
  EXPECT_EQ(read_file(target).value(), "new");
}

}  // namespace
}  // namespace lumos
