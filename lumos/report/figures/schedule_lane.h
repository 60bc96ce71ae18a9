// The schedule of a rank as recovery finds it: when it ran which pass of which micro-batch, as few large boxes above
// its streams, so that a pipeline's order can be read at a glance. Drawn by report/lane_picture.
#pragma once

#include <string>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/program/recover/recover.h"
#include "lumos/report/figures/steps.h"
#include "lumos/sim/timeline.h"

namespace lumos {

enum class PassKind : uint8_t { kForward, kBackward, kUpdate };

struct PassBox {
  int64_t start_ns = 0;  ///< on the timeline's clock
  int64_t end_ns = 0;
  PassKind kind = PassKind::kForward;
  std::string name;  ///< "forward of micro-batch 3"; the number only where there are several
};

/// The passes of one rank within `window`, in order; they do not overlap. From the first compute kernel of a pass to
/// its last. Empty where recovery places nothing.
std::vector<PassBox> schedule_boxes(const ExecGraph& graph, const Timeline& timeline, uint32_t rank_index,
                                    Window window, const RecoveredRank& recovered);

}  // namespace lumos
