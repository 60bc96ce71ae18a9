#include "lumos/program/synth/work_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lumos/graph/host/collective.h"

namespace lumos {
namespace {

/// The stream of a kind of groups.
Place place_of_group(GroupKind kind) {
  constexpr Place kPlaces[] = {Place::kModel,  Place::kData,     Place::kModel,
                               Place::kTensor, Place::kPipeline, Place::kEmbedding};
  const auto index = static_cast<size_t>(kind);
  return index < std::size(kPlaces) ? kPlaces[index] : Place::kOther;
}

constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";
constexpr std::string_view kCheckpoint = "CheckpointFunction";
constexpr int32_t kThreadsPerBlock = 128;

/// Of the host's time per kernel at most this is spent inside the calls; the rest is Python's and the operators'.
constexpr int64_t kLongestLaunchNs = 5'000, kLongestEventCallNs = 1'000;

/// What selective recomputation drops; see plan/layer.
bool is_attention_core(std::string_view role) {
  constexpr std::array<std::string_view, 6> kCore = {"core_attention",    "attention_scores",  "attention_softmax",
                                                     "attention_dropout", "attention_context", "attention_transpose"};
  return std::find(kCore.begin(), kCore.end(), role) != kCore.end();
}

/// A kernel and the gap after it take what the model says.
int64_t kernel_ns(double us) { return std::max<int64_t>(kStreamGapNs, std::llround(us * 1e3) - kStreamGapNs); }

GpuDetail detail_of(const KernelWork& work) {
  GpuDetail detail;
  detail.block[0] = kThreadsPerBlock;
  detail.block[1] = detail.block[2] = 1;
  detail.grid[1] = detail.grid[2] = 1;
  const auto blocks = [](int64_t size, int64_t per_block) {
    return static_cast<int32_t>(std::clamp<int64_t>((size + per_block - 1) / per_block, 1, INT32_MAX));
  };
  if (const auto* gemm = std::get_if<GemmShape>(&work.shape)) {
    detail.grid[0] = blocks(gemm->n, 256);
    detail.grid[1] = blocks(gemm->m, 128);
    detail.grid[2] = static_cast<int32_t>(gemm->batch);
    detail.block[0] = 256;
    detail.registers_per_thread = 168;
    detail.shared_memory_bytes = 98'304;
  } else if (const auto* attention = std::get_if<AttentionShape>(&work.shape)) {
    detail.grid[0] = blocks(attention->query_length, 128);
    detail.grid[1] = static_cast<int32_t>(attention->batch);
    detail.grid[2] = static_cast<int32_t>(attention->heads);
    detail.registers_per_thread = 255;
    detail.shared_memory_bytes = 65'536;
  } else if (const auto* moved = std::get_if<ElementwiseWork>(&work.shape)) {
    constexpr int64_t kBytesPerBlock = kThreadsPerBlock * 32;
    detail.grid[0] = blocks(static_cast<int64_t>(moved->bytes) / std::max<int64_t>(work.kernels, 1), kBytesPerBlock);
    detail.registers_per_thread = 32;
  } else {
    detail.grid[0] = 16;  // channels
    detail.block[0] = 544;
    detail.registers_per_thread = 96;
    detail.shared_memory_bytes = 84'480;
  }
  return detail;
}

std::string dims_text(const KernelWork& work) {
  if (const auto* gemm = std::get_if<GemmShape>(&work.shape)) {
    return gemm->batch > 1 ? fmt::format("[[{0}, {1}, {2}], [{0}, {2}, {3}]]", gemm->batch, gemm->m, gemm->k, gemm->n)
                           : fmt::format("[[{}, {}], [{}, {}]]", gemm->m, gemm->k, gemm->k, gemm->n);
  }
  if (const auto* a = std::get_if<AttentionShape>(&work.shape)) {
    return fmt::format("[[{0}, {1}, {2}, {5}], [{0}, {3}, {4}, {5}], [{0}, {3}, {4}, {5}]]", a->batch, a->query_length,
                       a->heads, a->key_length, a->key_heads, a->head_size);
  }
  return "";
}

}  // namespace

WorkWriter::WorkWriter(const Job& job, const Plan& plan, const Cluster& cluster, int64_t rank)
    : job_(job),
      cluster_(cluster),
      rank_(static_cast<int32_t>(rank)),
      groups_(groups_of_rank(job, rank)),
      attention_core_(plan.repeats == Repeats::kAttentionCore ? kernel_work(plan.repeated(), plan)
                                                              : std::vector<KernelWork>()),
      recorder_(static_cast<int32_t>(rank)),
      part_ns_(std::max<int64_t>(1, std::llround(cluster.host.launch_us * 1e3 / 10))),
      launch_call_ns_(std::min<int64_t>(2 * part_ns_, kLongestLaunchNs)),
      event_call_ns_(std::min<int64_t>(part_ns_, kLongestEventCallNs)) {}

std::vector<WorkWriter::Function> WorkWriter::functions(const std::vector<KernelWork>& work) {
  std::vector<Function> found;
  for (size_t i = 0; i < work.size(); ++i) {
    if (found.empty() || work[found.back().begin].role != work[i].role) found.push_back({i, i});
    found.back().end = i + 1;
  }
  return found;
}

void WorkWriter::by_checkpoint(const std::vector<KernelWork>& work,
                               const std::function<void(size_t, size_t, bool)>& visit) const {
  const auto inside = [&](size_t i) {
    return job_.recompute_granularity == Recompute::kSelective && is_attention_core(work[i].role);
  };
  for (size_t begin = 0; begin < work.size();) {
    size_t end = begin + 1;
    while (end < work.size() && inside(end) == inside(begin)) ++end;
    visit(begin, end, inside(begin));
    begin = end;
  }
}

SequenceNumbers WorkWriter::forward(const std::vector<KernelWork>& work) {
  SequenceNumbers numbers;
  by_checkpoint(work, [&](size_t begin, size_t end, bool checkpointed) {
    if (checkpointed) {
      const std::vector<KernelWork> core(work.begin() + static_cast<std::ptrdiff_t>(begin),
                                         work.begin() + static_cast<std::ptrdiff_t>(end));
      numbers.emplace_back(kCheckpoint, checkpointed_forward(core));
      return;
    }
    const SequenceNumbers own = forward_functions(Place::kMain, work, begin, end, true);
    numbers.insert(numbers.end(), own.begin(), own.end());
  });
  return numbers;
}

int64_t WorkWriter::checkpointed_forward(const std::vector<KernelWork>& work) {
  OpDetail detail;
  detail.sequence = next_number(Place::kMain)++;
  recorder_.open(Place::kMain, EventKind::kCpuOp, kCheckpoint, detail);
  recorder_.flow(Place::kMain, detail.sequence, true);
  forward_functions(Place::kMain, work, 0, work.size(), false);
  recorder_.close(Place::kMain);
  return detail.sequence;
}

SequenceNumbers WorkWriter::forward_functions(Place thread, const std::vector<KernelWork>& work, size_t begin,
                                              size_t end, bool numbered) {
  SequenceNumbers numbers;
  for (const Function& function : functions(work)) {
    if (function.begin < begin || function.begin >= end) continue;
    const std::string_view role = work[function.begin].role;
    OpDetail detail;
    if (numbered) detail.sequence = next_number(thread)++;
    detail.input_dims = recorder_.intern(dims_text(work[function.begin]));
    recorder_.open(thread, EventKind::kCpuOp, operator_names(role, job_).forward, detail);
    if (numbered && thread == Place::kMain) recorder_.flow(thread, detail.sequence, true);
    body(thread, work, function, false);
    recorder_.close(thread);
    numbers.emplace_back(role, detail.sequence);
  }
  return numbers;
}

void WorkWriter::backward(const std::vector<KernelWork>& work, const SequenceNumbers& numbers) {
  by_checkpoint(work, [&](size_t begin, size_t end, bool checkpointed) {
    if (!checkpointed) return backward_functions(work, begin, end, numbers);
    const auto own = std::find_if(numbers.begin(), numbers.end(), [](const auto& n) { return n.first == kCheckpoint; });
    const std::vector<KernelWork> core(work.begin() + static_cast<std::ptrdiff_t>(begin),
                                       work.begin() + static_cast<std::ptrdiff_t>(end));
    checkpointed_backward(attention_core_, core, own == numbers.end() ? -1 : own->second);
  });
}

void WorkWriter::checkpointed_backward(const std::vector<KernelWork>& recomputed, const std::vector<KernelWork>& work,
                                       int64_t number) {
  constexpr Place kThread = Place::kAutograd;
  OpDetail detail;
  detail.sequence = number;
  recorder_.open(kThread, EventKind::kCpuOp, fmt::format("{}{}Backward", kEngine, kCheckpoint), detail);
  recorder_.flow(kThread, number, false);
  recorder_.open(kThread, EventKind::kCpuOp, fmt::format("{}Backward", kCheckpoint), detail);
  const SequenceNumbers numbers = forward_functions(kThread, recomputed, 0, recomputed.size(), true);
  backward_functions(work, 0, work.size(), numbers);
  recorder_.close(kThread);
  recorder_.close(kThread);
}

void WorkWriter::backward_functions(const std::vector<KernelWork>& work, size_t begin, size_t end,
                                    const SequenceNumbers& numbers) {
  constexpr Place kThread = Place::kAutograd;
  for (const Function& function : functions(work)) {
    if (function.begin < begin || function.begin >= end) continue;
    const std::string_view role = work[function.begin].role;
    const std::string_view name = operator_names(role, job_).backward;
    const auto own = std::find_if(numbers.begin(), numbers.end(), [&](const auto& n) { return n.first == role; });
    OpDetail detail;
    if (own != numbers.end()) detail.sequence = own->second;
    recorder_.open(kThread, EventKind::kCpuOp, fmt::format("{}{}", kEngine, name), detail);
    if (detail.sequence >= 0) recorder_.flow(kThread, detail.sequence, false);
    recorder_.open(kThread, EventKind::kCpuOp, name, detail);
    body(kThread, work, function, true);
    recorder_.close(kThread);
    recorder_.close(kThread);
  }
}

/// The kernels of one function. A collective beside compute is waited for after the next product.
void WorkWriter::body(Place thread, const std::vector<KernelWork>& work, Function function, bool backward) {
  std::vector<uint32_t> beside;
  int gemms = 0;
  for (size_t i = function.begin; i < function.end; ++i) {
    const KernelWork& item = work[i];
    if (is_collective(item)) {
      const uint32_t recorded =
          collective(thread, item, item.role == "cross_entropy" ? std::string_view("Float") : dtype_name(job_));
      if (item.beside_compute)
        beside.push_back(recorded);
      else
        wait_for(thread, recorded);
      continue;
    }
    if (item.kernels == 0) continue;  // a part of the kernel before
    const bool fused = i + 1 < function.end && !is_collective(work[i + 1]) && work[i + 1].kernels == 0;
    kernels(thread, item, fused ? kernel_us(work[i + 1], cluster_) : 0, backward, gemms);
    if (!std::holds_alternative<GemmShape>(item.shape)) continue;
    ++gemms;
    for (uint32_t recorded : beside) wait_for(thread, recorded);
    beside.clear();
  }
  for (uint32_t recorded : beside) wait_for(thread, recorded);
}

void WorkWriter::kernels(Place thread, const KernelWork& work, double more_us, bool backward, int gemms_before) {
  const OperatorNames names = operator_names(work.role, job_);
  const auto* gemm = std::get_if<GemmShape>(&work.shape);
  const GemmLayout layout = !backward          ? GemmLayout::kForward
                            : gemms_before % 2 ? GemmLayout::kWeightGradient
                                               : GemmLayout::kInputGradient;
  const std::string kernel = gemm ? gemm_kernel_name(job_, layout, gemm->batch > 1)
                                  : std::string(backward ? names.backward_kernel : names.forward_kernel);
  GpuWorkItem item;
  item.name = kernel;
  item.duration_ns = kernel_ns((kernel_us(work, cluster_) + more_us) / static_cast<double>(work.kernels));
  item.detail = detail_of(work);
  OpDetail dims;
  dims.input_dims = recorder_.intern(dims_text(work));
  const std::string_view launcher = gemm       ? (gemm->batch > 1 ? "aten::bmm" : "aten::mm")
                                    : backward ? names.backward_launcher
                                               : names.forward_launcher;
  for (int64_t k = 0; k < work.kernels; ++k) {
    recorder_.work(thread, 3 * part_ns_);
    if (!launcher.empty()) recorder_.open(thread, EventKind::kCpuOp, launcher, dims);
    recorder_.work(thread, 2 * part_ns_);
    recorder_.launch(thread, Place::kCompute, item, {"cudaLaunchKernel", launch_call_ns_});
    recorder_.work(thread, part_ns_);
    if (!launcher.empty()) recorder_.close(thread);
    recorder_.work(thread, 4 * part_ns_ - launch_call_ns_);
  }
}

void WorkWriter::operation(std::string_view outer, std::string_view inner, const GpuWorkItem& item) {
  const std::string_view call = item.kind == EventKind::kMemset   ? "cudaMemsetAsync"
                                : item.kind == EventKind::kMemcpy ? "cudaMemcpyAsync"
                                                                  : "cudaLaunchKernel";
  recorder_.open(Place::kMain, EventKind::kCpuOp, outer);
  recorder_.work(Place::kMain, 3 * part_ns_);
  if (!inner.empty()) recorder_.open(Place::kMain, EventKind::kCpuOp, inner);
  recorder_.work(Place::kMain, 2 * part_ns_);
  recorder_.launch(Place::kMain, Place::kCompute, item, {call, launch_call_ns_});
  recorder_.work(Place::kMain, part_ns_);
  if (!inner.empty()) recorder_.close(Place::kMain);
  recorder_.work(Place::kMain, 4 * part_ns_ - launch_call_ns_);
  recorder_.close(Place::kMain);
}

CollectiveDetail WorkWriter::group_detail(const RankGroup& group, std::string_view dtype) {
  CollectiveDetail detail;
  detail.dtype = recorder_.intern(dtype);
  detail.group_name = recorder_.intern(fmt::format("{}", group.number));
  detail.group_desc = recorder_.intern(group.description);
  detail.group_ranks = recorder_.intern(ranks_text(group.ranks));
  detail.in_split = detail.out_split = recorder_.intern("[]");
  detail.group_size = static_cast<int32_t>(group.size());
  return detail;
}

uint32_t WorkWriter::collective(Place thread, GroupKind kind, const KernelWork& work, std::string_view dtype) {
  const auto& shape = std::get<Collective>(work.shape);
  const RankGroup& group = groups_[static_cast<size_t>(kind)];
  const CollectiveNames names = collective_names(shape.kind, dtype);
  const double element = dtype == "Float" ? 4 : dtype == "Long" ? 8 : static_cast<double>(element_bytes(job_));
  const auto elements = std::max<int64_t>(1, static_cast<int64_t>(shape.bytes / element));
  CollectiveDetail detail = group_detail(group, dtype);
  detail.collective = recorder_.intern(names.metadata);
  detail.in_elements = shape.kind == CollectiveKind::kAllGather ? elements / group.size() : elements;
  detail.out_elements = shape.kind == CollectiveKind::kReduceScatter ? elements / group.size() : elements;
  KernelWork one = work;
  one.kernels = 1;
  GpuWorkItem item;
  item.name = names.kernel;
  // Ranks do not arrive together: what the last one is expected to be late is part of it.
  item.duration_ns = kernel_ns(work_times({one}, cluster_).comm_us + work_times({one}, cluster_).overlapped_us);
  item.detail = detail_of(work);
  item.detail.collective = recorder_.add_collective(detail);
  item.communicates = true;
  item.annotation = names.annotation;

  const Place stream = place_of_group(kind);
  OpDetail comms;
  comms.collective = item.detail.collective;
  recorder_.open(thread, EventKind::kCpuOp, names.operation);
  recorder_.work(thread, part_ns_);
  recorder_.open(thread, EventKind::kCpuOp, "record_param_comms", comms);
  recorder_.work(thread, part_ns_);
  recorder_.wait(thread, stream, recorder_.record(thread, Place::kCompute, event_call_ns_), event_call_ns_);
  recorder_.open(thread, EventKind::kAnnotation, names.annotation);
  recorder_.work(thread, part_ns_);
  note(recorder_.launch(thread, stream, item, {"cudaLaunchKernelExC", launch_call_ns_}), kind, item.duration_ns);
  recorder_.close(thread);
  const uint32_t recorded = recorder_.record(thread, stream, event_call_ns_);
  recorder_.close(thread);
  // With the wait that follows, a collective costs the host what any kernel does.
  recorder_.work(thread, 7 * part_ns_ - launch_call_ns_ - 4 * event_call_ns_);
  recorder_.close(thread);
  return recorded;
}

void WorkWriter::note(uint32_t row, GroupKind kind, int64_t duration_ns) {
  SyntheticTransfer transfer;
  transfer.block = recorder_.blocks() - 1;
  transfer.row = row;
  transfer.duration_ns = duration_ns;
  transfer.group = groups_[static_cast<size_t>(kind)].number;
  transfer.ordinal = ordinal_[static_cast<size_t>(kind)]++;
  transfers_.push_back(transfer);
}

int64_t WorkWriter::message_ns(double bytes, int32_t peer) const {
  const GroupShape shape = group_shape(std::vector<int32_t>{rank_, peer}, cluster_.gpus_per_node);
  return kernel_ns(collective_us({CollectiveKind::kSendRecv, bytes, shape}, cluster_));
}

/// A kernel of point-to-point transfers; `names` must outlive it.
GpuWorkItem WorkWriter::message_item(const CollectiveNames& names, int64_t duration_ns) const {
  GpuWorkItem item;
  item.name = names.kernel;
  item.duration_ns = duration_ns;
  item.detail = detail_of({"", Collective{}});
  item.detail.grid[0] = 4;
  item.communicates = true;
  return item;
}

void WorkWriter::note_message(uint32_t row, const Message& message, int64_t duration_ns, int64_t step) {
  SyntheticTransfer transfer;
  transfer.block = recorder_.blocks() - 1;
  transfer.row = row;
  transfer.duration_ns = duration_ns;
  transfer.group = groups_[static_cast<size_t>(GroupKind::kPipeline)].number;
  transfer.ordinal = step;
  transfer.is_message = true;
  transfer.sends = message.send;
  transfer.receives = !message.send;
  transfer.tensor = message.tensor;
  transfers_.push_back(transfer);
}

uint32_t WorkWriter::batched_exchange(const std::vector<Message>& messages, double bytes, int64_t step) {
  constexpr Place kThread = Place::kMain;
  const CollectiveNames names = collective_names(CollectiveKind::kSendRecv, dtype_name(job_));
  // Each direction shares a link.
  int64_t sent_ns = 0, received_ns = 0;
  for (const Message& message : messages) (message.send ? sent_ns : received_ns) += message_ns(bytes, message.peer);
  GpuWorkItem item = message_item(names, std::max(sent_ns, received_ns));
  item.annotation = "nccl:coalesced";
  for (const Message& message : messages) {
    recorder_.open(kThread, EventKind::kCpuOp, message.send ? "c10d::send" : "c10d::recv_");
    recorder_.work(kThread, 2 * part_ns_);
    recorder_.close(kThread);
  }
  recorder_.open(kThread, EventKind::kAnnotation, item.annotation);
  recorder_.wait(kThread, Place::kPipeline, recorder_.record(kThread, Place::kCompute, event_call_ns_), event_call_ns_);
  const uint32_t row = recorder_.launch(kThread, Place::kPipeline, item, {"cudaLaunchKernelExC", launch_call_ns_});
  const uint32_t recorded = recorder_.record(kThread, Place::kPipeline, event_call_ns_);
  recorder_.close(kThread);
  for (const Message& message : messages) note_message(row, message, message_ns(bytes, message.peer), step);
  return recorded;
}

uint32_t WorkWriter::single_message(const Message& message, double bytes, int64_t step) {
  constexpr Place kThread = Place::kMain;
  const Place stream = message.send ? (message.tensor.backward ? Place::kSendBackward : Place::kSendForward)
                                    : (message.tensor.backward ? Place::kReceiveBackward : Place::kReceiveForward);
  const CollectiveNames names = collective_names(CollectiveKind::kSendRecv, dtype_name(job_));
  CollectiveDetail detail = group_detail(groups_[static_cast<size_t>(GroupKind::kPipeline)], dtype_name(job_));
  detail.collective = recorder_.intern(message.send ? "send" : "recv");
  detail.in_elements = detail.out_elements = static_cast<int64_t>(bytes) / element_bytes(job_);
  detail.src_rank = message.send ? rank_ : message.peer;
  detail.dst_rank = message.send ? message.peer : rank_;
  GpuWorkItem item = message_item(names, message_ns(bytes, message.peer));
  item.detail.collective = recorder_.add_collective(detail);
  item.annotation = message.send ? "nccl:send" : "nccl:recv";
  OpDetail comms;
  comms.collective = item.detail.collective;
  recorder_.open(kThread, EventKind::kCpuOp, message.send ? "c10d::send" : "c10d::recv_");
  recorder_.work(kThread, 2 * part_ns_);
  recorder_.open(kThread, EventKind::kCpuOp, "record_param_comms", comms);
  recorder_.wait(kThread, stream, recorder_.record(kThread, Place::kCompute, event_call_ns_), event_call_ns_);
  recorder_.open(kThread, EventKind::kAnnotation, item.annotation);
  const uint32_t row = recorder_.launch(kThread, stream, item, {"cudaLaunchKernelExC", launch_call_ns_});
  recorder_.close(kThread);
  const uint32_t recorded = recorder_.record(kThread, stream, event_call_ns_);
  recorder_.close(kThread);
  recorder_.close(kThread);
  note_message(row, message, item.duration_ns, step);
  return recorded;
}

}  // namespace lumos
