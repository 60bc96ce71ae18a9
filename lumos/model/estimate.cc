#include "lumos/model/estimate.h"

#include <algorithm>
#include <numeric>

#include "lumos/model/flops.h"
#include "lumos/model/layer_work.h"
#include "lumos/model/optimizer.h"
#include "lumos/model/parallel_layout.h"
#include "lumos/model/parameters.h"
#include "lumos/model/pipeline.h"

namespace lumos {
namespace {

/// The share of a chunk's layers that is recomputed in full.
double recomputed_share(const Job& job) {
  if (job.recompute_granularity != Recompute::kFull) return 0;
  if (job.recompute_method == RecomputeMethod::kUniform) return 1;
  const double layers = static_cast<double>(layers_per_chunk(job));
  return std::min(1.0, static_cast<double>(job.recompute_num_layers) / layers);
}

/// One pass of a stage and chunk: what the GPU does, and how long it takes with the host that feeds it.
struct Pass {
  WorkTimes work;
  double duration_us = 0;

  /// Adds `times` layers, or the embedding or head. Each part runs at the pace of the GPU or of the host, whichever is
  /// slower: the host's lead over a fast part is too short to cover the next.
  void add(const WorkTimes& part, double times, const Cluster& cluster) {
    work += part * times;
    duration_us += times * std::max(part.gpu_us(), part.launches * cluster.host.launch_us);
  }
};

/// Passes of one stage and chunk.
struct ChunkWork {
  Pass forward, backward;
};

ChunkWork chunk_work(const Job& job, const Cluster& cluster, const PassTimes& passes, int64_t stage, int64_t chunk) {
  const double layers = static_cast<double>(layers_per_chunk(job));
  const int64_t piece = chunk * job.pipeline_model_parallel_size + stage;
  ChunkWork work;
  work.forward.add(passes.layer_forward, layers, cluster);
  work.backward.add(passes.layer_backward, layers, cluster);
  if (piece == 0) {
    work.forward.add(passes.embedding_forward, 1, cluster);
    work.backward.add(passes.embedding_backward, 1, cluster);
  }
  if (piece + 1 == num_chunks(job)) {
    work.forward.add(passes.head_forward, 1, cluster);
    work.backward.add(passes.head_backward, 1, cluster);
  }
  return work;
}

/// One message between stages. Tensor-parallel ranks that each hold a part of the sequence send their part; others send
/// the whole activation each, or a part each that their stage gathers again.
double message_us(const Job& job, const Cluster& cluster) {
  if (job.pipeline_model_parallel_size == 1) return 0;
  const double bytes =
      static_cast<double>(job.seq_length * job.micro_batch_size * job.hidden_size * element_bytes(job));
  const bool in_parts = job.sequence_parallel || job.scatter_gather_tensors_in_pipeline;
  const double parts = in_parts ? static_cast<double>(job.tensor_model_parallel_size) : 1;
  double time_us =
      collective_us({CollectiveKind::kSendRecv, bytes / parts, pipeline_neighbours(job, cluster)}, cluster);
  if (in_parts && !job.sequence_parallel) {
    time_us +=
        collective_us({CollectiveKind::kAllGather, bytes, axis_group(job, cluster, ParallelAxis::kTensor)}, cluster);
  }
  return time_us;
}

/// What one stage did in the whole step.
struct StageSums {
  double compute_us = 0;
  double comm_us = 0;  // exposed, waiting for messages included
  double overlapped_us = 0;
};

/// After the last backward pass of a stage.
struct Tail {
  double reduction_us = 0;   // exposed
  double overlapped_us = 0;  // reduction and gathering beside compute
  double optimizer_us = 0;
  double gather_us = 0;  // exposed
};

/// Collectives of `work` that start while `cover_us` of compute remain: all but the last one can hide.
double covered_us(const KernelWork& work, const Cluster& cluster, double cover_us) {
  const double all_us = kernel_us(work, cluster);
  const double hideable_us = all_us * (1 - 1 / static_cast<double>(work.kernels));
  return std::min(hideable_us, cover_us);
}

/// Tied embeddings on two stages add up their gradients.
double embedding_reduction_us(const Job& job, const Cluster& cluster, int64_t stage) {
  const int64_t last = job.pipeline_model_parallel_size - 1;
  if (job.untie_embeddings_and_output_weights || last == 0 || (stage != 0 && stage != last)) return 0;
  const GroupShape pair = pipeline_neighbours(job, cluster);
  const double bytes = static_cast<double>(word_embedding_parameters(job)) * gradient_bytes(job);
  return collective_us({CollectiveKind::kAllReduce, bytes, pair}, cluster);
}

Tail tail_of(const Job& job, const Cluster& cluster, const EstimateScales& scales, const std::vector<ChunkWork>& chunks,
             int64_t stage) {
  const double parameters = static_cast<double>(stage_parameters(job, stage).total());
  const int64_t buckets = gradient_buckets(job, parameters);
  const KernelWork reduction = gradient_reduction(job, cluster, parameters, buckets);
  double backward_us = 0, forward_us = 0;
  for (const ChunkWork& chunk : chunks) {
    backward_us += chunk.backward.duration_us;
    forward_us += chunk.forward.duration_us;
  }
  Tail tail;
  const double beside_us = job.overlap_grad_reduce ? covered_us(reduction, cluster, backward_us) : 0;
  tail.reduction_us = kernel_us(reduction, cluster) - beside_us + embedding_reduction_us(job, cluster, stage);
  tail.optimizer_us = scales.optimizer * work_times(optimizer_work(job, parameters), cluster).compute_us;
  const KernelWork gather = parameter_gather(job, cluster, parameters, buckets);
  const double gather_beside_us = job.overlap_param_gather ? covered_us(gather, cluster, forward_us) : 0;
  tail.gather_us = kernel_us(gather, cluster) - gather_beside_us;
  tail.overlapped_us = beside_us + gather_beside_us;
  return tail;
}

/// Everything about a stage that does not depend on the others.
struct Stage {
  std::vector<ChunkWork> chunks;
  Tail tail;
};

std::vector<Stage> make_stages(const Job& job, const Cluster& cluster, const EstimateScales& scales) {
  const PassTimes passes = pass_times(job, cluster, scales);
  std::vector<Stage> stages(static_cast<size_t>(job.pipeline_model_parallel_size));
  for (size_t i = 0; i < stages.size(); ++i) {
    for (int64_t chunk = 0; chunk < job.virtual_pipeline_model_parallel_size; ++chunk) {
      stages[i].chunks.push_back(chunk_work(job, cluster, passes, static_cast<int64_t>(i), chunk));
    }
    stages[i].tail = tail_of(job, cluster, scales, stages[i].chunks, static_cast<int64_t>(i));
  }
  return stages;
}

PipelineTimes pipeline_times(const Job& job, const Cluster& cluster, const EstimateScales& scales,
                             const std::vector<Stage>& stages) {
  PipelineTimes times;
  times.num_stages = job.pipeline_model_parallel_size;
  times.num_chunks = job.virtual_pipeline_model_parallel_size;
  times.num_microbatches = job.num_microbatches;
  times.schedule = job.pipeline_schedule;
  times.message_us = message_us(job, cluster);
  if (job.pipeline_model_parallel_size > 1 && !job.overlap_p2p_comm) times.message_us += scales.message_host_us;
  times.message_blocks_sender = !job.overlap_p2p_comm;
  for (const Stage& stage : stages) {
    for (const ChunkWork& chunk : stage.chunks) {
      times.forward_us.push_back(chunk.forward.duration_us);
      times.backward_us.push_back(chunk.backward.duration_us);
    }
  }
  return times;
}

/// GPU time of a stage by kind over the whole step.
StageSums sum_up(const Job& job, const Stage& stage, const StageRun& run) {
  StageSums sums;
  for (const ChunkWork& chunk : stage.chunks) {
    for (const WorkTimes* work : {&chunk.forward.work, &chunk.backward.work}) {
      const double times = static_cast<double>(job.num_microbatches);
      sums.compute_us += times * (work->compute_us - work->overlapped_us);
      sums.comm_us += times * work->comm_us;
      sums.overlapped_us += times * work->overlapped_us;
    }
  }
  sums.compute_us += stage.tail.optimizer_us - stage.tail.overlapped_us;
  sums.overlapped_us += stage.tail.overlapped_us;
  sums.comm_us += run.message_us + run.waiting_us + stage.tail.reduction_us + stage.tail.gather_us;
  return sums;
}

void fill_times(const Job& job, const Cluster& cluster, const EstimateScales& scales, const std::vector<Stage>& stages,
                Estimate& result) {
  const std::vector<StageRun> runs = run_pipeline(pipeline_times(job, cluster, scales, stages));
  double reduced_us = 0, update_us = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    const Tail& tail = stages[i].tail;
    // The gradient norm is agreed by all ranks between reduction and update.
    reduced_us = std::max(reduced_us, runs[i].end_us + tail.reduction_us);
    update_us = std::max(update_us, tail.optimizer_us + tail.gather_us);
    result.pipeline_ms = std::max(result.pipeline_ms, runs[i].end_us / 1e3);
    result.gradient_reduction_ms = std::max(result.gradient_reduction_ms, tail.reduction_us / 1e3);
  }
  result.optimizer_ms = update_us / 1e3;
  const double step_us = reduced_us + update_us + cluster.host.step_us;
  result.step_ms = step_us / 1e3;
  const double share = 1.0 / static_cast<double>(stages.size()) / 1e3;
  for (size_t i = 0; i < stages.size(); ++i) {
    StageSums sums = sum_up(job, stages[i], runs[i]);
    // A stage that reaches the agreement early waits for the others inside its collective.
    sums.comm_us += reduced_us - runs[i].end_us - stages[i].tail.reduction_us;
    result.breakdown.exposed_compute_ms += sums.compute_us * share;
    result.breakdown.overlapped_ms += sums.overlapped_us * share;
    result.breakdown.exposed_comm_ms += sums.comm_us * share;
    result.breakdown.other_ms += (step_us - sums.compute_us - sums.overlapped_us - sums.comm_us) * share;
    result.pipeline_wait_ms += runs[i].waiting_us * share;
  }
}

/// Collectives beside compute stay hidden as far as there is compute to hide them.
void scale_part(WorkTimes& times, const EstimateScales::Part& part) {
  times.compute_us *= part.compute;
  times.overlapped_us = std::min(times.overlapped_us, times.compute_us);
  times.launches *= part.host;
}

void scale_all(Estimate& result, double factor) {
  StepBreakdown& parts = result.breakdown;
  for (double* time_ms :
       {&result.step_ms, &parts.exposed_compute_ms, &parts.overlapped_ms, &parts.exposed_comm_ms, &parts.other_ms,
        &result.pipeline_ms, &result.pipeline_wait_ms, &result.gradient_reduction_ms, &result.optimizer_ms}) {
    *time_ms *= factor;
  }
}

}  // namespace

