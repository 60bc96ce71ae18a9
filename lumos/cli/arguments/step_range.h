// `--steps A-B`: the steps that a user chose by the number in their name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lumos/base/result.h"
#include "lumos/graph/exec_graph.h"

namespace lumos {

struct StepRange {
  int64_t first = 0;
  int64_t last = 0;
};

/// "4" or "4-6". Errors: kUsage.
Result<StepRange> parse_step_range(std::string_view text);

/// The 4 of "ProfilerStep#4".
std::optional<int64_t> step_number(std::string_view name);
/// The names of all steps of a rank, for messages; "none" without any.
std::string step_names(const RankTasks& rank);

/// Chooses the steps of every rank whose number (the 4 of "ProfilerStep#4") is in the range, and no others.
/// Errors: kUsage when a rank has none, with those that it has.
Status choose_steps(ExecGraph& graph, StepRange range);

}  // namespace lumos
