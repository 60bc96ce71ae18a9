#include "lumos/trace/table/flow_links.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace lumos {

namespace {

using Place = std::tuple<NameId, NameId>;  // pid and tid

/// The runtime calls of one thread by start; `latest_end_ns[i]` is the last end of the first i + 1.
struct Calls {
  std::vector<uint32_t> rows;
  std::vector<int64_t> latest_end_ns;
};

class FlowLinker {
 public:
  FlowLinker(std::vector<FlowLink> flows, EventTable& table) : table_(table), flows_(std::move(flows)) {}

  uint64_t run() {
    find_users();
    std::vector<uint32_t> rows = rows_without_call();
    if (rows.empty()) return 0;
    std::sort(flows_.begin(), flows_.end(), [](const FlowLink& a, const FlowLink& b) { return key(a) < key(b); });
    index_calls();
    const std::vector<uint32_t> ends = ends_by_time();
    uint64_t used = 0;
    for (uint32_t row : rows) used += link(row, ends);
    return used;
  }

 private:
  static std::tuple<NameId, int64_t, int64_t> key(const FlowLink& flow) { return {flow.category, flow.id, flow.ts_ns}; }

  void find_users() {
    for (uint32_t row = 0; row < table_.size(); ++row) {
      next_correlation_ = std::max(next_correlation_, table_.correlation[row] + 1);
      if (table_.kind[row] == EventKind::kRuntime && table_.correlation[row] > 0) ++callers_[table_.correlation[row]];
    }
  }

  std::vector<uint32_t> rows_without_call() const {
    std::vector<uint32_t> rows;
    for (uint32_t row = 0; row < table_.size(); ++row) {
      if (is_gpu_work(table_.kind[row]) && callers_.count(table_.correlation[row]) == 0) rows.push_back(row);
    }
    return rows;
  }

  void index_calls() {
    for (uint32_t row = 0; row < table_.size(); ++row) {
      if (table_.kind[row] != EventKind::kRuntime) continue;
      calls_[table_.lane[row]].rows.push_back(row);
    }
    for (uint32_t lane = 0; lane < table_.lanes.size(); ++lane) {
      const Lane& l = table_.lanes[lane];
      if (!l.is_gpu) thread_of_[hash({l.pid_text, l.tid_text})] = lane;
    }
    for (auto& [lane, calls] : calls_) {
      std::stable_sort(calls.rows.begin(), calls.rows.end(),
                       [&](uint32_t a, uint32_t b) { return table_.ts_ns[a] < table_.ts_ns[b]; });
      int64_t latest = INT64_MIN;
      for (uint32_t row : calls.rows) calls.latest_end_ns.push_back(latest = std::max(latest, table_.end_ns(row)));
    }
  }

  static uint64_t hash(Place place) {
    return uint64_t{static_cast<uint32_t>(std::get<0>(place))} << 32 | static_cast<uint32_t>(std::get<1>(place));
  }

  /// Indexes of the flows' ends by (process, time).
  std::vector<uint32_t> ends_by_time() const {
    std::vector<uint32_t> ends;
    for (uint32_t i = 0; i < flows_.size(); ++i) {
      if (!flows_[i].is_start) ends.push_back(i);
    }
    std::stable_sort(ends.begin(), ends.end(), [&](uint32_t a, uint32_t b) { return place(a) < place(b); });
    return ends;
  }
  std::tuple<NameId, int64_t> place(uint32_t flow) const { return {flows_[flow].pid_text, flows_[flow].ts_ns}; }

  bool link(uint32_t row, const std::vector<uint32_t>& ends) {
    const Lane& lane = table_.lanes[table_.lane[row]];
    const std::tuple wanted(lane.pid_text, table_.ts_ns[row]);
    auto it = std::partition_point(ends.begin(), ends.end(), [&](uint32_t e) { return place(e) < wanted; });
    uint32_t found = kNoIndex;
    for (; it != ends.end() && place(*it) == wanted; ++it) {
      const uint32_t start = start_of(flows_[*it]);
      // A stream's number may differ from the thread that stands for it: then its process and time must do.
      const bool same_thread = flows_[*it].tid_text == lane.tid_text;
      if (start != kNoIndex && (found == kNoIndex || same_thread)) found = start;
      if (start != kNoIndex && same_thread) break;
    }
    if (found == kNoIndex) return false;
    const uint32_t call = launching_row(found);
    table_.correlation[row] = correlation_of(call);
    return true;
  }

