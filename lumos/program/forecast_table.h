// A predicted step as event tables, one per planned rank: what a profiler would have recorded of the changed job.
// Blocks of the trace are borrowed, repeated and moved, so rows are made anew: each placed block has its own. Written
// out by `lumos predict --out`.
#pragma once

#include <vector>

#include "lumos/program/predict.h"

namespace lumos {

/// The table of rank `rank_index`, of a job of `world_size` ranks. Sizes, shapes and members of groups belong to the
/// traced job and are left out, and so are autograd's numbers.
EventTable forecast_table(const Program& program, const ForecastRun& run, uint32_t rank_index, int32_t world_size);

}  // namespace lumos
