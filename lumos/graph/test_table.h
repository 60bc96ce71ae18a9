// Event tables written by hand, row by row, for tests of graph/: threads and streams, operators, calls and what they
// launch. A row's times are what the test says; a launch and its work share a correlation id. Tests only.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/graph/host/gpu_program.h"
#include "lumos/graph/host/host_program.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

inline constexpr const char* kNcclKernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)";

class TestTable {
 public:
  /// Rows of a launch: the call and what it put on the stream.
  struct Launched {
    uint32_t call = 0;
    uint32_t work = 0;
  };

  TestTable() { table_.info.rank = 0; }

  uint32_t thread(int64_t tid = 100, int64_t process = 1) { return lane(false, process, tid); }
  uint32_t stream(int64_t id, int64_t device = 0) { return lane(true, device, id); }

  uint32_t row(EventKind kind, std::string_view name, uint32_t lane, int64_t ts_ns, int64_t dur_ns,
               int64_t correlation = -1) {
    table_.ts_ns.push_back(ts_ns);
    table_.dur_ns.push_back(dur_ns);
    table_.name.push_back(names_->intern(name));
    table_.lane.push_back(lane);
    table_.kind.push_back(kind);
    table_.correlation.push_back(correlation);
    table_.external_id.push_back(0);
    table_.detail.push_back(kNoIndex);
    return static_cast<uint32_t>(table_.size() - 1);
  }
  uint32_t step(uint32_t thread, int number, int64_t ts_ns, int64_t dur_ns) {
    return row(EventKind::kAnnotation, "ProfilerStep#" + std::to_string(number), thread, ts_ns, dur_ns);
  }
  uint32_t op(uint32_t thread, std::string_view name, int64_t ts_ns, int64_t dur_ns) {
    return row(EventKind::kCpuOp, name, thread, ts_ns, dur_ns);
  }
  /// The shapes and types of a row's tensors, as "Input Dims" and "Input type" have them.
  void shaped(uint32_t row, std::string_view dims, std::string_view types) {
    OpDetail detail;
    detail.input_dims = names_->intern(dims);
    detail.input_types = names_->intern(types);
    table_.detail[row] = static_cast<uint32_t>(table_.ops.size());
    table_.ops.push_back(detail);
  }
  /// A runtime call with a correlation id of its own, as every producer gives it.
  uint32_t call(uint32_t thread, std::string_view name, int64_t ts_ns, int64_t dur_ns) {
    return row(EventKind::kRuntime, name, thread, ts_ns, dur_ns, next_correlation_++);
  }
  /// A further row on a stream that belongs to `call`.
  uint32_t work(uint32_t call, uint32_t stream, std::string_view name, int64_t ts_ns, int64_t dur_ns,
                EventKind kind = EventKind::kKernel) {
    return row(kind, name, stream, ts_ns, dur_ns, table_.correlation[call]);
  }
  /// A launch call of 1 us at `at_ns` and its kernel.
  Launched launch(uint32_t thread, int64_t at_ns, uint32_t stream, std::string_view kernel, int64_t ts_ns,
                  int64_t dur_ns) {
    const uint32_t c = call(thread, "cudaLaunchKernel", at_ns, 1000);
    return {c, work(c, stream, kernel, ts_ns, dur_ns)};
  }
  /// The cuda_sync row of a call.
  void sync_row(uint32_t call, uint32_t lane, const SyncDetail& detail) {
    const uint32_t r = row(EventKind::kSync, "Stream Wait Event", lane, table_.ts_ns[call], 0, correlation(call));
    table_.detail[r] = static_cast<uint32_t>(table_.syncs.size());
    table_.syncs.push_back(detail);
  }

  int64_t correlation(uint32_t row) const { return table_.correlation[row]; }
  EventTable& table() { return table_; }
  std::shared_ptr<const EventTable> finish() {
    table_.names = names_;
    return std::make_shared<const EventTable>(std::move(table_));
  }

 private:
  uint32_t lane(bool is_gpu, int64_t pid, int64_t tid) {
    Lane where;
    where.is_gpu = is_gpu;
    where.pid = pid;
    where.tid = tid;
    where.pid_text = names_->intern(std::to_string(pid));
    where.tid_text = names_->intern(std::to_string(tid));
    table_.lanes.push_back(where);
    return static_cast<uint32_t>(table_.lanes.size() - 1);
  }

  std::shared_ptr<NamePool> names_ = std::make_shared<NamePool>();
  EventTable table_;
  int64_t next_correlation_ = 1;
};

/// The table with what the graph passes make of it first.
struct TestPrograms {
  explicit TestPrograms(TestTable& test)
      : table(test.finish()), host(build_host_program(*table)), gpu(build_gpu_program(*table, host)) {}

  /// Index into gpu.work of the work that is `row` of the table.
  uint32_t work_of(uint32_t row) const {
    for (uint32_t w = 0; w < gpu.work.size(); ++w) {
      if (gpu.work[w].row == row) return w;
    }
    return kNoIndex;
  }
  /// Index into host.calls of the call that is `row` of the table.
  uint32_t call_of(uint32_t row) const {
    for (uint32_t c = 0; c < host.calls.size(); ++c) {
      if (host.calls[c].row == row) return c;
    }
    return kNoIndex;
  }

  std::shared_ptr<const EventTable> table;
  HostProgram host;
  GpuProgram gpu;
};

}  // namespace lumos
