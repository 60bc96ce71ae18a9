#include <algorithm>

#include "lumos/plan/optimizer.h"
#include "lumos/program/change/switch_edits.h"

namespace lumos {
namespace {

/// Edits of one block of a job that shards its parameters, as PyTorch's fully_shard would have run it.
class ShardedEdits {
 public:
  ShardedEdits(SwitchedRank& rank, const Block& block, BlockEditor& editor)
      : rank_(rank),
        launches_(rank.rank.recovered.list.launches),
        job_(rank.recovery.job),
        target_(rank.target),
        block_(block),
        editor_(editor) {}

  void run(const Block* forward) {
    if (job_.reshard_after_forward && !target_.reshard_after_forward && is_backward_block(block_.role))
      remove_if([](const Launch& launch) { return is_gathering(launch.unit_work); });
    if (job_.fsdp_replicate_size > 1 && target_.fsdp_replicate_size == 1)
      remove_if([](const Launch& launch) { return launch.unit_work == UnitWork::kReplicaReduce; });
    if (job_.fsdp_reduce_each_microbatch && !target_.fsdp_reduce_each_microbatch) reduce_in_last_only();
    if (job_.fsdp_replicate_size == 1 && target_.fsdp_replicate_size > 1) reduce_over_replicas();
    const bool again = target_.recompute_granularity == Recompute::kFull &&
                       job_.recompute_granularity != Recompute::kFull && block_.role == BlockRole::kBackwardLayer;
    if (again && forward != nullptr) run_again(*forward);
  }

 private:
  template <class Condition>
  void remove_if(const Condition& condition) {
    for (uint32_t i = block_.launch_begin; i < block_.launch_end; ++i)
      if (condition(launches_[i])) editor_.remove(i);
  }

  bool is_last_microbatch() const { return block_.label.microbatch + 1 == job_.num_microbatches; }

  /// Earlier micro-batches keep whole gradients: the first casts them to the type that they are reduced in, which moves
  /// what the copy to the reduction does; others add to them; the last one then copies the sum.
  void reduce_in_last_only() {
    if (job_.num_microbatches == 1) return;
    const bool last = is_last_microbatch();
    remove_if([&](const Launch& launch) {
      return launch.unit_work == UnitWork::kAccumulate || (!last && launch.unit_work >= UnitWork::kReduce);
    });
    if (block_.label.microbatch == 0) return;
    const auto element = static_cast<double>(element_bytes(job_));
    const double gradient = gradient_bytes(job_), copied = element + gradient, added = element + 2 * gradient;
    for (uint32_t i = block_.launch_begin; i < block_.launch_end; ++i)
      if (launches_[i].unit_work == UnitWork::kReduceIn)
        editor_.stretch(i, (added + (last ? 2 * gradient : 0)) / copied);
  }

  void reduce_over_replicas() {
    if (block_.role == BlockRole::kForwardEntry) wait_for_replicas();
    const bool here = target_.fsdp_reduce_each_microbatch || is_last_microbatch();
    for (uint32_t i = block_.launch_begin; here && i < block_.launch_end; ++i) {
      if (launches_[i].unit_work != UnitWork::kReduce) continue;
      const int16_t layer = rank_.rank.recovered.labels[i].layer;
      const double shard = static_cast<double>(unit_parameters(target_, layer)) * gradient_bytes(target_) /
                           static_cast<double>(target_.fsdp_shard_size);
      editor_.insert(rank_.added.collective({CommScope::kReplicas, CommKind::kAllReduce, static_cast<int64_t>(shard)}),
                     {i, true}, kNoIndex);
    }
  }

  /// The end of a backward waits for all that is reduced, on the stream that computes next.
  void wait_for_replicas() {
    for (uint32_t i = block_.launch_begin; i < block_.launch_end; ++i) {
      if (!computes(i)) continue;
      const AddedCollective any = rank_.added.collective({CommScope::kReplicas, CommKind::kAllReduce, 4});
      return editor_.wait_for(any.lane, i);
    }
  }

  bool computes(uint32_t launch) const {
    return launches_[launch].unit_work == UnitWork::kNone && !launches_[launch].is_communication;
  }

  /// A checkpoint stops as soon as it has again what the backward needs: the last product's inputs. It is not run, nor
  /// are the sums behind it.
  void run_again(const Block& forward) {
    std::vector<uint32_t> again;
    for (uint32_t i = forward.launch_begin; i < forward.launch_end; ++i)
      if (computes(i)) again.push_back(i);
    const auto is_product = [&](uint32_t launch) { return rank_.roles[launch].role <= KernelRole::kOtherGemm; };
    const auto last = std::find_if(again.rbegin(), again.rend(), is_product);
    const auto is_dropout = [&](uint32_t launch) {
      return rank_.rank.table->name_of(launches_[launch].gpu_row).find("dropout") != std::string_view::npos;
    };
    if (last != again.rend() && std::none_of(again.rbegin(), last, is_dropout))
      again.erase(last.base() - 1, again.end());
    for (uint32_t i = block_.launch_begin; i < block_.launch_end; ++i) {
      if (!computes(i)) continue;
      editor_.insert_copies(forward, again, i, rank_.added.kernel_style());
      return;
    }
  }

  SwitchedRank& rank_;
  const std::vector<Launch>& launches_;
  const Job& job_;
  const Job& target_;
  const Block& block_;
  BlockEditor& editor_;
};

}  // namespace

void edit_sharded(SwitchedRank& rank, const Block& block, const Block* forward, BlockEditor& editor) {
  if (shards_parameters(rank.recovery.job)) ShardedEdits(rank, block, editor).run(forward);
}

}  // namespace lumos
