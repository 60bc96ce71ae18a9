// An emulated host and GPU for tests of graph/: a test writes the program, the machine decides when everything happens,
// so that the true dependencies and constants are known beside the rows that a profiler would have written. Tests only.
#pragma once

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "lumos/graph/test_table.h"

namespace lumos {

struct TestMachine {
  bool records = true;     ///< rows of record calls; old producers have none
  bool sync_rows = false;  ///< cuda_sync rows beside waits and synchronise calls
  int64_t launch_ns = 5000;
  int64_t dispatch_ns = 1000;
  int64_t event_ns = 1500;
  int64_t return_ns = 4000;
  int64_t call_ns = 2000;
  int64_t op_ns = 1000;  ///< an operator's own time after its begin and before its end
};

class TestProgram {
 public:
  /// What was recorded: the works that an event stands for (rows), and when they were done.
  struct Event {
    uint32_t stream = 0;
    std::vector<uint32_t> works;
    int64_t done_ns = 0;
    int64_t correlation = -1;
  };
  /// Truth: row of the waiting work, row of the work that it waits for.
  using Wait = std::pair<uint32_t, uint32_t>;

  explicit TestProgram(const TestMachine& machine = {}) : machine_(machine) {}

  uint32_t thread() {
    threads_.push_back({rows.thread(100 + static_cast<int64_t>(threads_.size())), 0, {}});
    return static_cast<uint32_t>(threads_.size() - 1);
  }
  uint32_t stream(int64_t id, int64_t device = 0) {
    streams_.push_back({rows.stream(id, device), id, 0, 0, kNoIndex, {}});
    return static_cast<uint32_t>(streams_.size() - 1);
  }

  void open(uint32_t thread, std::string_view name, EventKind kind = EventKind::kCpuOp) {
    Thread& t = threads_[thread];
    t.open.push_back(rows.row(kind, name, t.lane, t.now_ns, 0));
    t.now_ns += machine_.op_ns;
  }
  void close(uint32_t thread) {
    Thread& t = threads_[thread];
    t.now_ns += machine_.op_ns;
    rows.table().dur_ns[t.open.back()] = t.now_ns - rows.table().ts_ns[t.open.back()];
    t.open.pop_back();
  }
  void compute(uint32_t thread, int64_t ns) { threads_[thread].now_ns += ns; }
  int64_t now(uint32_t thread) const { return threads_[thread].now_ns; }
  void set_now(uint32_t thread, int64_t ns) { threads_[thread].now_ns = std::max(threads_[thread].now_ns, ns); }

  /// Returns the row of the kernel.
  uint32_t launch(uint32_t thread, uint32_t stream, std::string_view kernel, int64_t duration_ns) {
    const uint32_t c = call(thread, "cudaLaunchKernel");
    return enqueue(c, stream, kernel, duration_ns, EventKind::kKernel);
  }
  Event record(uint32_t thread, uint32_t stream) {
    Stream& s = streams_[stream];
    Event event{stream, s.pending, std::max(s.end_ns, s.ready_ns), -1};
    if (s.last != kNoIndex) event.works.push_back(s.last);
    if (machine_.records) event.correlation = rows.correlation(call(thread, "cudaEventRecord"));
    return event;
  }
  void wait(uint32_t thread, uint32_t stream, const Event& event) {
    const uint32_t c = call(thread, "cudaStreamWaitEvent");
    Stream& s = streams_[stream];
    for (uint32_t work : event.works) {
      if (rows.table().lane[work] != s.lane) s.pending.push_back(work);
    }
    s.ready_ns = std::max(s.ready_ns, event.done_ns + machine_.event_ns);
    if (machine_.sync_rows) {
      rows.sync_row(c, s.lane, {s.id, streams_[event.stream].id, event.correlation, 1});
    }
  }

