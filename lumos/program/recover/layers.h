// Finds the layers inside the passes of a rank: forward passes by the period of their kernels, backward passes by the
// autograd numbers that tie each operator to its forward, else by period. The second half of program/recover.
#pragma once

#include "lumos/program/recover/recover.h"

namespace lumos {

/// Fills labels, layers_per_chunk and layer_match. Passes must be numbered.
void label_layers(const EventTable& table, const RecoverHints& hints, RecoveredRank& rank);

}  // namespace lumos
