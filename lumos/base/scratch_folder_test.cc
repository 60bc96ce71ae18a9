#include "lumos/base/scratch_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "lumos/base/file.h"

namespace lumos {
namespace {

TEST(ScratchFolder, IsPrivateAndGoesWithTheObject) {
  std::filesystem::path path;
  {
    Result<ScratchFolder> made = ScratchFolder::make("lumos-scratch-test");
    ASSERT_TRUE(made.has_value());
    path = made->path();
    struct stat status = {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    EXPECT_EQ(status.st_uid, geteuid());
    ASSERT_TRUE(write_file(made->file("part"), "x").has_value());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ScratchFolder, TwoOfOneNameAreTwoFolders) {
  const Result<ScratchFolder> one = ScratchFolder::make("lumos-scratch-test");
  const Result<ScratchFolder> other = ScratchFolder::make("lumos-scratch-test");
  ASSERT_TRUE(one.has_value() && other.has_value());
  EXPECT_NE(one->path(), other->path());
}

TEST(ScratchFolder, MovingKeepsItAlive) {
  std::optional<ScratchFolder> kept;
  {
    Result<ScratchFolder> made = ScratchFolder::make("lumos-scratch-test");
    ASSERT_TRUE(made.has_value());
    kept.emplace(std::move(*made));
  }
  EXPECT_TRUE(std::filesystem::exists(kept->path()));
}

}  // namespace
}  // namespace lumos
