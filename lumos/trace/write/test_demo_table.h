// The demo trace as an event table, for tests of the floors above.
#pragma once

#include <memory>

#include "lumos/base/result.h"
#include "lumos/base/test_folder.h"
#include "lumos/trace/kineto/reader.h"
#include "lumos/trace/write/demo.h"

namespace lumos {

inline std::shared_ptr<const EventTable> demo_table(const DemoOptions& options = {}) {
  const TempFolder folder;
  Result<EventTable> table = read_trace(folder.write("demo.json", demo_trace(options)), ReadOptions{});
  CHECK(table.has_value());
  return std::make_shared<const EventTable>(std::move(*table));
}

}  // namespace lumos
