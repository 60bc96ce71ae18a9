#include "lumos/program/anchor.h"

#include <algorithm>

#include "lumos/plan/make_plan.h"
#include "lumos/plan/optimizer.h"
#include "lumos/plan/parameters.h"
#include "lumos/sim/overlap.h"

namespace lumos {
namespace {

/// Time of a kind of block, and how many there were.
struct BlockSum {
  double compute_us = 0;
  double host_us = 0;
  int64_t blocks = 0;

  double mean_compute_us() const { return blocks > 0 ? compute_us / static_cast<double>(blocks) : 0; }
  double mean_host_us() const { return blocks > 0 ? host_us / static_cast<double>(blocks) : 0; }
};

/// What the traces of all ranks show.
struct TracedParts {
  BlockSum layer_forward, layer_backward;
  BlockSum embedding_forward, embedding_backward;
  BlockSum head_forward, head_backward;
  BlockSum exchange;
  double optimizer_us = 0;        // over all whole steps and ranks
  double model_optimizer_us = 0;  // what the model says to the same
  double outside_us = 0;          // host time of blocks outside of passes
  int64_t steps = 0;
};

void add_blocks(const RankProgram& rank, const std::vector<uint32_t>& blocks, BlockSum& sum) {
  for (const uint32_t index : blocks) {
    const Block& block = rank.blocks[index];
    for (uint32_t t = block.task_begin; t < block.task_end; ++t) {
      const BlockTask& task = rank.tasks[t];
      const double us = static_cast<double>(task.duration_ns) / 1e3;
      if (is_compute_task(task.kind)) sum.compute_us += us;
      // Time between events is mostly waiting.
      const bool works = task.event != kNoIndex && (task.kind == TaskKind::kHost || task.kind == TaskKind::kCall);
      if (works) sum.host_us += us;
    }
  }
  sum.blocks += static_cast<int64_t>(blocks.size());
}

/// The end of a pass, which may be several blocks, counts once.
void add_end(const RankProgram& rank, const std::vector<uint32_t>& blocks, BlockSum& sum) {
  const int64_t before = sum.blocks;
  add_blocks(rank, blocks, sum);
  sum.blocks = before + 1;
}

void add_rank(const Recovery& recovery, size_t r, const Cluster& cluster, TracedParts& parts) {
  const RankProgram& rank = recovery.program.ranks[r];
  const Job& job = recovery.job;
  const int64_t stage = recovery.places[r][Dimension::kPipeline];
  const bool first = stage == 0, last = stage + 1 == job.pipeline_model_parallel_size;
  const int64_t last_chunk = job.virtual_pipeline_model_parallel_size - 1;
  for (const StepBlocks& step : recovery.catalogs[r].steps) {
    for (const PassBlocks& pass : step.forwards) {
      add_blocks(rank, pass.layers, parts.layer_forward);
      if (first && pass.chunk <= 0) add_end(rank, pass.entry, parts.embedding_forward);
      if (last && pass.chunk >= last_chunk) add_end(rank, pass.exit, parts.head_forward);
    }
    for (const PassBlocks& pass : step.backwards) {
      add_blocks(rank, pass.layers, parts.layer_backward);
      if (first && pass.chunk <= 0) add_end(rank, pass.exit, parts.embedding_backward);
      if (last && pass.chunk >= last_chunk) add_end(rank, pass.entry, parts.head_backward);
    }
    BlockSum optimizer, outside;
    add_blocks(rank, step.optimizer, optimizer);
    add_blocks(rank, step.init, outside);
    add_blocks(rank, step.log, outside);
    add_blocks(rank, step.grad_sync, outside);
    for (const ExchangeBlock& exchange : step.exchanges) add_blocks(rank, {exchange.block}, parts.exchange);
    parts.optimizer_us += std::max(optimizer.compute_us, optimizer.host_us);
    parts.outside_us += outside.host_us;
    const double parameters = static_cast<double>(stage_parameters(job, stage).total());
    parts.model_optimizer_us +=
        work_times(optimizer_work(job, plan_of(job, cluster.gpus_per_node), parameters), cluster).compute_us;
    ++parts.steps;
  }
}

double ratio(double measured, double modelled) { return measured > 0 && modelled > 0 ? measured / modelled : 1; }

/// Of parts that share a scale.
EstimateScales::Part scale_of(const std::vector<BlockSum>& traced, const std::vector<WorkTimes>& modelled,
                              double launch_us) {
  double compute_us = 0, host_us = 0;
  for (const BlockSum& sum : traced) {
    compute_us += sum.mean_compute_us();
    host_us += sum.mean_host_us();
  }
  WorkTimes model;
  for (const WorkTimes& times : modelled) model += times;
  return {ratio(compute_us, model.compute_us), ratio(host_us, model.launches * launch_us)};
}

NetworkTier tier_of(const Tier& traced, const NetworkTier& given) {
  if (traced.observations == 0) return given;
  NetworkTier tier = given;
  tier.gb_per_s = traced.gb_per_s;
  // The trace is of the protocols that NCCL chose; the fit is of both.
  tier.latency_us = tier.low_latency_us = traced.latency_us;
  tier.low_latency_fraction = 1;
  tier.hop_us = traced.hop_us;
  return tier;
}

}  // namespace

Result<Anchor> make_anchor(const Recovery& recovery, const Cluster& cluster, double measured_ms) {
  Anchor anchor;
  anchor.cluster = cluster;
  anchor.cluster.node = tier_of(recovery.network.node, cluster.node);
  anchor.cluster.fabric = tier_of(recovery.network.fabric, cluster.fabric);
  const bool traced = recovery.network.node.observations + recovery.network.fabric.observations > 0;
  if (traced && recovery.network.copy_us_per_kb > 0)
    anchor.cluster.reduce_gb_per_s = 1 / recovery.network.copy_us_per_kb;

  TracedParts parts;
  for (size_t r = 0; r < recovery.program.ranks.size(); ++r) add_rank(recovery, r, cluster, parts);
  const PassTimes model = pass_times(plan_of(recovery.job, cluster.gpus_per_node), cluster);
  EstimateScales& scales = anchor.scales;
  const double launch_us = cluster.host.launch_us;
  scales.layer_forward = scale_of({parts.layer_forward}, {model.layer_forward}, launch_us);
  scales.layer_backward = scale_of({parts.layer_backward}, {model.layer_backward}, launch_us);
  scales.embedding = scale_of({parts.embedding_forward, parts.embedding_backward},
                              {model.embedding_forward, model.embedding_backward}, launch_us);
  scales.head =
      scale_of({parts.head_forward, parts.head_backward}, {model.head_forward, model.head_backward}, launch_us);
  scales.optimizer = ratio(parts.optimizer_us, parts.model_optimizer_us);
  scales.message_host_us = parts.exchange.mean_host_us();
  if (parts.steps > 0) anchor.cluster.host.step_us = parts.outside_us / static_cast<double>(parts.steps);
  const Estimate unscaled = TRY(estimate(recovery.job, anchor.cluster, scales));
  scales.step = ratio(measured_ms, unscaled.step_ms);
  return anchor;
}

}  // namespace lumos
