// The same job with times that vary by chance: how far the step spreads when kernels and transfers do not always take
// what they took. Read by the predict command.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/whatif/gains/gains.h"
#include "lumos/whatif/times/spread.h"

namespace lumos {

struct JitterOptions {
  uint32_t samples = 100;
  uint64_t seed = 1;
  int threads = 0;
  std::stop_token stop;  ///< once asked for, the samples that have not begun stay 0
};

/// The step of each sample in nanoseconds, by sample. Every kernel, copy, fill and transfer gets a factor of its own,
/// log-normal with mean 1 and the spread's sigma, about the centre of equal work; kernels of one rank in one step share
/// another one; the members of one collective share theirs where the graph has them end together. `graph` has the tasks
/// that `spread` was made for. Depends on seed, sample and task alone, not on the number of threads.
std::vector<double> jittered_steps_ns(const ExecGraph& graph, const StepOf& step_of, const Spread& spread,
                                      const JitterOptions& options);

}  // namespace lumos
