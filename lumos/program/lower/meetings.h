// Which communication kernels of different stages meet: those that carry the same tensors, and the collectives that
// span stages. The second half of program/lower/plan, once every stage's blocks are placed.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/program/lower/plan.h"

namespace lumos {

/// Fills the meetings, what each costs, and what each pass needs. `actions[s][b]`: what the b-th placed block of stage
/// s exchanges, or the pass that begins with it; else nullptr.
void plan_meetings(const Recovery& recovery, const Job& target, const Network& network, uint64_t seed,
                   const std::vector<std::vector<const Action*>>& actions, LowerPlan& plan);

}  // namespace lumos