  void synchronize_device(uint32_t thread) {
    int64_t done = 0;
    for (const Stream& s : streams_) done = std::max(done, s.end_ns);
    blocking_call(thread, "cudaDeviceSynchronize", done);
  }
  void synchronize_stream(uint32_t thread, uint32_t stream) {
    const uint32_t c = blocking_call(thread, "cudaStreamSynchronize", streams_[stream].end_ns);
    if (machine_.sync_rows) rows.sync_row(c, streams_[stream].lane, {streams_[stream].id, -1, -1, -1});
  }
  void synchronize_event(uint32_t thread, const Event& event) {
    const uint32_t c = blocking_call(thread, "cudaEventSynchronize", event.done_ns);
    if (machine_.sync_rows) {
      rows.sync_row(c, streams_[event.stream].lane,
                    {streams_[event.stream].id, streams_[event.stream].id, event.correlation, 1});
    }
  }
  /// A copy to pageable memory: an asynchronous call by name that returns when the copy is done.
  uint32_t blocking_copy(uint32_t thread, uint32_t stream, int64_t duration_ns) {
    const uint32_t c = rows.call(threads_[thread].lane, "cudaMemcpyAsync", threads_[thread].now_ns, 0);
    const uint32_t w = enqueue(c, stream, "Memcpy DtoH (Device -> Pageable)", duration_ns, EventKind::kMemcpy);
    end_call(thread, c, streams_[stream].end_ns);
    return w;
  }
  /// A call that waits for the device although its name does not say so, e.g. cudaFree.
  uint32_t blocking_call(uint32_t thread, std::string_view name, int64_t done_ns) {
    const uint32_t c = rows.call(threads_[thread].lane, name, threads_[thread].now_ns, 0);
    end_call(thread, c, done_ns);
    return c;
  }
  uint32_t call(uint32_t thread, std::string_view name) {
    Thread& t = threads_[thread];
    const uint32_t c = rows.call(t.lane, name, t.now_ns, machine_.call_ns);
    t.now_ns += machine_.call_ns;
    return c;
  }
  int64_t stream_end(uint32_t stream) const { return streams_[stream].end_ns; }

  const std::set<Wait>& waits() const { return waits_; }
  TestTable rows;

 private:
  struct Thread {
    uint32_t lane;
    int64_t now_ns;
    std::vector<uint32_t> open;
  };
  struct Stream {
    uint32_t lane;
    int64_t id;
    int64_t end_ns;
    int64_t ready_ns;
    uint32_t last;
    std::vector<uint32_t> pending;
  };

  void end_call(uint32_t thread, uint32_t call, int64_t done_ns) {
    Thread& t = threads_[thread];
    const int64_t waited = done_ns > t.now_ns ? done_ns + machine_.return_ns : 0;
    const int64_t end = std::max(t.now_ns + machine_.call_ns, waited);
    rows.table().dur_ns[call] = end - t.now_ns;
    t.now_ns = end;
  }

  uint32_t enqueue(uint32_t call, uint32_t stream, std::string_view name, int64_t duration_ns, EventKind kind) {
    Stream& s = streams_[stream];
    const int64_t launched = rows.table().ts_ns[call] + machine_.launch_ns;
    const int64_t in_order = s.last == kNoIndex ? 0 : s.end_ns + machine_.dispatch_ns;
    const int64_t start = std::max({launched, in_order, s.ready_ns});
    const uint32_t row = rows.work(call, s.lane, name, start, duration_ns, kind);
    for (uint32_t source : s.pending) {
      // Of one stream only the latest counts: the others follow from its order.
      const auto same = std::find_if(waits_.begin(), waits_.end(), [&](const Wait& w) {
        return w.first == row && rows.table().lane[w.second] == rows.table().lane[source];
      });
      if (same != waits_.end() && rows.table().ts_ns[same->second] > rows.table().ts_ns[source]) continue;
      if (same != waits_.end()) waits_.erase(same);
      waits_.insert({row, source});
    }
    s.pending.clear();
    s.last = row;
    s.end_ns = start + duration_ns;
    return row;
  }

  TestMachine machine_;
  std::vector<Thread> threads_;
  std::vector<Stream> streams_;
  std::set<Wait> waits_;
};

}  // namespace lumos
