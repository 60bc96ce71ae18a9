// The demo trace as an event table, for tests of the floors above.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "lumos/base/file.h"
#include "lumos/base/result.h"
#include "lumos/trace/demo.h"
#include "lumos/trace/reader.h"

namespace lumos {

/// `name` keeps tests that run at the same time apart.
inline std::shared_ptr<const EventTable> demo_table(const std::string& name, const DemoOptions& options = {}) {
  const char* folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/lumos_" + name + ".json";
  CHECK(write_file(path, demo_trace(options)).has_value());
  Result<EventTable> table = read_trace(path, ReadOptions{});
  std::remove(path.c_str());
  CHECK(table.has_value());
  return std::make_shared<const EventTable>(std::move(*table));
}

}  // namespace lumos
