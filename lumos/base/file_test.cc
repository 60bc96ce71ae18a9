#include "lumos/base/file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace lumos {
namespace {

TEST(File, ReadsBackWhatItWrote) {
  const std::string path = testing::TempDir() + "lumos_file_test.txt";
  const std::string content("a\0b\n", 4);
  ASSERT_TRUE(write_file(path, content).has_value());
  EXPECT_EQ(read_file(path).value(), content);
  std::remove(path.c_str());
}

TEST(File, ErrorsNameTheFileAndTheReason) {
  EXPECT_EQ(read_file("/no/such/file").error().message, "/no/such/file: cannot read: No such file or directory");
  EXPECT_EQ(read_file("/no/such/file").error().kind, ErrorKind::kUnreadable);
  EXPECT_EQ(read_file("/tmp").error().message, "/tmp: cannot read: Is a directory");
  EXPECT_EQ(write_file("/no/such/file", "x").error().message, "/no/such/file: cannot write: No such file or directory");
}

TEST(File, DevicesAreWrittenToAndNotReplaced) { EXPECT_TRUE(write_file("/dev/null", "x").has_value()); }

TEST(File, LinksAreFollowedAndStayLinks) {
  const std::string target = testing::TempDir() + fmt::format("lumos_link_target_{}", getpid()),
                    link = target + "_link";
  ASSERT_TRUE(write_file(target, "old").has_value());
  std::remove(link.c_str());
  ASSERT_EQ(symlink(target.c_str(), link.c_str()), 0);
  ASSERT_TRUE(write_file(link, "new").has_value());
  EXPECT_TRUE(is_special_file(link));
  EXPECT_EQ(read_file(target).value(), "new");
  std::remove(link.c_str());
  std::remove(target.c_str());
}

}  // namespace
}  // namespace lumos
