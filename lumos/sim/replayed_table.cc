#include "lumos/sim/replayed_table.h"

#include <algorithm>
#include <limits>

#include "lumos/base/result.h"
#include "lumos/trace/table/nesting.h"
#include "lumos/trace/table/table_rows.h"

namespace lumos {

namespace {

struct Span {
  int64_t start_ns = std::numeric_limits<int64_t>::max();
  int64_t end_ns = std::numeric_limits<int64_t>::min();
  bool simulated() const { return start_ns <= end_ns; }
  void cover(const Span& other) {
    start_ns = std::min(start_ns, other.start_ns);
    end_ns = std::max(end_ns, other.end_ns);
  }
};

/// Span of every row: of its own tasks, and of the rows inside it, which hold the time its own tasks leave out.
std::vector<Span> row_spans(const ExecGraph& graph, const Timeline& timeline, const RankTasks& rank,
                            const Nesting& nested, ReplayedRows rows) {
  std::vector<Span> spans(rank.table->size());
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    // A gap belongs to the kernel that follows it, which did not run yet.
    if (graph.event[task] == kNoIndex || graph.kind[task] == TaskKind::kGap) continue;
    if (rows == ReplayedRows::kGpu && !is_gpu_task(graph.kind[task])) continue;
    spans[graph.event[task]].cover({timeline.start_ns[task], timeline.end_ns[task]});
  }
  for (auto row = nested.order.rbegin(); row != nested.order.rend(); ++row) {
    const uint32_t parent = nested.parent[*row];
    if (parent != kNoIndex && spans[*row].simulated()) spans[parent].cover(spans[*row]);
  }
  return spans;
}

/// Each flow end keeps its distance to the start of the innermost row that it lies in.
std::vector<FlowEnd> moved_flows(const EventTable& table, const Nesting& nested, const std::vector<Span>& spans) {
  std::vector<FlowEnd> moved;
  moved.reserve(table.fwdbwd.size());
  for (FlowEnd flow : table.fwdbwd) {
    const uint32_t row = innermost_row(table, nested, flow.lane, flow.ts_ns);
    if (row == kNoIndex || !spans[row].simulated()) continue;
    flow.ts_ns = std::min(spans[row].end_ns, spans[row].start_ns + (flow.ts_ns - table.ts_ns[row]));
    moved.push_back(flow);
  }
  return moved;
}

}  // namespace

EventTable replayed_table(const ExecGraph& graph, const Timeline& timeline, uint32_t rank_index, ReplayedRows rows) {
  CHECK(rank_index < graph.ranks.size());
  const RankTasks& rank = graph.ranks[rank_index];
  const Nesting nested = rows == ReplayedRows::kAll ? nesting(*rank.table) : Nesting{};
  const std::vector<Span> spans = row_spans(graph, timeline, rank, nested, rows);

  EventTable result = *rank.table;
  result.fwdbwd = moved_flows(*rank.table, nested, spans);
  std::vector<uint32_t> kept;
  kept.reserve(result.size());
  for (uint32_t row = 0; row < result.size(); ++row) {
    if (!spans[row].simulated()) continue;
    result.ts_ns[row] = spans[row].start_ns;
    result.dur_ns[row] = spans[row].end_ns - spans[row].start_ns;
    kept.push_back(row);
  }
  keep_rows(result, kept);
  return result;
}

}  // namespace lumos