  /// The start, within a call, of the flow that ends with `end`; kNoIndex: none.
  uint32_t start_of(const FlowLink& end) const {
    auto it = std::partition_point(flows_.begin(), flows_.end(), [&](const FlowLink& flow) {
      return std::tuple(flow.category, flow.id) < std::tuple(end.category, end.id);
    });
    for (; it != flows_.end() && it->category == end.category && it->id == end.id; ++it) {
      if (it->is_start && call_around(*it) != kNoIndex) return static_cast<uint32_t>(it - flows_.begin());
    }
    return kNoIndex;
  }

  /// The row that stands for the launch at the start of a flow: a call that begins there, else a new one from there to
  /// the end of the call around it, which may have done much else before.
  uint32_t launching_row(uint32_t start) {
    const auto known = launch_of_start_.find(start);
    if (known != launch_of_start_.end()) return known->second;
    const FlowLink& flow = flows_[start];
    uint32_t call = call_around(flow);
    if (table_.ts_ns[call] != flow.ts_ns) call = add_launch(flow, call);
    launch_of_start_[start] = call;
    return call;
  }

  uint32_t add_launch(const FlowLink& flow, uint32_t call) {
    table_.ts_ns.push_back(flow.ts_ns);
    table_.dur_ns.push_back(table_.end_ns(call) - flow.ts_ns);
    table_.name.push_back(flow.category);
    table_.lane.push_back(table_.lane[call]);
    table_.kind.push_back(EventKind::kRuntime);
    table_.correlation.push_back(-1);
    table_.external_id.push_back(table_.external_id[call]);
    table_.detail.push_back(kNoIndex);
    return static_cast<uint32_t>(table_.size() - 1);
  }

  /// The innermost call around a flow's start.
  uint32_t call_around(const FlowLink& flow) const {
    const auto thread = thread_of_.find(hash({flow.pid_text, flow.tid_text}));
    if (thread == thread_of_.end()) return kNoIndex;
    const auto calls = calls_.find(thread->second);
    return calls == calls_.end() ? kNoIndex : innermost(calls->second, flow.ts_ns);
  }

  uint32_t innermost(const Calls& calls, int64_t time) const {
    size_t i = static_cast<size_t>(std::partition_point(calls.rows.begin(), calls.rows.end(),
                                                        [&](uint32_t row) { return table_.ts_ns[row] <= time; }) -
                                   calls.rows.begin());
    for (; i > 0 && calls.latest_end_ns[i - 1] >= time; --i) {
      if (table_.end_ns(calls.rows[i - 1]) >= time) return calls.rows[i - 1];
    }
    return kNoIndex;
  }

  int64_t correlation_of(uint32_t call) {
    int64_t& own = table_.correlation[call];
    const auto users = callers_.find(own);
    if (users == callers_.end() || users->second > 1) {
      own = next_correlation_++;
      callers_[own] = 1;
    }
    return own;
  }

  EventTable& table_;
  std::vector<FlowLink> flows_;
  int64_t next_correlation_ = 1;
  std::unordered_map<int64_t, uint32_t> callers_;  // calls of a correlation
  std::unordered_map<uint32_t, Calls> calls_;      // by lane
  std::unordered_map<uint32_t, uint32_t> launch_of_start_;
  std::unordered_map<uint64_t, uint32_t> thread_of_;  // lane of a thread's place
};

}  // namespace

uint64_t link_by_flows(std::vector<FlowLink> flows, EventTable& table) {
  return flows.empty() ? 0 : FlowLinker(std::move(flows), table).run();
}

}  // namespace lumos
