#include "lumos/whatif/jitter.h"

#include <cmath>
#include <numbers>

#include "lumos/base/parallel.h"
#include "lumos/sim/simulate.h"

namespace lumos {

namespace {

/// splitmix64: a stateless hash, so that each task's chance is its own whatever runs first.
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Uniform in (0, 1].
double uniform(uint64_t bits) { return (static_cast<double>(bits >> 11) + 1) * 0x1p-53; }

/// Standard normal by Box and Muller.
double normal(uint64_t key) {
  const double radius = std::sqrt(-2 * std::log(uniform(mixed(key))));
  return radius * std::cos(2 * std::numbers::pi * uniform(mixed(key ^ 0x5851f42d4c957f2dULL)));
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

std::vector<double> jittered_steps_ns(const ExecGraph& graph, const StepOf& step_of, const JitterOptions& options) {
  const std::vector<uint32_t> chance = chance_of(graph);
  // exp(sigma z) has the mean exp(sigma^2 / 2).
  const double shift = options.sigma * options.sigma / 2;
  std::vector<double> steps(options.samples, 0);
  parallel_for(steps.size(), options.threads, [&](size_t sample) {
    const uint64_t base = mixed(options.seed * 0x100000001b3ULL + sample);
    ExecGraph varied = graph;
    for (uint32_t task = 0; task < graph.size(); ++task) {
      if (!is_gpu_task(graph.kind[task]) || graph.duration_ns[task] <= 0) continue;
      const double factor = std::exp(options.sigma * normal(base + chance[task]) - shift);
      varied.duration_ns[task] = std::llround(static_cast<double>(graph.duration_ns[task]) * factor);
    }
    steps[sample] = step_of(simulate(varied));
  });
  return steps;
}

}  // namespace lumos
