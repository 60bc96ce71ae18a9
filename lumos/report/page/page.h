// The HTML report: one file that people open, send and print. It needs no network and no script; the script that it
// holds lets people look into the lanes. Made from a job, its timeline and the replay result, whose numbers it shows
// as they are. Written by `lumos report`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lumos/graph/job/job.h"
#include "lumos/report/figures/rank_curve.h"
#include "lumos/report/figures/work_use.h"
#include "lumos/report/results/diff.h"
#include "lumos/report/results/gains_result.h"
#include "lumos/report/results/replay_result.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// What the run is compared with: another run or a prediction.
struct PageComparison {
  std::string name;       ///< "predicted", "other run"
  std::string source;     ///< the path that the user named
  double step_ms = 0;     ///< mean step
  BreakdownMs breakdown;  ///< sums to step_ms
  std::optional<Diff> diff;
  std::vector<RankCurve> curves;  ///< utilisation of its ranks; empty where it does not tell
  std::optional<WorkUse> work;    ///< of a prediction that tells it
};

struct PageInput {
  const LinkedJob& job;
  const Timeline& timeline;
  const ReplayResult& result;
  uint32_t rank_index = 0;  ///< whose kernels, collectives, utilisation and critical path are shown
  uint32_t step = 0;        ///< which step of it, by index into its steps
  std::optional<PageComparison> comparison;
  int threads = 0;                                  ///< for what the page asks beyond the replay: who holds up whom
  std::optional<GainsResult> gains = std::nullopt;  ///< left out of the page where absent

  const ExecGraph& graph() const { return job.linked.graph; }
};

/// The whole document.
std::string report_page(const PageInput& input);

}  // namespace lumos
