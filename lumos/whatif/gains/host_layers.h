// Another number of layers for a job that was traced on CPUs. Without a GPU, operators are the work: what repeats once
// per layer in their sequence is the layers, and what handles parameters grows with these. Made from a linked job;
// simulated like the graph that it came from. Jobs with GPU work go through program/ instead.
#pragma once

#include <cstdint>

#include "lumos/base/result.h"
#include "lumos/graph/job/job.h"

namespace lumos {

/// True when no rank has work on a GPU.
bool runs_on_cpus_alone(const LinkedJob& job);

/// The job's graph as it would be with `new_layers` layers where it had `layers`: the same tasks with other durations.
/// Layers take their share more or less; optimizer, gradient copies and gradient communication follow the number of
/// parameters. Errors (kFailed): nothing in the steps repeats `layers` times, or the traces have no shapes.
Result<ExecGraph> with_layers(const LinkedJob& job, int64_t layers, int64_t new_layers);

}  // namespace lumos
