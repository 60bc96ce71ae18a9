#include "lumos/program/lower/measured_loads.h"

#include <algorithm>
#include <array>

#include "lumos/base/parallel.h"
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

struct RankLoads {
  std::vector<RowLoad> rows;
  Interference interference;
};

/// Per row of the table: where in its block it is launched. Sharded units are gathered and reduced beside the same
/// kernels of every layer, so that products of one kernel and other shapes would look like slow ones.
std::vector<uint32_t> places_of(const RankProgram& rank) {
  std::vector<uint32_t> places(rank.table->size(), 0);
  for (const Block& block : rank.blocks) {
    uint32_t ordinal = 0;
    for (uint32_t l = block.launch_begin; l < block.launch_end; ++l) {
      const Launch& launch = rank.recovered.list.launches[l];
      if (launch.unit_work == UnitWork::kNone) ++ordinal;
      places[launch.gpu_row] =
          ordinal * static_cast<uint32_t>(BlockRole::kUnplaced) + static_cast<uint32_t>(block.role);
    }
  }
  return places;
}

RankLoads measure_rank(ExecGraph graph, const RankTransfers& transfers, const std::vector<uint32_t>& places) {
  RankLoads out;
  const Timeline timeline = measured_moves(graph, transfers);
  const std::vector<int64_t> overlap = overlaps(graph, timeline);
  const EventTable& table = *graph.ranks[0].table;
  out.rows.resize(table.size());
  for (uint32_t task = 0; task < graph.size(); ++task) {
    const uint32_t row = graph.event[task];
    const bool transfer = graph.kind[task] == TaskKind::kTransfer;
    if ((!transfer && !is_compute_task(graph.kind[task])) || row == kNoIndex) continue;
    out.rows[row] = {load_class(table, row, graph.kind[task]), overlap[task]};
  }
  out.interference = fit_interference(graph, timeline, places);
  return out;
}

}  // namespace

MeasuredLoads measure_loads(const std::vector<ExecGraph>& graphs, const Program& program,
                            const std::vector<RankTransfers>& transfers, int threads) {
  std::vector<RankLoads> ranks(graphs.size());
  parallel_for(graphs.size(), threads, [&](size_t r) {
    const auto& launches = program.ranks[r].recovered.list.launches;
    const bool sharded = std::any_of(launches.begin(), launches.end(),
                                     [](const Launch& launch) { return launch.unit_work == UnitWork::kGather; });
    ranks[r] = measure_rank(graphs[r], transfers[r], sharded ? places_of(program.ranks[r]) : std::vector<uint32_t>{});
  });
  MeasuredLoads out;
  std::array<double, static_cast<size_t>(LoadClass::kCount)> weighted{};
  for (RankLoads& rank : ranks) {
    for (size_t c = 0; c < weighted.size(); ++c) {
      weighted[c] += rank.interference.longer_per_overlap[c] * static_cast<double>(rank.interference.samples[c]);
      out.interference.samples[c] += rank.interference.samples[c];
    }
    out.rows.push_back(std::move(rank.rows));
  }
  for (size_t c = 0; c < weighted.size(); ++c)
    if (out.interference.samples[c] > 0)
      out.interference.longer_per_overlap[c] = weighted[c] / static_cast<double>(out.interference.samples[c]);
  return out;
}

std::vector<TaskLoad> loads_of(const ExecGraph& graph, const std::vector<TaskOrigin>& origins, const Program& program,
                               const std::vector<RankTransfers>& transfers, const TaskTimes& times,
                               const MeasuredLoads& measured) {
  std::vector<TaskLoad> loads(graph.size());
  for (uint32_t task = 0; task < graph.size(); ++task) {
    const TaskOrigin& origin = origins[task];
    const bool transfer = graph.kind[task] == TaskKind::kTransfer;
    if ((!transfer && !is_compute_task(graph.kind[task])) || origin.row == kNoIndex) continue;
    const std::vector<RowLoad>& rows = measured.rows[origin.rank];
    TaskLoad& load = loads[task];
    if (origin.row >= rows.size()) {  // not traced
      load.load = LoadClass::kTransfer;
      continue;
    }
    load.load = rows[origin.row].load;
    const uint32_t index = transfer ? transfers[origin.rank].of_row[origin.row] : kNoIndex;
    if (index == kNoIndex) {
      const int64_t old_ns = program.ranks[origin.rank].table->dur_ns[origin.row];
      if (old_ns <= 0) continue;
      const double scale = static_cast<double>(graph.duration_ns[task]) / static_cast<double>(old_ns);
      load.contained_ns = static_cast<int64_t>(static_cast<double>(rows[origin.row].overlap_ns) * scale);
      continue;
    }
    // Where members meet in the graph, the duration is the transfer alone.
    bool meets = false;
    for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e)
      meets |= graph.edges[e].kind == EdgeKind::kRendezvous;
    if (meets) {
      load.contained_ns = rows[origin.row].overlap_ns;
      continue;
    }
    // A placed block may scale its collectives, their waiting with the rest.
    const auto given_ns = static_cast<double>(std::max<int64_t>(1, times.durations[origin.rank][origin.task]));
    const double scale = static_cast<double>(graph.duration_ns[task]) / given_ns;
    const double waiting_ns = scale * static_cast<double>(times.waiting_ns[origin.rank][origin.task]);
    const double moving_ns = static_cast<double>(graph.duration_ns[task]) - waiting_ns;
    const int64_t old_moving_ns = transfers[origin.rank].transfers[index].transfer_ns;
    load.waiting_ns = static_cast<int64_t>(waiting_ns);
    if (old_moving_ns > 0)
      load.contained_ns = static_cast<int64_t>(static_cast<double>(rows[origin.row].overlap_ns) * moving_ns /
                                               static_cast<double>(old_moving_ns));
  }
  return loads;
}

}  // namespace lumos
