#include "lumos/whatif/edit/missing_members.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lumos/sim/overlap.h"

namespace lumos {

namespace {

// Decades: sums of waits stay within 64 bits.
constexpr double kLongestWaitNs = 1e18;

/// Until when each transfer of a rank has compute beside it: the measured end of what runs on a stream just before the
/// first work there that waits for the transfer. By task from rank.first_task on; INT64_MIN: nothing waits for it.
std::vector<int64_t> compute_beside(const ExecGraph& graph, const RankTasks& rank) {
  std::vector<int64_t> until(rank.end_task - rank.first_task, std::numeric_limits<int64_t>::min());
  std::vector<int64_t> first_waiting(until.size(), std::numeric_limits<int64_t>::max());
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    int64_t before_ns = std::numeric_limits<int64_t>::min();
    for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
      const Edge& edge = graph.edges[e];
      if (edge.kind != EdgeKind::kStream || edge.from_start || !is_compute_task(graph.kind[edge.source])) continue;
      before_ns = graph.measured_start_ns[edge.source] + graph.duration_ns[edge.source];
    }
    for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
      const Edge& edge = graph.edges[e];
      if (edge.kind != EdgeKind::kInterStream || graph.kind[edge.source] != TaskKind::kTransfer) continue;
      const size_t transfer = edge.source - rank.first_task;
      if (graph.measured_start_ns[task] >= first_waiting[transfer]) continue;
      first_waiting[transfer] = graph.measured_start_ns[task];
      until[transfer] = before_ns;
    }
  }
  return until;
}

void set_lag(ExecGraph& graph, uint32_t task, int64_t lag_ns, bool linked) {
  const EdgeKind kind = linked ? EdgeKind::kRendezvous : EdgeKind::kTransferOf;
  for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
    if (graph.edges[e].kind != kind) continue;
    graph.edges[e].lag_ns = static_cast<int32_t>(std::min<int64_t>(lag_ns, std::numeric_limits<int32_t>::max()));
  }
}

}  // namespace

MissingMembers::MissingMembers(const LinkedJob& job) : job_(job) {
  const ExecGraph& graph = job.linked.graph;
  const std::vector<int64_t>& hidden = job.transfers.hidden_ns;
  for (size_t r = 0; r < graph.ranks.size(); ++r) {
    const RankTasks& rank = graph.ranks[r];
    const uint32_t begin = job.matches.rank_begin[r], end = job.matches.rank_begin[r + 1];
    const bool missing = std::any_of(hidden.begin() + begin, hidden.begin() + end, [](int64_t ns) { return ns > 0; });
    if (!missing) continue;
    Rank& waiting = ranks_.emplace_back();
    waiting.index = r;
    waiting.compute_until_ns = compute_beside(graph, rank);
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      if (!is_compute_task(graph.kind[task])) continue;
      waiting.compute.push_back(task);
      waiting.compute_ns += graph.duration_ns[task];
    }
  }
}

void MissingMembers::follow(ExecGraph& changed) const {
  for (const Rank& rank : ranks_) follow(rank, changed);
}

void MissingMembers::follow(const Rank& waiting, ExecGraph& changed) const {
  const JobMatches& matches = job_.matches;
  const TransferColumns& transfers = job_.transfers;
  const ExecGraph& before = job_.linked.graph;
  const RankTasks& rank = before.ranks[waiting.index];
  double compute_ns = 0;  // Factors may have made it more than an integer holds.
  for (uint32_t task : waiting.compute) compute_ns += double(changed.duration_ns[task]);
  const double ratio = waiting.compute_ns > 0 ? compute_ns / double(waiting.compute_ns) : 1;
  std::vector<int64_t> carried_ns(matches.groups.size(), 0);  // to the next wait of each group
  for (uint32_t k = matches.rank_begin[waiting.index]; k < matches.rank_begin[waiting.index + 1]; ++k) {
    const CommKernel& kernel = matches.kernels[k];
    const uint32_t task = job_.linked.transfer_task[k];
    if (task == kNoIndex || transfers.source[k] == TransferSource::kMeasured) continue;
    const int64_t hidden_ns = transfers.hidden_ns[k];
    const int64_t lag_ns = std::max<int64_t>(
        0, std::llround(std::min(double(hidden_ns) * ratio, kLongestWaitNs)) + carried_ns[kernel.group]);
    carried_ns[kernel.group] = 0;
    set_lag(changed, task, lag_ns, kernel.match != kNoIndex);
    if (hidden_ns == 0) continue;  // this rank came last: what follows is in its own graph
    const int64_t old_ns = before.duration_ns[task], new_ns = changed.duration_ns[task];
    // The nothing that INT64_MIN stands for must not be subtracted from.
    const int64_t begin_ns = rank.table->ts_ns[kernel.row];
    const int64_t beside_ns = std::max(waiting.compute_until_ns[task - rank.first_task], begin_ns) - begin_ns;
    const int64_t late_ns = std::max(new_ns, beside_ns) - std::max(old_ns, beside_ns);
    const int64_t own_ns = std::max(hidden_ns + new_ns, beside_ns) - std::max(hidden_ns + old_ns, beside_ns);
    carried_ns[kernel.group] = late_ns - own_ns;
  }
}

void follow_missing_members(const LinkedJob& job, ExecGraph& changed) { MissingMembers(job).follow(changed); }

}  // namespace lumos
