#include "lumos/program/synth/synthesize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "lumos/model/kernels/elementwise.h"
#include "lumos/plan/layer_work.h"
#include "lumos/plan/make_plan.h"
#include "lumos/plan/ops/layout.h"
#include "lumos/plan/optimizer.h"
#include "lumos/plan/parameters.h"
#include "lumos/program/lower/plan.h"
#include "lumos/program/synth/synthetic_buckets.h"

namespace lumos {
namespace {

constexpr int kFirstStep = 1;
constexpr int64_t kTokenBytes = 8;  // int64 ids

/// One GPU's step, written down in program order.
class StepWriter {
 public:
  StepWriter(const Job& job, const Cluster& cluster, int64_t rank, const std::vector<Action>& schedule)
      : job_(job),
        cluster_(cluster),
        rank_(rank),
        stage_(position_of(job, rank)[Dimension::kPipeline]),
        schedule_(schedule),
        plan_(plan_of(job, cluster.gpus_per_node)),
        write_(job, plan_, cluster, rank),
        layer_(layer_work(plan_.layer, plan_)),
        embedding_(layer_work(plan_.embedding, plan_)),
        head_(layer_work(plan_.head, plan_)),
        layers_(layers_per_chunk(job)),
        parameters_(static_cast<double>(stage_parameters(job, plan_, stage_).total())),
        buckets_(job, plan_, stage_, write_) {}

  void step(int index) {
    step_ = static_cast<int16_t>(index);
    block(BlockRole::kInit, {Phase::kInit, step_});
    recorder().open(Place::kMain, EventKind::kAnnotation, fmt::format("ProfilerStep#{}", kFirstStep + index));
    recorder().begin_gpu_annotation(Place::kCompute, fmt::format("ProfilerStep#{}", kFirstStep + index));
    recorder().work(Place::kMain, write_.launch_ns());
    load_batch();
    zero_gradients();
    for (const Action& action : schedule_) {
      switch (action.kind) {
        case ActionKind::kForward:
          forward_pass(action.microbatch, action.chunk);
          break;
        case ActionKind::kBackward:
          backward_pass(action.microbatch, action.chunk);
          break;
        case ActionKind::kExchange:
          exchange(action);
          break;
      }
    }
    synchronize_gradients();
    optimize();
    log_loss();
    recorder().synchronize_device(Place::kMain, write_.call_ns());
    recorder().end_gpu_annotation(Place::kCompute);
    recorder().close(Place::kMain);
    flights_.clear();
    buckets_.end_step();
  }

  RankRecorder& recorder() { return write_.recorder(); }
  WorkWriter& writer() { return write_; }

 private:
  /// Autograd's numbers of one forward pass, until its backward.
  struct Flight {
    SequenceNumbers embedding, head;
    std::vector<SequenceNumbers> layers;
    std::vector<int64_t> checkpoints;  ///< -1: the layer is not checkpointed as a whole
  };

  void block(BlockRole role, const Label& label) { recorder().begin_block(role, label); }
  bool is_first_piece(int chunk) const { return stage_ == 0 && chunk == 0; }
  bool is_last_piece(int chunk) const {
    return stage_ + 1 == job_.pipeline_model_parallel_size && chunk + 1 == job_.virtual_pipeline_model_parallel_size;
  }
  int virtual_stage(int chunk) const {
    return chunk * static_cast<int>(job_.pipeline_model_parallel_size) + static_cast<int>(stage_);
  }
  int64_t first_layer(int chunk) const { return virtual_stage(chunk) * layers_; }
  bool is_recomputed(int64_t layer_of_chunk) const {
    if (job_.recompute_granularity != Recompute::kFull) return false;
    return job_.recompute_method == RecomputeMethod::kUniform || layer_of_chunk < job_.recompute_num_layers;
  }
  const RankGroup& group(GroupKind kind) const { return write_.groups()[static_cast<size_t>(kind)]; }
  int64_t kernel_ns(double us) const { return std::max<int64_t>(kStreamGapNs, std::llround(us * 1e3) - kStreamGapNs); }

