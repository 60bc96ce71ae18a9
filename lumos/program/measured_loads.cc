#include "lumos/program/measured_loads.h"

#include <algorithm>

#include "lumos/sim/overlap.h"

namespace lumos {
namespace {

/// When each task ran; of a collective only the part in which bytes move.
Timeline measured_moves(ExecGraph& graph, const RankTransfers& transfers) {
  Timeline timeline;
  timeline.start_ns = graph.measured_start_ns;
  timeline.end_ns.resize(graph.size());
  for (uint32_t task = 0; task < graph.size(); ++task) {
    timeline.end_ns[task] = timeline.start_ns[task] + graph.duration_ns[task];
    if (graph.kind[task] != TaskKind::kTransfer || graph.event[task] == kNoIndex) continue;
    const uint32_t index = transfers.of_row[graph.event[task]];
    if (index == kNoIndex) continue;
    graph.duration_ns[task] = std::min(graph.duration_ns[task], transfers.transfers[index].transfer_ns);
    timeline.start_ns[task] = timeline.end_ns[task] - graph.duration_ns[task];
  }
  return timeline;
}

}  // namespace

MeasuredLoads measure_loads(const std::vector<ExecGraph>& graphs, const std::vector<RankTransfers>& transfers) {
  MeasuredLoads out;
  std::array<double, static_cast<size_t>(LoadClass::kCount)> weighted{};
  for (size_t r = 0; r < graphs.size(); ++r) {
    ExecGraph graph = graphs[r];
    const Timeline timeline = measured_moves(graph, transfers[r]);
    const std::vector<int64_t> overlap = overlaps(graph, timeline);
    const EventTable& table = *graph.ranks[0].table;
    std::vector<RowLoad> rows(table.size());
    for (uint32_t task = 0; task < graph.size(); ++task) {
      const uint32_t row = graph.event[task];
      const bool counts = is_compute_task(graph.kind[task]) || graph.kind[task] == TaskKind::kTransfer;
      if (!counts || row == kNoIndex) continue;
      rows[row] = {load_class(table, row, graph.kind[task]), overlap[task]};
    }
    out.rows.push_back(std::move(rows));
    const Interference own = fit_interference(graph, timeline);
    for (size_t c = 0; c < weighted.size(); ++c) {
      weighted[c] += own.longer_per_overlap[c] * static_cast<double>(own.samples[c]);
      out.interference.samples[c] += own.samples[c];
    }
  }
  for (size_t c = 0; c < weighted.size(); ++c)
    if (out.interference.samples[c] > 0)
      out.interference.longer_per_overlap[c] = weighted[c] / static_cast<double>(out.interference.samples[c]);
  return out;
}

std::vector<TaskLoad> loads_of(const ExecGraph& graph, const std::vector<TaskOrigin>& origins, const Program& program,
                               const std::vector<RankTransfers>& transfers, const MeasuredLoads& measured) {
  std::vector<TaskLoad> loads(graph.size());
  for (uint32_t task = 0; task < graph.size(); ++task) {
    const TaskOrigin& origin = origins[task];
    const bool transfer = graph.kind[task] == TaskKind::kTransfer;
    if ((!transfer && !is_compute_task(graph.kind[task])) || origin.event == kNoIndex) continue;
    const std::vector<RowLoad>& rows = measured.rows[origin.rank];
    TaskLoad& load = loads[task];
    if (origin.event >= rows.size()) {  // not traced
      load.load = LoadClass::kTransfer;
      continue;
    }
    load.load = rows[origin.event].load;
    const int64_t old_ns = program.ranks[origin.rank].table->dur_ns[origin.event];
    if (old_ns <= 0) continue;
    const double scale = static_cast<double>(graph.duration_ns[task]) / static_cast<double>(old_ns);
    load.contained_ns = static_cast<int64_t>(static_cast<double>(rows[origin.event].overlap_ns) * scale);
    if (!transfer) continue;
    // Where members meet in the graph, the duration is the transfer alone.
    const uint32_t index = transfers[origin.rank].of_row[origin.event];
    bool meets = false;
    for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e)
      meets |= graph.edges[e].kind == EdgeKind::kRendezvous;
    if (meets || index == kNoIndex) {
      load.contained_ns = rows[origin.event].overlap_ns;
      continue;
    }
    load.waiting_ns =
        static_cast<int64_t>(static_cast<double>(transfers[origin.rank].transfers[index].wait_ns) * scale);
  }
  return loads;
}

}  // namespace lumos
