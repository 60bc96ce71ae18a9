#include "lumos/whatif/gains/jitter.h"

#include <cmath>
#include <numbers>

#include "lumos/base/parallel.h"
#include "lumos/program/lower/draw.h"
#include "lumos/sim/simulate.h"

namespace lumos {

namespace {

/// Uniform in (0, 1].
double uniform(uint64_t bits) { return (static_cast<double>(bits >> 11) + 1) * 0x1p-53; }

/// Standard normal by Box and Muller.
double normal(uint64_t key) {
  const double radius = std::sqrt(-2 * std::log(uniform(split_mix(key))));
  return radius * std::cos(2 * std::numbers::pi * uniform(split_mix(key ^ 0x5851f42d4c957f2dULL)));
}

/// Log-normal with mean 1: exp(sigma z) has the mean exp(sigma^2 / 2).
double chance_factor(uint64_t key, double sigma) {
  return sigma > 0 ? std::exp(sigma * normal(key) - sigma * sigma / 2) : 1;
}

/// What shares its chance: the transfers of one collective all wait for one rendezvous; every other task is alone.
std::vector<uint32_t> chance_of(const ExecGraph& graph) {
  std::vector<uint32_t> chance(graph.size());
  for (uint32_t task = 0; task < graph.size(); ++task) {
    chance[task] = task;
    for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
      const bool together = graph.kind[task] == TaskKind::kTransfer && graph.edges[e].kind == EdgeKind::kRendezvous;
      if (together) chance[task] = graph.edges[e].source;
    }
  }
  return chance;
}

}  // namespace

std::vector<double> jittered_steps_ns(const ExecGraph& graph, const StepOf& step_of, const Spread& spread,
                                      const JitterOptions& options) {
  const std::vector<uint32_t> chance = chance_of(graph);
  std::vector<double> steps(options.samples, 0);
  const auto draw = [&](size_t sample) {
    const uint64_t base = split_mix(options.seed * 0x100000001b3ULL + sample);
    const uint64_t rank_base = split_mix(base ^ 0x2545f4914f6cdd1dULL);
    ExecGraph varied = graph;
    for (uint32_t task = 0; task < graph.size(); ++task) {
      if (!is_gpu_task(graph.kind[task]) || graph.duration_ns[task] <= 0) continue;
      double factor = spread.centre[task] * chance_factor(base + chance[task], spread.sigma[task]);
      const uint32_t rank_step = spread.rank_step[task];
      if (rank_step != kNoIndex) factor *= chance_factor(rank_base + rank_step, spread.rank_sigma);
      varied.duration_ns[task] = std::llround(static_cast<double>(graph.duration_ns[task]) * factor);
    }
    steps[sample] = step_of(simulate(varied));
  };
  parallel_for(steps.size(), options.threads, draw, options.stop);
  return steps;
}

}  // namespace lumos
