#include "lumos/trace/write/output_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "lumos/base/file.h"
#include "lumos/base/test_folder.h"

namespace lumos {
namespace {

class OutputFileTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  size_t files() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path("")), {})); }
  const TempFolder folder_;
};

TEST_F(OutputFileTest, WhatWasThereStaysUntilTheNewIsWhole) {
  for (const char* name : {"trace.json", "trace.json.gz"}) {
    ASSERT_TRUE(write_file(path(name), "before").has_value());
    auto file = OutputFile::open(path(name));
    ASSERT_TRUE(file.has_value());
    file->write(std::string(1 << 20, 'x'));
    EXPECT_EQ(read_file(path(name)).value(), "before");
    ASSERT_TRUE(file->close().has_value());
    EXPECT_NE(read_file(path(name)).value(), "before");
  }
  EXPECT_EQ(files(), 2u);
}

TEST_F(OutputFileTest, GivenUpHalfwayItLeavesNothing) {
  {
    auto file = OutputFile::open(path("trace.json"));
    ASSERT_TRUE(file.has_value());
    file->write("half");
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(OutputFileTest, DevicesAreWrittenThrough) {
  auto file = OutputFile::open("/dev/null");
  ASSERT_TRUE(file.has_value());
  file->write("x");
  EXPECT_TRUE(file->close().has_value());
}

TEST_F(OutputFileTest, AFolderThatIsNotThereIsTold) {
  const auto file = OutputFile::open(path("no/such/trace.json"));
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find("no/such/trace.json: cannot be written"), std::string::npos)
      << file.error().message;
}

}  // namespace
}  // namespace lumos
