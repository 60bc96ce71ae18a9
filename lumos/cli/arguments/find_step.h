// `--rank N` and `--step N`: the rank and the step that a user asked for, or the ones to show when they did not.
#pragma once

#include <cstdint>

#include "lumos/base/result.h"
#include "lumos/graph/exec_graph.h"

namespace lumos {

/// The index of the rank that the user meant: `rank` as the traces number it, or the first one for -1.
/// Errors: kUsage when there is no such rank, with those there are.
Result<uint32_t> find_rank(const ExecGraph& graph, int64_t rank);

/// The index of the step that the user meant: `number` as in "ProfilerStep#4", or for -1 the chosen one of median
/// length in the measured run. Errors: kUsage when there is none, with those there are.
Result<uint32_t> find_step(const ExecGraph& graph, uint32_t rank_index, int64_t number);

}  // namespace lumos
