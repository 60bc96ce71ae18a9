#include "lumos/plan/estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lumos/plan/buckets.h"
#include "lumos/plan/flops.h"
#include "lumos/plan/layer_work.h"
#include "lumos/plan/make_plan.h"
#include "lumos/plan/ops/layout.h"
#include "lumos/plan/optimizer.h"
#include "lumos/plan/parameters.h"
#include "lumos/plan/pipeline.h"

namespace lumos {
namespace {

/// Before a backward pass: autograd's engine is called, and runs on a thread of its own.
LaunchedWork engine_call(const Cluster& cluster) { return {cluster.host.launch_us + 2 * kThreadWakeUs, 0, 0}; }

/// Passes of one stage and chunk.
struct ChunkWork {
  WorkTimes forward, backward;
};

ChunkWork chunk_work(const Job& job, const Cluster& cluster, const PassTimes& passes, int64_t stage, int64_t chunk) {
  const double layers = static_cast<double>(layers_per_chunk(job));
  const int64_t piece = chunk * job.pipeline_model_parallel_size + stage;
  const bool first = piece == 0, last = piece + 1 == num_chunks(job);
  ChunkWork work;
  if (first) work.forward += passes.embedding_forward;
  work.forward += passes.layer_forward * layers;
  if (last) work.forward += passes.head_forward;
  work.backward.launched = engine_call(cluster);
  if (last) work.backward += passes.head_backward;
  work.backward += passes.layer_backward * layers;
  if (first) work.backward += passes.embedding_backward;
  return work;
}

void set_messages(const Job& job, const Plan& plan, const Cluster& cluster, const EstimateScales& scales,
                  PipelineTimes& times) {
  const Mesh& mesh = plan.layout.dense;
  const int64_t stages = mesh.size(Dimension::kPipeline);
  if (stages == 1) return times.message_us.push_back(0);
  for (int64_t stage = 0; stage < stages; ++stage) {
    const Collective message{CollectiveKind::kSendRecv, term_bytes(plan, plan.message), stage_border(mesh, stage)};
    times.message_us.push_back(collective_us(message, cluster));
  }
  if (plan.gathers_messages) {
    const GroupShape group = mesh.shape(Dimension::kTensor);
    const double whole = term_bytes(plan, plan.message) * static_cast<double>(group.size);
    times.after_message_us = collective_us({CollectiveKind::kAllGather, whole, group}, cluster);
  }
  times.exchange_blocks = !job.overlap_p2p_comm;
  times.host_waits = job.batch_p2p_sync;
  const bool traced = scales.message_host_us > 0 && times.exchange_blocks;
  times.exchange_host_us = traced ? scales.message_host_us : cluster.host.launch_us;
}

/// What one stage did in the whole step.
struct StageSums {
  double compute_us = 0;
  double comm_us = 0;  // exposed, waiting for messages included
  double overlapped_us = 0;
};

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

/// What a stage does besides its passes.
struct Tail {
  double reduction_us = 0;              ///< of all gradients
  double last_bucket_us = 0;            ///< of those that the last pass completes
  double embedding_us = 0;              ///< of the tied embedding's gradients
  double update_us = 0;                 ///< from the reduction's end to the step's
  double optimizer_us = 0;              ///< GPU time in it
  double gather_us = 0;                 ///< exposed in it
  double agree_us = 0;                  ///< exposed in it, on norms and overflows
  std::vector<BesideBackward> reduced;  ///< by chunk
  std::vector<BesideForward> gathered;  ///< by chunk
};

/// Tied embeddings on two stages add up their gradients.
double embedding_reduction_us(const Plan& plan, const Cluster& cluster, int64_t stage) {
  const Mesh& mesh = plan.layout.dense;
  const int64_t last = mesh.size(Dimension::kPipeline) - 1;
  if (!plan.sums_tied_embedding || (stage != 0 && stage != last)) return 0;
  const double bytes = static_cast<double>(word_embedding_parameters(plan)) * plan.bytes(NumberType::kGradient);
  return collective_us({CollectiveKind::kAllReduce, bytes, mesh.pair(Dimension::kPipeline, 0, last)}, cluster);
}

/// Agreeing with all others on the gradients' norm or on an overflow, and reading it back.
double agreement_us(const Plan& plan, const Cluster& cluster) {
  const KernelWork sum{"grad_norm", Collective{CollectiveKind::kAllReduce, 4, plan.layout.dense.shape(plan.agreement)}};
  return work_times({sum}, cluster).comm_us + cluster.gpu.kernel_floor_us + kSyncReturnUs;
}

/// Of each bucket.
std::vector<double> exchange_us(const Plan& plan, const Cluster& cluster, const std::vector<Bucket>& buckets,
                                const ParameterExchange& exchange) {
  std::vector<double> times_us;
  for (const Bucket& bucket : buckets) {
    const KernelWork work = exchange_work(plan, exchange, static_cast<double>(bucket.parameters));
    times_us.push_back(work_times({work}, cluster).comm_us);
  }
  return times_us;
}

/// The norm, agreements, the update, and the gathering of parameters unless the next step does it.
void set_update(const Job& job, const Plan& plan, const Cluster& cluster, const EstimateScales& scales,
                double parameters, const std::vector<Bucket>& buckets, Tail& tail) {
  const WorkTimes passes = work_times(optimizer_work(job, plan, parameters), cluster, {scales.optimizer, 1});
  const double agreements = (job.params_dtype == ParamsType::kFp16 ? 1 : 0) + (job.clip_grad > 0 ? 1 : 0);
  tail.optimizer_us = passes.compute_us;
  tail.agree_us = agreements * agreement_us(plan, cluster);
  for (const ParameterExchange& gather : plan.gathers)
    if (gather.when == ExchangeMoment::kAfterUpdate)
      tail.gather_us += sum_of(exchange_us(plan, cluster, buckets, gather));
  // Having agreed, the host begins to launch anew.
  const double passes_us = agreements > 0 ? passes.launched.idle_us : passes.compute_us;
  tail.update_us = tail.agree_us + passes_us + tail.gather_us;
}

/// One part of a stage's model in the order of the forward pass.
struct Part {
  double forward_us = 0;
  LaunchedWork backward;
  size_t chunk = 0;
};

std::vector<Part> parts_of(const Job& job, const Plan& plan, const PassTimes& passes, int64_t stage) {
  std::vector<Part> parts;
  for (const StagePart& part : stage_parts(job, plan, stage)) {
    const auto chunk = static_cast<size_t>(part.chunk);
    switch (part.kind) {
      case StagePart::Kind::kEmbedding:
        parts.push_back({passes.embedding_forward.gpu_us(), passes.embedding_backward.launched, chunk});
        break;
      case StagePart::Kind::kLayer:
        parts.push_back({passes.layer_forward.gpu_us(), passes.layer_backward.launched, chunk});
        break;
      case StagePart::Kind::kHead:
        parts.push_back({passes.head_forward.gpu_us(), passes.head_backward.launched, chunk});
        break;
    }
  }
  return parts;
}

/// Buckets are gathered one after the other from the first pass on, in the order of their parts; a part of the model
/// waits for those that hold it.
std::vector<BesideForward> beside_forward(const std::vector<Part>& parts, const std::vector<Bucket>& buckets,
                                          const std::vector<double>& gather_us, size_t chunks) {
  const std::vector<size_t> order = gather_order(buckets);
  std::vector<BesideForward> beside(chunks, {sum_of(gather_us), 0});
  double gathered_us = 0;
  size_t next = 0;
  for (size_t part = 0; part < parts.size(); ++part) {
    for (; next < order.size() && buckets[order[next]].part <= part; ++next) gathered_us += gather_us[order[next]];
    double& end_us = beside[parts[part].chunk].pass_end_us;
    end_us = std::max(end_us, gathered_us) + parts[part].forward_us;
  }
  return beside;
}

/// A bucket is reduced once the gradients of its parameters are complete, which they are in the last micro-batch, from
/// the model's end to its beginning.
std::vector<BesideBackward> beside_backward(const std::vector<Part>& parts, const LaunchedWork& before,
                                            const std::vector<Bucket>& buckets, const std::vector<double>& reduction_us,
                                            size_t chunks) {
  std::vector<BesideBackward> beside(chunks);
  std::vector<LaunchedWork> done(chunks, before);  // of each chunk's pass
  for (size_t part = parts.size(); part-- > 0;) {
    const size_t chunk = parts[part].chunk;
    done[chunk] += parts[part].backward;
    double now_us = 0;
    for (size_t i = 0; i < buckets.size(); ++i)
      if (buckets[i].part == part) now_us += reduction_us[i];
    if (now_us == 0) continue;
    BesideBackward& own = beside[chunk];
    own.all_us += now_us;
    own.after_gpu_us = std::max(own.after_gpu_us, done[chunk].gpu_us) + now_us;
    own.after_host_us = std::max(own.after_host_us, done[chunk].idle_us) + now_us;
  }
  return beside;
}

Tail tail_of(const Job& job, const Plan& plan, const Cluster& cluster, const EstimateScales& scales,
             const PassTimes& passes, int64_t stage) {
  const auto chunks = static_cast<size_t>(job.virtual_pipeline_model_parallel_size);
  const std::vector<Bucket> buckets = stage_buckets(job, plan, stage);
  const std::vector<Part> parts = parts_of(job, plan, passes, stage);
  const std::vector<double> reduction_us = exchange_us(plan, cluster, buckets, plan.reduction);
  Tail tail;
  tail.reduction_us = sum_of(reduction_us);
  for (size_t i = 0; i < buckets.size(); ++i)
    if (buckets[i].chunk == 0) tail.last_bucket_us = reduction_us[i];
  tail.embedding_us = embedding_reduction_us(plan, cluster, stage);
  tail.reduced.resize(chunks);
  if (plan.reduction.when == ExchangeMoment::kBesideBackward)
    tail.reduced = beside_backward(parts, engine_call(cluster), buckets, reduction_us, chunks);
  tail.gathered.resize(chunks);
  for (const ParameterExchange& gather : plan.gathers)
    if (gather.when == ExchangeMoment::kBesideForward)
      tail.gathered = beside_forward(parts, buckets, exchange_us(plan, cluster, buckets, gather), chunks);
  set_update(job, plan, cluster, scales, static_cast<double>(stage_parameters(job, plan, stage).total()), buckets,
             tail);
  return tail;
}

/// What of the reduction follows the last backward pass.
double exposed_reduction_us(const Plan& plan, const Tail& tail, const StageRun& run) {
  return plan.reduction.when == ExchangeMoment::kBesideBackward ? std::max(0.0, run.reduced_us - run.end_us)
                                                                : tail.reduction_us;
}

/// Everything about a stage that does not depend on the others.
struct Stage {
  std::vector<ChunkWork> chunks;
  Tail tail;
};

std::vector<Stage> make_stages(const Job& job, const Plan& plan, const Cluster& cluster, const EstimateScales& scales) {
  const PassTimes passes = pass_times(plan, cluster, scales);
  std::vector<Stage> stages(static_cast<size_t>(job.pipeline_model_parallel_size));
  for (size_t i = 0; i < stages.size(); ++i) {
    const auto stage = static_cast<int64_t>(i);
    for (int64_t chunk = 0; chunk < job.virtual_pipeline_model_parallel_size; ++chunk) {
      stages[i].chunks.push_back(chunk_work(job, cluster, passes, stage, chunk));
    }
    stages[i].tail = tail_of(job, plan, cluster, scales, passes, stage);
  }
  return stages;
}

PipelineTimes pipeline_times(const Job& job, const Plan& plan, const Cluster& cluster, const EstimateScales& scales,
                             const std::vector<Stage>& stages) {
  PipelineTimes times;
  times.shape = {job.pipeline_schedule, job.pipeline_model_parallel_size, job.virtual_pipeline_model_parallel_size,
                 job.num_microbatches};
  set_messages(job, plan, cluster, scales, times);
  for (const Stage& stage : stages) {
    for (const ChunkWork& chunk : stage.chunks) {
      times.forward.push_back(chunk.forward.launched);
      times.backward.push_back(chunk.backward.launched);
    }
    times.reduced.insert(times.reduced.end(), stage.tail.reduced.begin(), stage.tail.reduced.end());
    times.gathered.insert(times.gathered.end(), stage.tail.gathered.begin(), stage.tail.gathered.end());
  }
  return times;
}

/// GPU time of a stage by kind over the whole step.
StageSums sum_up(const Job& job, const Stage& stage, const StageRun& run, double reduction_us) {
  StageSums sums;
  for (const ChunkWork& chunk : stage.chunks) {
    for (const WorkTimes* work : {&chunk.forward, &chunk.backward}) {
      const double times = static_cast<double>(job.num_microbatches);
      sums.compute_us += times * (work->compute_us - work->overlapped_us);
      sums.comm_us += times * work->comm_us;
      sums.overlapped_us += times * work->overlapped_us;
    }
  }
  const Tail& tail = stage.tail;
  const double hidden_us = std::max(0.0, tail.reduction_us - reduction_us);
  sums.compute_us += tail.optimizer_us - hidden_us;
  sums.overlapped_us += hidden_us;
  sums.comm_us += run.message_us + run.waiting_us + run.gather_us + reduction_us + tail.embedding_us + tail.agree_us +
                  tail.gather_us;
  return sums;
}

void fill_times(const Job& job, const Plan& plan, const Cluster& cluster, const EstimateScales& scales,
                Estimate& result) {
  const std::vector<Stage> stages = make_stages(job, plan, cluster, scales);
  const std::vector<StageRun> runs = run_pipeline(pipeline_times(job, plan, cluster, scales, stages));
  std::vector<double> reduction_us;
  double reduced_us = 0, update_us = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    const Tail& tail = stages[i].tail;
    reduction_us.push_back(exposed_reduction_us(plan, tail, runs[i]));
    // The gradient norm is agreed by all ranks between reduction and update.
    reduced_us = std::max(reduced_us, runs[i].end_us + reduction_us[i] + tail.embedding_us);
    update_us = std::max(update_us, tail.update_us);
    result.pipeline_ms = std::max(result.pipeline_ms, runs[i].end_us / 1e3);
    result.gradient_reduction_ms = std::max(result.gradient_reduction_ms, (reduction_us[i] + tail.embedding_us) / 1e3);
  }
  result.optimizer_ms = update_us / 1e3;
  const double step_us = reduced_us + update_us + cluster.host.step_us;
  result.step_ms = step_us / 1e3;
  const double share = 1.0 / static_cast<double>(stages.size()) / 1e3;
  for (size_t i = 0; i < stages.size(); ++i) {
    StageSums sums = sum_up(job, stages[i], runs[i], reduction_us[i]);
    // A stage that reaches the agreement early waits for the others inside its collective.
    sums.comm_us += reduced_us - runs[i].end_us - reduction_us[i] - stages[i].tail.embedding_us;
    result.breakdown.exposed_compute_ms += sums.compute_us * share;
    result.breakdown.overlapped_ms += sums.overlapped_us * share;
    result.breakdown.exposed_comm_ms += sums.comm_us * share;
    result.breakdown.other_ms += (step_us - sums.compute_us - sums.overlapped_us - sums.comm_us) * share;
    result.pipeline_wait_ms += runs[i].waiting_us * share;
  }
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

PassTimes pass_times(const Plan& plan, const Cluster& cluster, const EstimateScales& scales) {
  const LayerWork layer = layer_work(plan.layer, plan), embedding = layer_work(plan.embedding, plan);
  const LayerWork head = layer_work(plan.head, plan);
  PassTimes times;
  times.layer_forward = work_times(layer.forward, cluster, scales.layer_forward);
  // What is recomputed runs before what needs it.
  if (plan.repeats != Repeats::kNothing) {
    const std::vector<KernelWork> repeated = kernel_work(plan.repeated(), plan);
    times.layer_backward = work_times(repeated, cluster, scales.layer_backward) * plan.repeated_layers;
  }
  times.layer_backward += work_times(layer.backward, cluster, scales.layer_backward);
  times.embedding_forward = work_times(embedding.forward, cluster, scales.embedding);
  times.embedding_backward = work_times(embedding.backward, cluster, scales.embedding);
  times.head_forward = work_times(head.forward, cluster, scales.head);
  times.head_backward = work_times(head.backward, cluster, scales.head);
  if (cluster.host.runs_ahead == 0) {
    for (WorkTimes* part : {&times.layer_forward, &times.layer_backward, &times.embedding_forward,
                            &times.embedding_backward, &times.head_forward, &times.head_backward}) {
      // The slower of host and GPU, with no lead to hand on.
      const double us = std::max(part->launched.host_us, part->launched.gpu_us);
      part->launched = {0, us, us};
    }
  }
  return times;
}

Result<Estimate> estimate(const Job& job, const Cluster& cluster, const EstimateScales& scales) {
  const int64_t available = cluster.num_nodes * cluster.gpus_per_node;
  if (available > 0 && job.world_size > available) {
    return fail(ErrorKind::kUsage, "world_size {} is more than the {} GPUs of cluster {}", job.world_size, available,
                cluster.name);
  }
  Estimate result;
  const Plan plan = plan_of(job, cluster.gpus_per_node);
  fill_times(job, plan, cluster, scales, result);
  scale_all(result, scales.step);
  const double step_s = result.step_ms / 1e3;
  result.tokens_per_s = tokens_per_step(job) / step_s;
  result.tflops_per_gpu = tflops_per_gpu(job, result.step_ms);
  result.mfu_pct = mfu_pct(job, result.step_ms, cluster.gpu);
  result.hfu_pct = result.mfu_pct * hardware_flops(job) / model_flops(job);
  result.memory = stage_memory(job, plan);
  result.shortage = memory_shortage(result.memory, cluster);
  return result;
}

double step_lower_bound_ms(const Job& job, const Cluster& cluster, const EstimateScales& scales) {
  const Plan plan = plan_of(job, cluster.gpus_per_node);
  const std::vector<Stage> stages = make_stages(job, plan, cluster, scales);
  const std::vector<double> ends_us = pipeline_end_bounds_us(pipeline_times(job, plan, cluster, scales, stages));
  double reduced_us = 0, update_us = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    const Tail& tail = stages[i].tail;
    // The last bucket waits for the last pass.
    const double after_us =
        plan.reduction.when == ExchangeMoment::kBesideBackward ? tail.last_bucket_us : tail.reduction_us;
    reduced_us = std::max(reduced_us, ends_us[i] + after_us + tail.embedding_us);
    update_us = std::max(update_us, tail.update_us);
  }
  return (reduced_us + update_us + cluster.host.step_us) / 1e3 * scales.step;
}

}  // namespace lumos
