// A dimension that nobody has: its row and its strategy are all that Lumos is told of it. Once per layer its ranks add
// up the layer's result.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lumos/plan/estimate.h"
#include "lumos/plan/ops/layout.h"
#include "lumos/plan/strategies/cut.h"
#include "lumos/plan/strategies/strategy.h"
#include "lumos/program/facts/traced_facts.h"
#include "lumos/program/test_synthetic.h"

namespace lumos {
namespace {

// The row.
const Dimension kMadeUp = add_dimension({"mp", "made_up_parallel_size", {"MADE_UP_PARALLEL_GROUP"}});

// The file.
void shard(const Job& job, Plan& plan) {
  if (dimension_size(job, kMadeUp) == 1) return;
  const Op last = plan.layer.forward.back();
  plan.layer.forward.push_back(collective_op(last, CollectiveKind::kAllReduce, {last.moved.front().elements}, kMadeUp));
}

const bool kAdded = [] {
  add_strategy({.name = "made up", .shard = shard});
  return true;
}();

Job made_up_job(const Settings& more = {}) {
  return test_job({{"num_layers", "4"},
                   {"hidden_size", "2048"},
                   {"num_attention_heads", "16"},
                   {"num_microbatches", "4"},
                   {"data_parallel_size", "2"},
                   {"made_up_parallel_size", "2"}},
                  more);
}

EventTable table_of(const Job& job, const Cluster& cluster, int64_t rank) {
  SyntheticOptions options = of_all_stages(job);
  SyntheticJob made = simulate_job(job, cluster, options).value();
  return synthetic_table(made, job, cluster, rank, options.steps);
}

TEST(MadeUpDimension, MultipliesTheRanksOfAReplica) {
  ASSERT_TRUE(kAdded);
  const Job job = made_up_job();
  EXPECT_EQ(job.world_size, 4);
  EXPECT_EQ(job.global_batch_size, 8) << "its ranks work on the same samples";
  const auto named = change_job(job, "rank_order", "mp-tp-dp-pp");
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(mesh_of(*named).stride(kMadeUp), 1);
  EXPECT_EQ(mesh_of(job).stride(kMadeUp), 2) << "behind those that the order names";
}

TEST(MadeUpDimension, IsSynthesizedWithAGroupOfItsOwn) {
  const Cluster cluster = test_cluster();
  const Job job = made_up_job();
  const EventTable table = table_of(job, cluster, 1);
  std::set<std::string> ranks;
  size_t reductions = 0;
  for (size_t row = 0; row < table.size(); ++row) {
    const GpuDetail* detail = table.kind[row] == EventKind::kKernel ? table.gpu_detail(row) : nullptr;
    if (detail == nullptr || detail->collective == kNoIndex) continue;
    const CollectiveDetail& collective = table.collectives[detail->collective];
    if (table.text(collective.group_desc) != "MADE_UP_PARALLEL_GROUP") continue;
    ranks.insert(std::string(table.text(collective.group_ranks)));
    ++reductions;
  }
  EXPECT_EQ(ranks, std::set<std::string>{"[1, 3]"});
  const auto steps = static_cast<size_t>(of_all_stages(job).steps);
  EXPECT_EQ(reductions, steps * static_cast<size_t>(job.num_layers * job.num_microbatches));
}

TEST(MadeUpDimension, IsRecovered) {
  const Cluster cluster = test_cluster();
  const Job job = made_up_job();
  const Recovery recovery = recover_synthetic(job, cluster);
  EXPECT_EQ(recovery.program.ranks[0].recovered.unplaced, 0u);
  const std::vector<TracedFact> facts = traced_facts(*recovery.program.ranks[0].table, {});
  const auto size = std::find_if(facts.begin(), facts.end(),
                                 [](const TracedFact& fact) { return fact.field == "made_up_parallel_size"; });
  ASSERT_NE(size, facts.end());
  EXPECT_EQ(size->value, "2");
}

TEST(MadeUpDimension, IsPredicted) {
  const Cluster cluster = test_cluster();
  const Job job = made_up_job();
  const Recovery recovery = recover_synthetic(job, cluster);
  for (const Settings& change : {Settings{}, Settings{{"num_microbatches", "8"}}, Settings{{"num_layers", "8"}}}) {
    const Job target = change_job(job, change).value();
    EXPECT_NEAR(predicted_ms(recovery, change) / synthetic_step_ms(target, cluster), 1, 0.03);
  }
}

TEST(MadeUpDimension, IsEstimated) {
  const Cluster cluster = test_cluster();
  const Job job = made_up_job(), without = change_job(job, "made_up_parallel_size", "1").value();
  const double more_ms = estimate(job, cluster)->step_ms - estimate(without, cluster)->step_ms;
  const auto bytes = static_cast<double>(job.micro_batch_size * job.seq_length * job.hidden_size * element_bytes(job));
  const double one_us = collective_us({CollectiveKind::kAllReduce, bytes, mesh_of(job).shape(kMadeUp)}, cluster);
  const double all_ms = one_us * static_cast<double>(job.num_layers * job.num_microbatches) / 1e3;
  EXPECT_NEAR(more_ms, all_ms, 0.2 * all_ms);
  EXPECT_NEAR(estimate(job, cluster)->step_ms / synthetic_step_ms(job, cluster), 1, 0.05);
}

}  // namespace
}  // namespace lumos
