// What recovery found in the traces, for people and programs: stages, micro-batches, layers, and per kind of block how
// many there are, how many kernels each launches, and how long they run. Made from a Program; printed by inspect.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lumos/program/blocks/program.h"

namespace lumos {

/// The identity law of one rank: its graph simulated as built, and recovered, lowered without a change and simulated.
struct LoweredAgain {
  double direct_ms = 0;  ///< from the first start to the last end
  double lowered_ms = 0;
  /// How far one whole step's blocks are from the step after it, worst pair, in percent; absent without two alike.
  std::optional<double> other_step_pct;
  /// What the trace itself measured of that pair: how far the sums of their kernels' times are apart, and how far the
  /// lengths of the steps. No template can be nearer than the steps are.
  double other_step_kernels_pct = 0;
  double other_step_measured_pct = 0;
};

LoweredAgain lower_again(const ExecGraph& direct, const Program& program, uint32_t rank_index);

/// `again` is parallel to program.ranks.
std::string program_text(const Program& program, const std::vector<LoweredAgain>& again);

/// lumos.program.v1: the same, and the label of every GPU row.
std::string program_json(const Program& program, const std::vector<LoweredAgain>& again);

}  // namespace lumos
