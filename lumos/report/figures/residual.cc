#include "lumos/report/figures/residual.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <tuple>

#include "lumos/report/figures/steps.h"

namespace lumos {

namespace {

constexpr int64_t kRoundingNs = 1000;  // Starts and ends of old traces are whole microseconds.

// A gap counts as a wait when other work ends within its last twentieth: by chance that happens to one gap in twenty
// for each stretch of work that ends in it. Nobody takes longer than this to wake up.
constexpr int64_t kGapShare = 20;
constexpr int64_t kWakeUpNs = 20'000;

bool belongs_to(const RankTasks& rank, uint32_t task) { return task >= rank.first_task && task < rank.end_task; }

bool is_untraced(const ExecGraph& graph, uint32_t task) {
  return graph.kind[task] == TaskKind::kHost && graph.event[task] == kNoIndex;
}

bool waits_for_others(const ExecGraph& graph, uint32_t task) {
  for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
    if (graph.edges[e].kind != EdgeKind::kThread) return true;
  }
  return false;
}

}  // namespace

int64_t residual_ns(const ExecGraph& graph, const RankTasks& rank, uint32_t task) {
  int64_t explained_ns = std::numeric_limits<int64_t>::min();
  for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
    const Edge& edge = graph.edges[e];
    if (edge.kind == EdgeKind::kRendezvous || !belongs_to(rank, edge.source)) return 0;
    const int64_t base_ns =
        edge.from_start ? graph.measured_start_ns[edge.source] : measured_end_ns(graph, rank, edge.source);
    explained_ns = std::max(explained_ns, base_ns + edge.lag_ns);
  }
  if (explained_ns == std::numeric_limits<int64_t>::min()) return 0;
  return graph.measured_start_ns[task] - explained_ns;
}

HiddenWaits::HiddenWaits(const ExecGraph& graph, const RankTasks& rank) : graph_(graph), rank_(rank) {
  std::vector<uint32_t> last(graph.processors.size(), kNoIndex);  // Index into ends_ of the stretch being built.
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    const uint32_t processor = graph.processor[task];
    if (processor == kNoProcessor || is_untraced(graph, task) || graph.kind[task] == TaskKind::kGap) continue;
    const int64_t start_ns = graph.measured_start_ns[task];
    const int64_t end_ns = measured_end_ns(graph, rank, task);
    uint32_t& stretch = last[processor];
    if (stretch == kNoIndex || start_ns > ends_[stretch].end_ns + kRoundingNs) {
      stretch = static_cast<uint32_t>(ends_.size());
      ends_.push_back({end_ns, end_ns - start_ns, processor});
    } else if (end_ns > ends_[stretch].end_ns) {
      ends_[stretch].length_ns += end_ns - ends_[stretch].end_ns;
      ends_[stretch].end_ns = end_ns;
    }
  }
  std::sort(ends_.begin(), ends_.end(), [](const WorkEnd& a, const WorkEnd& b) {
    return std::tuple(a.end_ns, a.processor, a.length_ns) < std::tuple(b.end_ns, b.processor, b.length_ns);
  });
}

int64_t HiddenWaits::wait_ns(uint32_t task) const {
  if (!belongs_to(rank_, task) || !is_untraced(graph_, task)) return 0;
  const bool next_waits = task + 1 < rank_.end_task && waits_for_others(graph_, task + 1);
  if (next_waits || waits_for_others(graph_, task)) return 0;
  const int64_t length_ns = graph_.duration_ns[task];
  const int64_t gap_end_ns = graph_.measured_start_ns[task] + length_ns;
  const int64_t near_ns = std::min(kWakeUpNs, length_ns / kGapShare);
  auto work = std::upper_bound(ends_.begin(), ends_.end(), gap_end_ns,
                               [](int64_t ns, const WorkEnd& end) { return ns < end.end_ns; });
  while (work != ends_.begin() && (--work)->end_ns > gap_end_ns - near_ns) {
    if (work->processor != graph_.processor[task] && work->length_ns >= near_ns) return length_ns;
  }
  return 0;
}

int64_t unexplained_ns(const ExecGraph& graph, uint32_t rank_index, const CriticalPath& path,
                       const HiddenWaits& hidden_waits) {
  const RankTasks& rank = graph.ranks[rank_index];
  int64_t sum_ns = 0;
  for (const PathPiece& piece : path.pieces) {
    const bool whole = piece.cause == PathCause::kUnexplained || hidden_waits.wait_ns(piece.task) > 0;
    if (whole && piece.edge == kNoIndex) sum_ns += piece.length_ns();
  }
  for (uint32_t task : path.tasks) {
    if (belongs_to(rank, task)) sum_ns += std::abs(residual_ns(graph, rank, task));
  }
  return sum_ns;
}

}  // namespace lumos
