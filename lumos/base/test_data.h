// Where tests find files: those of the repository, and data that lies outside it and may be absent. Tests only.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "source_dir.h"

namespace lumos {

/// The path of a file of the repository.
inline std::string source_path(const std::string& relative) { return std::string(LUMOS_SOURCE_DIR) + "/" + relative; }

/// The path of a file below $LUMOS_DATA, by default the folder `shared` beside the repository. It may not exist.
inline std::string data_path(const std::string& relative) {
  const char* data = std::getenv("LUMOS_DATA");
  return (data != nullptr ? std::string(data) : source_path("../shared")) + "/" + relative;
}

}  // namespace lumos

/// Skips the present test when the data is absent.
#define SKIP_WITHOUT_DATA(path) \
  if (access((path).c_str(), R_OK) != 0) GTEST_SKIP() << "no data at " << (path) << "; set LUMOS_DATA"
