#include "lumos/whatif/missing_members.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lumos {

namespace {

bool is_compute(TaskKind kind) {
  return kind == TaskKind::kKernel || kind == TaskKind::kMemcpy || kind == TaskKind::kMemset;
}

/// Compute of one rank as measured, by start, with running sums of its time.
class MeasuredCompute {
 public:
  MeasuredCompute(const ExecGraph& graph, const RankTasks& rank) {
    std::vector<std::pair<int64_t, int64_t>> spans;
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      if (!is_compute(graph.kind[task])) continue;
      spans.emplace_back(graph.measured_start_ns[task], graph.duration_ns[task]);
    }
    std::sort(spans.begin(), spans.end());
    int64_t sum = 0;
    for (const auto& [start_ns, duration_ns] : spans) {
      start_.push_back(start_ns);
      before_.push_back(sum);
      last_.push_back(duration_ns);
      sum += duration_ns;
    }
  }

  /// Compute time in [begin_ns, end_ns), at most its length.
  int64_t within(int64_t begin_ns, int64_t end_ns) const {
    return std::clamp<int64_t>(until(end_ns) - until(begin_ns), 0, end_ns - begin_ns);
  }

 private:
  int64_t until(int64_t time_ns) const {
    const auto after = std::upper_bound(start_.begin(), start_.end(), time_ns);
    if (after == start_.begin()) return 0;
    const size_t i = static_cast<size_t>(after - start_.begin()) - 1;
    return before_[i] + std::min(last_[i], time_ns - start_[i]);
  }

  std::vector<int64_t> start_, before_, last_;
};

/// How much longer the compute of a rank takes after the change.
double compute_ratio(const ExecGraph& before, const ExecGraph& after, const RankTasks& rank) {
  double old_ns = 0, new_ns = 0;
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    if (!is_compute(before.kind[task])) continue;
    old_ns += double(before.duration_ns[task]);
    new_ns += double(after.duration_ns[task]);
  }
  return old_ns > 0 ? new_ns / old_ns : 1;
}

void set_lag(ExecGraph& graph, uint32_t task, int64_t lag_ns, bool linked) {
  const EdgeKind kind = linked ? EdgeKind::kRendezvous : EdgeKind::kTransferOf;
  for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
    if (graph.edges[e].kind != kind) continue;
    graph.edges[e].lag_ns = static_cast<int32_t>(std::min<int64_t>(lag_ns, std::numeric_limits<int32_t>::max()));
  }
}

}  // namespace

void follow_missing_members(const LinkedJob& job, ExecGraph& changed) {
  const JobMatches& matches = job.matches;
  const TransferColumns& transfers = job.transfers;
  const ExecGraph& before = job.linked.graph;
  for (size_t r = 0; r < before.ranks.size(); ++r) {
    const RankTasks& rank = before.ranks[r];
    const uint32_t begin = matches.rank_begin[r], end = matches.rank_begin[r + 1];
    const bool missing = std::any_of(transfers.hidden_ns.begin() + begin, transfers.hidden_ns.begin() + end,
                                     [](int64_t hidden_ns) { return hidden_ns > 0; });
    if (!missing) continue;
    const MeasuredCompute compute(before, rank);
    const double ratio = compute_ratio(before, changed, rank);
    std::vector<int64_t> carried_ns(matches.groups.size(), 0);  // to the next wait of each group
    for (uint32_t k = begin; k < end; ++k) {
      const CommKernel& kernel = matches.kernels[k];
      const uint32_t task = job.linked.transfer_task[k];
      if (task == kNoIndex || transfers.source[k] == TransferSource::kMeasured) continue;
      const int64_t hidden_ns = transfers.hidden_ns[k];
      const int64_t lag_ns = std::max<int64_t>(0, std::llround(double(hidden_ns) * ratio) + carried_ns[kernel.group]);
      carried_ns[kernel.group] = 0;
      set_lag(changed, task, lag_ns, kernel.match != kNoIndex);
      if (hidden_ns == 0) continue;  // this rank came last: what follows is in its own graph
      const int64_t start_ns = rank.table->ts_ns[kernel.row], end_ns = rank.table->end_ns(kernel.row);
      const int64_t old_ns = before.duration_ns[task], new_ns = changed.duration_ns[task];
      const int64_t beside_ns = compute.within(start_ns, end_ns);
      carried_ns[kernel.group] = (std::max(new_ns, beside_ns) - std::max(old_ns, beside_ns)) - (new_ns - old_ns);
    }
  }
}

}  // namespace lumos
