// libFuzzer target: any bytes give a table or one message, the same for every way of cutting them into blocks.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lumos/trace/kineto/reader.h"

namespace {

using namespace lumos;

void check_table(const EventTable& table) {
  size_t rows = table.size();
  CHECK(table.dur_ns.size() == rows && table.name.size() == rows && table.lane.size() == rows);
  CHECK(table.kind.size() == rows && table.correlation.size() == rows && table.detail.size() == rows);
  for (size_t row = 0; row < rows; ++row) {
    CHECK(table.dur_ns[row] >= 0);
    CHECK(static_cast<uint32_t>(table.name[row]) < table.names->size());
    CHECK(table.lane[row] < table.lanes.size());
    if (const GpuDetail* gpu = table.gpu_detail(row)) {
      CHECK(gpu >= table.gpu.data() && gpu < table.gpu.data() + table.gpu.size());
    }
    if (const CollectiveDetail* collective = table.collective_detail(row)) {
      CHECK(static_cast<uint32_t>(collective->group_ranks) < table.names->size());
    }
  }
  CHECK(rows <= table.info.events);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The first byte chooses the block size, so that cuts fall everywhere.
  ReadOptions options;
  options.threads = 1;
  options.block_bytes = size_t{1} << (data[0] % 12);
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Result<EventTable> table = read_trace_bytes(bytes, "fuzz", options);
  if (table) {
    check_table(*table);
  } else {
    CHECK(!table.error().message.empty() && table.error().kind == ErrorKind::kUnreadable);
  }
  return 0;
}
