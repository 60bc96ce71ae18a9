// Event tables of ranks that were traced on CPUs alone and communicate through gloo. Tests only.
#pragma once

#include <memory>

#include "lumos/graph/test_table.h"

namespace lumos {

inline constexpr int64_t kUs = 1000;

/// A rank that computes for `compute_us`, puts an all-reduce into gloo's queue, computes on and waits for it, per step.
/// The all-reduce begins 50 us after its call and ends at `end_us` of the step.
inline std::shared_ptr<const EventTable> gloo_rank(int rank, int steps, int64_t compute_us, int64_t end_us) {
  TestTable t;
  const uint32_t main = t.thread(1), gloo = t.thread(2);
  for (int i = 0; i < steps; ++i) {
    const int64_t begin = i * 20'000 * kUs;
    t.step(main, i, begin, 20'000 * kUs);
    t.op(main, "aten::mm", begin, compute_us * kUs);
    t.op(main, "c10d::allreduce_", begin + compute_us * kUs, 40 * kUs);
    t.row(EventKind::kAnnotation, "gloo:all_reduce", gloo, begin + (compute_us + 50) * kUs,
          (end_us - compute_us - 50) * kUs);
    t.op(main, "aten::add", begin + (end_us + 10) * kUs, (20'000 - end_us - 10) * kUs);
  }
  t.table().info.rank = rank;
  t.table().info.world_size = 2;
  t.table().info.groups.push_back({"0", "default_pg", 2, {0, 1}});
  return t.finish();
}

}  // namespace lumos
