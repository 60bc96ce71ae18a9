#include "lumos/sim/interference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "lumos/sim/simulate.h"
#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

/// Products of equal work on one stream, one after the other, and beside them transfers: `covered` of every ten
/// products run wholly beside one. Products vary by `noise`, and take `slowdown` times as long beside a transfer.
struct Beside {
  ExecGraph graph;
  Timeline timeline;
};

Beside products_beside_transfers(int covered, double noise, double slowdown) {
  constexpr int kProducts = 200;
  TestGraph g(1, 2);
  std::mt19937 random(7);
  std::normal_distribution<double> around(1.0, noise);
  Timeline timeline;
  int64_t now_ns = 0;
  for (int i = 0; i < kProducts; ++i) {
    const bool beside = i % 10 < covered;
    const auto duration_ns = static_cast<int64_t>(100'000 * around(random) * (beside ? slowdown : 1));
    const uint32_t product = g.row(EventKind::kKernel, "ampere_bf16_gemm_128x128", 1, now_ns, duration_ns);
    g.task(TaskKind::kKernel, product, now_ns, duration_ns, {});
    timeline.start_ns.push_back(now_ns);
    timeline.end_ns.push_back(now_ns + duration_ns);
    if (beside) {
      const uint32_t transfer = g.row(EventKind::kKernel, "ncclDevKernel_AllReduce", 2, now_ns, duration_ns);
      g.task(TaskKind::kTransfer, transfer, now_ns, duration_ns, {});
      timeline.start_ns.push_back(now_ns);
      timeline.end_ns.push_back(now_ns + duration_ns);
    }
    now_ns += duration_ns;
  }
  timeline.binding.assign(timeline.start_ns.size(), kNoIndex);
  return {g.finish({}), timeline};
}

double matrix_coefficient(const Beside& beside) {
  return fit_interference(beside.graph, beside.timeline).longer_per_overlap[static_cast<size_t>(LoadClass::kMatrix)];
}

TEST(Interference, NoiseOfTasksThatAreAlwaysCoveredIsNoSlowdown) {
  for (const double noise : {0.0, 0.01, 0.05, 0.2}) {
    const Interference fitted = [&] {
      const Beside beside = products_beside_transfers(10, noise, 1);
      return fit_interference(beside.graph, beside.timeline);
    }();
    for (const double coefficient : fitted.longer_per_overlap) EXPECT_EQ(coefficient, 0) << noise;
  }
}

TEST(Interference, NoiseOfTasksThatAreCoveredNowAndThenIsHardlyAny) {
  for (const int covered : {2, 5, 8}) EXPECT_LT(matrix_coefficient(products_beside_transfers(covered, 0.05, 1)), 0.02);
}

/// Groups that are always covered beside groups that are covered for a fixed while: each reading alone would take the
/// noise of one of the two for a slow-down.
TEST(Interference, NoiseOfGroupsThatDifferInTheirOverlapIsNoSlowdown) {
  TestGraph g(1, 2);
  std::mt19937 random(3);
  std::normal_distribution<double> around(1.0, 0.15);
  Timeline timeline;
  int64_t now_ns = 0;
  const auto put = [&](uint32_t lane, TaskKind kind, const std::string& name, int64_t duration_ns) {
    g.task(kind, g.row(EventKind::kKernel, name, lane, now_ns, duration_ns), now_ns, duration_ns, {});
    timeline.start_ns.push_back(now_ns);
    timeline.end_ns.push_back(now_ns + duration_ns);
  };
  for (int group = 0; group < 20; ++group) {
    for (int i = 0; i < 20; ++i) {
      const auto duration_ns = static_cast<int64_t>(100'000 * std::max(0.4, around(random)));
      const int64_t covered_ns = group < 10 ? duration_ns : group < 15 ? 30'000 : 70'000;
      put(1, TaskKind::kKernel, "gemm_" + std::to_string(group), duration_ns);
      put(2, TaskKind::kTransfer, "ncclDevKernel_AllReduce", covered_ns);
      now_ns += 2 * duration_ns;
    }
  }
  timeline.binding.assign(timeline.start_ns.size(), kNoIndex);
  EXPECT_LT(matrix_coefficient({g.finish({}), timeline}), 0.02);
}

TEST(Interference, ASlowdownIsFoundThroughTheNoise) {
  for (const int covered : {2, 5, 8}) {
    for (const double slowdown : {1.1, 1.3}) {
      const double wanted = (slowdown - 1) / slowdown;
      EXPECT_NEAR(matrix_coefficient(products_beside_transfers(covered, 0.03, slowdown)), wanted, 0.02);
    }
  }
}

}  // namespace
}  // namespace lumos