  void move(std::string_view outer, std::string_view inner, EventKind kind, std::string_view kernel, double bytes,
            double us) {
    GpuWorkItem item;
    item.kind = kind;
    item.name = kernel;
    item.duration_ns = kernel_ns(us);
    if (kind == EventKind::kKernel) {
      item.detail.grid[0] = static_cast<int32_t>(std::clamp(bytes / 65536, 1.0, 320.0));
      item.detail.block[0] = 512;
      item.detail.grid[1] = item.detail.grid[2] = item.detail.block[1] = item.detail.block[2] = 1;
      item.detail.registers_per_thread = 40;
    } else {
      item.detail.bytes = static_cast<int64_t>(bytes);
    }
    write_.operation(outer, inner, item);
  }

  /// What the host does once per step, with the GPU idle.
  void load_batch() {
    recorder().open(Place::kMain, EventKind::kCpuOp, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
    recorder().work(Place::kMain, std::llround(cluster_.host.step_us * 1e3));
    recorder().close(Place::kMain);
  }

  void zero_gradients() {
    recorder().open(Place::kMain, EventKind::kAnnotation, "zero_grad_buffer");
    const double bytes = parameters_ * plan_.bytes(NumberType::kGradient);
    move("aten::zero_", "", EventKind::kMemset, "Memset (Device)", bytes, elementwise_us(bytes, cluster_.gpu));
    recorder().close(Place::kMain);
  }

  /// Tokens go to the GPU where the model begins, labels where it ends.
  void upload() {
    const auto bytes = static_cast<double>(job_.micro_batch_size * job_.seq_length * kTokenBytes);
    move("aten::to", "aten::copy_", EventKind::kMemcpy, "Memcpy HtoD (Pinned -> Device)", bytes,
         cluster_.gpu.kernel_floor_us);
  }

  void forward_pass(int16_t microbatch, int16_t chunk) {
    const Label label{Phase::kForward, step_, microbatch, chunk, -1};
    Flight& flight = flights_[{microbatch, chunk}];
    const bool first = is_first_piece(chunk), last = is_last_piece(chunk);
    const bool gathers = job_.overlap_param_gather && buckets_.gathers() && microbatch == 0 && chunk == 0;
    block(BlockRole::kForwardEntry, label);
    wait_for_input({microbatch, virtual_stage(chunk) - 1, false});
    if (gathers) buckets_.gather();
    if (first || last) upload();
    if (first) {
      buckets_.wait_for_parameters(0);
      flight.embedding = write_.forward(embedding_.forward);
      end_part(Place::kMain);
    }
    for (int64_t i = 0; i < layers_; ++i) {
      Label own = label;
      own.layer = static_cast<int16_t>(first_layer(chunk) + i);
      block(BlockRole::kForwardLayer, own);
      buckets_.wait_for_parameters(part_of_layer(chunk, i));
      flight.checkpoints.push_back(-1);
      flight.layers.emplace_back();
      if (is_recomputed(i))
        flight.checkpoints.back() = write_.checkpointed_forward(layer_.forward);
      else
        flight.layers.back() = write_.forward(layer_.forward);
      end_part(Place::kMain);
    }
    if (!last) return;
    block(BlockRole::kForwardExit, label);
    buckets_.wait_for_parameters(part_of_head());
    flight.head = write_.forward(head_.forward);
    end_part(Place::kMain);
  }

  void backward_pass(int16_t microbatch, int16_t chunk) {
    const Label label{Phase::kBackward, step_, microbatch, chunk, -1};
    const Flight& flight = flights_.at({microbatch, chunk});
    const bool reduces = job_.overlap_grad_reduce && buckets_.reduces() && microbatch + 1 == job_.num_microbatches;
    block(BlockRole::kBackwardEntry, label);
    wait_for_input({microbatch, virtual_stage(chunk), true});
    recorder().work(Place::kMain, write_.launch_ns());
    recorder().hand_over(Place::kMain, Place::kAutograd);
    if (is_last_piece(chunk)) {
      write_.backward(head_.backward, flight.head);
      end_part(Place::kAutograd);
      if (reduces) buckets_.complete_gradients(part_of_head());
    }
    for (int64_t i = layers_; i-- > 0;) {
      Label own = label;
      own.layer = static_cast<int16_t>(first_layer(chunk) + i);
      block(BlockRole::kBackwardLayer, own);
      const auto index = static_cast<size_t>(i);
      if (flight.checkpoints[index] >= 0)
        write_.checkpointed_backward(layer_.forward, layer_.backward, flight.checkpoints[index]);
      else
        write_.backward(layer_.backward, flight.layers[index]);
      end_part(Place::kAutograd);
      if (reduces) buckets_.complete_gradients(part_of_layer(chunk, i));
    }
    if (is_first_piece(chunk)) {
      block(BlockRole::kBackwardExit, label);
      write_.backward(embedding_.backward, flight.embedding);
      end_part(Place::kAutograd);
      if (reduces) buckets_.complete_gradients(0);
    }
    recorder().hand_over(Place::kAutograd, Place::kMain);
    flights_.erase({microbatch, chunk});
  }

  /// Indexes into stage_parts: the embedding is the first of its stage, the head the last.
  size_t part_of_layer(int chunk, int64_t layer) const {
    return static_cast<size_t>(chunk * layers_ + layer + (stage_ == 0 ? 1 : 0));
  }
  size_t part_of_head() const { return part_of_layer(static_cast<int>(job_.virtual_pipeline_model_parallel_size), 0); }

  /// After an embedding, a layer or a head.
  void end_part(Place thread) {
    if (cluster_.host.runs_ahead == 0) recorder().synchronize_stream(thread, Place::kCompute, write_.call_ns());
  }

  /// Megatron's exchange between stages: all messages of a moment in one kernel, which everything waits for; one by one
  /// where they are to run beside compute.
  void exchange(const Action& action) {
    const Label label{Phase::kP2p, step_, -1, -1, -1};
    const std::vector<Message> messages = messages_of(action);
    std::vector<uint32_t> posted;
    if (!job_.overlap_p2p_comm) {
      block(BlockRole::kExchange, label);
      posted.push_back(write_.batched_exchange(messages, message_bytes(), step_));
    }
    for (size_t i = 0; job_.overlap_p2p_comm && i < messages.size(); ++i) {
      block(BlockRole::kExchange, label);
      posted.push_back(write_.single_message(messages[i], message_bytes(), step_));
      if (!messages[i].send) received_[key_of(messages[i].tensor)] = posted.back();
    }
    if (job_.overlap_p2p_comm) return;
    for (uint32_t recorded : posted) write_.wait_for(Place::kMain, recorded);
    if (job_.batch_p2p_sync) recorder().synchronize_device(Place::kMain, write_.call_ns());
    gather_received(action);
  }

  /// In the order in which they are posted.
  std::vector<Message> messages_of(const Action& action) const {
    std::vector<Message> messages;
    for (bool backward : {false, true}) {
      for (const Tensor& tensor : action.sends)
        if (tensor.backward == backward) messages.push_back({tensor, true, peer_of(tensor, true)});
      for (const Tensor& tensor : action.receives)
        if (tensor.backward == backward) messages.push_back({tensor, false, peer_of(tensor, false)});
    }
    return messages;
  }

  using TensorKey = std::tuple<int, int, bool>;
  static TensorKey key_of(const Tensor& tensor) { return {tensor.microbatch, tensor.virtual_stage, tensor.backward}; }

  /// Before a pass, where messages run beside compute: what it reads must have come.
  void wait_for_input(const TensorKey& tensor) {
    const auto found = received_.find(tensor);
    if (found == received_.end()) return;
    write_.wait_for(Place::kMain, found->second);
    received_.erase(found);
  }

  /// Tensor-parallel ranks that sent a part each put the whole together again.
  void gather_received(const Action& action) {
    if (!plan_.gathers_messages) return;
    const GroupShape shape = group_shape(group(GroupKind::kTensor).ranks, cluster_.gpus_per_node);
    for (size_t i = 0; i < action.receives.size(); ++i) {
      const KernelWork gather{"scatter_gather", Collective{CollectiveKind::kAllGather, activation_bytes(), shape}};
      write_.wait_for(Place::kMain, write_.collective(Place::kMain, GroupKind::kTensor, gather, dtype_name(job_)));
    }
  }

  double activation_bytes() const {
    return static_cast<double>(job_.seq_length * job_.micro_batch_size * job_.hidden_size * element_bytes(job_));
  }
  double message_bytes() const { return term_bytes(plan_, plan_.message); }

  /// The stage at the other end: forward outputs go from their virtual stage to the next, gradients back.
  int32_t peer_of(const Tensor& tensor, bool send) const {
    const int other = tensor.virtual_stage + (tensor.backward != send ? 1 : 0);
    const int64_t stage = other % job_.pipeline_model_parallel_size;
    return static_cast<int32_t>(rank_ + (stage - stage_) * mesh_of(job_).stride(Dimension::kPipeline));
  }

  void synchronize_gradients() {
    block(BlockRole::kGradSync, {Phase::kGradSync, step_});
    if (buckets_.reduces() && !job_.overlap_grad_reduce) buckets_.reduce_all();
    buckets_.wait_for_reduced();
    const RankGroup& ends = group(GroupKind::kEmbedding);
    if (!plan_.sums_tied_embedding || ends.size() < 2) return;
    block(BlockRole::kGradSync, {Phase::kGradSync, step_});
    const double bytes = static_cast<double>(word_embedding_parameters(plan_)) * plan_.bytes(NumberType::kGradient);
    agree("embedding_gradient", GroupKind::kEmbedding, bytes, buckets_.gradient_type());
  }

  /// An all-reduce that the compute stream waits for.
  void agree(std::string_view role, GroupKind kind, double bytes, std::string_view dtype) {
    if (group(kind).size() < 2) return;
    const GroupShape shape = group_shape(group(kind).ranks, cluster_.gpus_per_node);
    const KernelWork work{role, Collective{CollectiveKind::kAllReduce, bytes, shape}};
    write_.wait_for(Place::kMain, write_.collective(Place::kMain, kind, work, dtype));
  }

  /// The host reads one number back.
  void read_back() {
    block(BlockRole::kOptimizer, {Phase::kOptimizer, step_});
    recorder().open(Place::kMain, EventKind::kCpuOp, "aten::item");
    move("aten::_local_scalar_dense", "", EventKind::kMemcpy, "Memcpy DtoH (Device -> Pageable)", 4,
         cluster_.gpu.kernel_floor_us);
    recorder().synchronize_stream(Place::kMain, Place::kCompute, write_.call_ns());
    recorder().close(Place::kMain);
  }

  /// Overflow check, norm and clipping, the update and the copy to the model's parameters: equal passes over the
  /// optimizer's state, see optimizer_work.
  void optimize() {
    const KernelWork passes = optimizer_work(job_, plan_, parameters_).front();
    const double us = kernel_us(passes, cluster_) / static_cast<double>(passes.kernels);
    const double bytes = std::get<ElementwiseWork>(passes.shape).bytes / static_cast<double>(passes.kernels);
    const int64_t launches = passes.kernels / 5;
    const auto pass = [&](std::string_view operation, std::string_view functor) {
      const std::string kernel = fmt::format("void multi_tensor_apply_kernel<{}>", functor);
      for (int64_t i = 0; i < launches; ++i) {
        block(BlockRole::kOptimizer, {Phase::kOptimizer, step_});
        move(operation, "", EventKind::kKernel, kernel, bytes, us);
      }
    };
    recorder().open(Place::kMain, EventKind::kAnnotation, "Optimizer.step#FusedAdam.step");
    const GroupKind everyone = group_kind(plan_.agreement);
    pass("multi_tensor_l2norm", "L2NormFunctor");
    if (job_.params_dtype == ParamsType::kFp16) {
      agree("found_inf", everyone, 4, "Float");
      read_back();
    }
    if (job_.clip_grad > 0) {
      agree("grad_norm", everyone, 4, "Float");
      read_back();
    }
    pass("multi_tensor_scale", "ScaleFunctor");
    pass("multi_tensor_adam", "AdamFunctor");
    pass("multi_tensor_adam", "AdamFunctor");
    pass("multi_tensor_scale", "ScaleFunctor");
    recorder().close(Place::kMain);
    if (!buckets_.gathers() || job_.overlap_param_gather) return;
    block(BlockRole::kOptimizer, {Phase::kOptimizer, step_});
    buckets_.gather();
    buckets_.wait_for_all_parameters();
  }

  void log_loss() {
    block(BlockRole::kLog, {Phase::kLog, step_});
    const bool has_loss = stage_ + 1 == job_.pipeline_model_parallel_size;
    if (has_loss) agree("loss", GroupKind::kData, 4, "Float");
  }

  const Job& job_;
  const Cluster& cluster_;
  int64_t rank_;
  int64_t stage_;
  const std::vector<Action>& schedule_;
  Plan plan_;
  WorkWriter write_;
  LayerWork layer_, embedding_, head_;
  int64_t layers_;     ///< of a chunk
  double parameters_;  ///< of this GPU
  SyntheticBuckets buckets_;
  int16_t step_ = 0;
  std::map<std::pair<int16_t, int16_t>, Flight> flights_;
  std::map<TensorKey, uint32_t> received_;  ///< of messages that a later pass reads
};

TraceInfo info_of(const Job& job, const Cluster& cluster, int64_t rank, const RankGroups& groups) {
  TraceInfo info;
  info.rank = static_cast<int32_t>(rank);
  info.rank_source = TraceInfo::RankSource::kDistributedInfo;
  info.world_size = static_cast<int32_t>(job.world_size);
  info.backend = "nccl";
  info.trace_name = fmt::format("rank{}.json", rank);
  for (const RankGroup& group : groups) {
    if (group.size() < 2) continue;
    info.groups.push_back(
        {fmt::format("{}", group.number), group.description, static_cast<int32_t>(group.size()), group.ranks});
  }
  DeviceProperties device;
  device.name = cluster.gpu.name;
  device.memory_bytes = std::llround(cluster.gpu.memory_gib * 1024 * 1024 * 1024);
  device.num_sms = static_cast<int32_t>(cluster.gpu.sm_count);
  // The same on all data-centre GPUs since 2020.
  device.warp_size = 32;
  device.max_threads_per_sm = 2048;
  device.registers_per_sm = 65536;
  info.devices.push_back(std::move(device));
  return info;
}

}  // namespace

Status check_synthesis(const Job& job) {
  if (job.context_parallel_size > 1 || job.expert_model_parallel_size > 1)
    return fail(ErrorKind::kUsage, "synth: context and expert parallelism have no kernels here; set both to 1");
  if (const auto schedule = make_schedule(schedule_shape(job)); !schedule)
    return tl::unexpected<Error>(schedule.error());
  return {};
}

SyntheticRank synthesize_rank(const Job& job, const Cluster& cluster, int64_t rank, int steps) {
  const auto schedule = make_schedule(schedule_shape(job));
  CHECK(schedule.has_value());
  StepWriter writer(job, cluster, rank, (*schedule)[static_cast<size_t>(position_of(job, rank)[Dimension::kPipeline])]);
  for (int step = 0; step < steps; ++step) writer.step(step);
  SyntheticRank made;
  made.program = writer.recorder().finish(info_of(job, cluster, rank, writer.writer().groups()));
  made.transfers = writer.writer().take_transfers();
  return made;
}

}  // namespace lumos