PassTimes pass_times(const Job& job, const Cluster& cluster, const EstimateScales& scales) {
  const LayerWork layer = transformer_layer_work(job, cluster);
  const LayerWork embedding = embedding_work(job, cluster);
  const LayerWork head = head_work(job, cluster);
  PassTimes times{work_times(layer.forward, cluster),     work_times(layer.backward, cluster),
                  work_times(embedding.forward, cluster), work_times(embedding.backward, cluster),
                  work_times(head.forward, cluster),      work_times(head.backward, cluster)};
  if (job.recompute_granularity == Recompute::kSelective) {
    times.layer_backward += work_times(attention_core_work(job), cluster);
  } else if (job.recompute_granularity == Recompute::kFull) {
    times.layer_backward += times.layer_forward * recomputed_share(job);
  }
  scale_part(times.layer_forward, scales.layer_forward);
  scale_part(times.layer_backward, scales.layer_backward);
  for (WorkTimes* pass : {&times.embedding_forward, &times.embedding_backward}) scale_part(*pass, scales.embedding);
  for (WorkTimes* pass : {&times.head_forward, &times.head_backward}) scale_part(*pass, scales.head);
  return times;
}

Result<Estimate> estimate(const Job& job, const Cluster& cluster, const EstimateScales& scales) {
  const int64_t available = cluster.num_nodes * cluster.gpus_per_node;
  if (available > 0 && job.world_size > available) {
    return fail(ErrorKind::kUsage, "world_size {} is more than the {} GPUs of cluster {}", job.world_size, available,
                cluster.name);
  }
  Estimate result;
  fill_times(job, cluster, scales, make_stages(job, cluster, scales), result);
  scale_all(result, scales.step);
  const double step_s = result.step_ms / 1e3;
  result.tokens_per_s = static_cast<double>(job.global_batch_size * job.seq_length) / step_s;
  result.tflops_per_gpu = tflops_per_gpu(job, result.step_ms);
  result.mfu_pct = 100 * result.tflops_per_gpu / cluster.gpu.matrix_tflops;
  result.hfu_pct = result.mfu_pct * hardware_flops(job) / model_flops(job);
  result.memory = stage_memory(job);
  result.shortage = memory_shortage(result.memory, cluster);
  return result;
}

double step_lower_bound_ms(const Job& job, const Cluster& cluster, const EstimateScales& scales) {
  const std::vector<Stage> stages = make_stages(job, cluster, scales);
  const std::vector<double> ends_us = pipeline_end_bounds_us(pipeline_times(job, cluster, scales, stages));
  double reduced_us = 0, update_us = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    const Tail& tail = stages[i].tail;
    reduced_us = std::max(reduced_us, ends_us[i] + tail.reduction_us);
    update_us = std::max(update_us, tail.optimizer_us + tail.gather_us);
  }
  return (reduced_us + update_us + cluster.host.step_us) / 1e3 * scales.step;
}

}  // namespace lumos
