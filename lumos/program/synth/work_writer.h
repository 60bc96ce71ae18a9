// Turns kernel lists of plan/layer_work into what a trace shows of them: autograd functions forward and backward, the
// operators inside, launches, and collectives with the event records and waits that PyTorch puts around them. Used by
// program/synth/synthesize, which knows the order of the passes.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "lumos/model/cluster/cluster.h"
#include "lumos/model/kernels/kernel_work.h"
#include "lumos/plan/layer_work.h"
#include "lumos/program/blocks/schedule.h"
#include "lumos/program/facts/process_groups.h"
#include "lumos/program/recover/operator_names.h"
#include "lumos/program/synth/rank_recorder.h"

namespace lumos {

/// A tensor that a kernel sends or receives.
struct Message {
  Tensor tensor;
  bool send = false;
  int32_t peer = 0;  ///< the other rank
};

/// A communication kernel of a synthesized rank, or one message of such a kernel, and what names it on all members.
struct SyntheticTransfer {
  uint32_t block = 0;
  uint32_t row = 0;
  int64_t duration_ns = 0;
  int64_t group = 0;    ///< RankGroup::number
  int64_t ordinal = 0;  ///< how many the group had before; of messages: the step
  bool is_message = false;
  bool sends = true;  ///< messages go one way
  bool receives = true;
  Tensor tensor;  ///< of messages
};

/// Autograd's numbers of the operators of one forward list, by role.
using SequenceNumbers = std::vector<std::pair<std::string_view, int64_t>>;

class WorkWriter {
 public:
  WorkWriter(const Job& job, const Plan& plan, const Cluster& cluster, int64_t rank);

  RankRecorder& recorder() { return recorder_; }
  const RankGroups& groups() const { return groups_; }

  /// The list's operators in order, on the main thread; numbers that their backward will carry.
  SequenceNumbers forward(const std::vector<KernelWork>& work);
  /// The same inside of a checkpoint, which alone is numbered.
  int64_t checkpointed_forward(const std::vector<KernelWork>& work);

  /// The backward list on the autograd thread; `numbers` are those of its forward.
  void backward(const std::vector<KernelWork>& work, const SequenceNumbers& numbers);
  /// A checkpoint's backward: `recomputed` forward again, then its gradients.
  void checkpointed_backward(const std::vector<KernelWork>& recomputed, const std::vector<KernelWork>& work,
                             int64_t number);

  /// One operator with plain kernels and copies, outside of autograd. `inside` names the operator that launches.
  void operation(std::string_view outer, std::string_view inner, const GpuWorkItem& item);

  /// A collective on its stream, after what the compute stream has; returns the record that a waiter waits for.
  uint32_t collective(Place thread, GroupKind group, const KernelWork& work, std::string_view dtype);
  /// The group of `work`'s own dimensions.
  uint32_t collective(Place thread, const KernelWork& work, std::string_view dtype) {
    return collective(thread, group_kind(work.along), work, dtype);
  }
  void wait_for(Place thread, uint32_t recorded) { recorder_.wait(thread, Place::kCompute, recorded, event_call_ns_); }

  /// All messages of an exchange, of `bytes` each, in one kernel, or one in its own; the result is as of collective().
  uint32_t batched_exchange(const std::vector<Message>& messages, double bytes, int64_t step);
  uint32_t single_message(const Message& message, double bytes, int64_t step);

  /// The host's time per kernel, and that of a call which only asks something of the GPU.
  int64_t launch_ns() const { return 10 * part_ns_; }
  int64_t call_ns() const { return event_call_ns_; }
  std::vector<SyntheticTransfer> take_transfers() { return std::move(transfers_); }

 private:
  /// Work items [begin, end) of a list with one role.
  struct Function {
    size_t begin, end;
  };
  static std::vector<Function> functions(const std::vector<KernelWork>& work);
  /// Calls back for what is not part of a selectively recomputed core, and once for the core.
  void by_checkpoint(const std::vector<KernelWork>& work, const std::function<void(size_t, size_t, bool)>& visit) const;
  SequenceNumbers forward_functions(Place thread, const std::vector<KernelWork>& work, size_t begin, size_t end,
                                    bool numbered);
  void backward_functions(const std::vector<KernelWork>& work, size_t begin, size_t end,
                          const SequenceNumbers& numbers);
  void body(Place thread, const std::vector<KernelWork>& work, Function function, bool backward);
  void kernels(Place thread, const KernelWork& work, double more_us, bool backward, int gemms_before);
  CollectiveDetail group_detail(const RankGroup& group, std::string_view dtype);
  int64_t message_ns(double bytes, int32_t peer) const;
  GpuWorkItem message_item(const CollectiveNames& names, int64_t duration_ns) const;
  void note_message(uint32_t row, const Message& message, int64_t duration_ns, int64_t step);
  int64_t& next_number(Place thread) { return next_number_[thread == Place::kMain ? 0 : 1]; }
  void note(uint32_t row, GroupKind group, int64_t duration_ns);

  const Job& job_;
  const Cluster& cluster_;
  int32_t rank_;
  RankGroups groups_;
  std::vector<KernelWork> attention_core_;  ///< what selective recomputation repeats
  RankRecorder recorder_;
  int64_t part_ns_;         ///< a tenth of what the host needs per kernel
  int64_t launch_call_ns_;  ///< of it, inside the launch call
  int64_t event_call_ns_;   ///< of it, inside each event record or wait
  int64_t next_number_[2] = {100, 100};
  int64_t ordinal_[kNumGroupKinds] = {};
  std::vector<SyntheticTransfer> transfers_;
};

}  // namespace lumos
