// The SM utilisation of a simulated step, rank by rank, as few numbers: what a prediction keeps of its run so that a
// report can draw it beside the measured one. Made by predict, read by the HTML report.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/base/json_writer.h"
#include "lumos/graph/exec_graph.h"
#include "lumos/report/figures/utilisation.h"
#include "lumos/sim/timeline.h"

namespace lumos {

struct RankCurve {
  int32_t rank = 0;
  int64_t length_ns = 0;  ///< of the step
  Utilisation curve;      ///< busy only
};

/// Of the chosen step in the middle of every rank. Intervals are 1 ms, or longer where a step has more than a few
/// hundred of these.
std::vector<RankCurve> rank_curves(const ExecGraph& graph, const Timeline& timeline);

/// Mean over several runs of one job, point by point, by rank: what has ended counts as idle.
std::vector<RankCurve> mean_curves(const std::vector<std::vector<RankCurve>>& runs);

/// Index of the predicted curve that stands for rank `index` of `ranks`: of the same number, else of the same place
/// among the stages. `curves` is not empty.
size_t curve_for(const std::vector<RankCurve>& curves, int32_t rank, size_t index, size_t ranks);

/// [{"rank", "step_ms", "interval_ms", "busy_pct": [...]}]
void write_rank_curves(JsonWriter& json, const std::vector<RankCurve>& curves);

}  // namespace lumos
