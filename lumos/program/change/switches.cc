#include "lumos/program/change/switches.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "lumos/program/change/switch_edits.h"

namespace lumos {
namespace {

Moment reduce_moment(const Job& job) {
  if (job.data_parallel_size == 1) return Moment::kNever;
  return job.overlap_grad_reduce ? Moment::kEarly : Moment::kLate;
}

Moment gather_moment(const Job& job) {
  if (job.data_parallel_size == 1 || !job.use_distributed_optimizer) return Moment::kNever;
  return job.overlap_param_gather ? Moment::kEarly : Moment::kLate;
}

/// First and last stage hold the same matrix and sum its gradients.
bool sums_embedding(const Job& job) {
  return job.pipeline_model_parallel_size > 1 && !job.untie_embeddings_and_output_weights;
}

/// Applies the switches to one rank of a copied recovery.
class RankSwitcher {
 public:
  RankSwitcher(const Recovery& recovery, const Job& target, const Switches& switches, size_t r, Recovery& out)
      : recovery_(recovery),
        before_(recovery.program.ranks[r]),
        after_(out.program.ranks[r]),
        catalog_(out.catalogs[r]),
        transfers_(out.transfers[r]),
        added_(out.program, out.program.ranks[r], out.transfers[r]),
        context_{recovery,
                 target,
                 switches,
                 before_,
                 recovery.transfers[r],
                 recovery.roles[r],
                 recovery.places[r][Dimension::kPipeline],
                 added_} {}

  void run() {
    index_forwards();
    after_.tasks.clear();
    after_.edges.clear();
    for (size_t b = 0; b < before_.blocks.size(); ++b) edit(before_.blocks[b], after_.blocks[b]);
    for (StepBlocks& step : catalog_.steps) {
      const TailWork tail = tail_work(context_, step.step);
      size_t at = 0;
      for (const AddedCollective& one : tail.before_optimizer)
        step.grad_sync.insert(step.grad_sync.begin() + static_cast<std::ptrdiff_t>(at++),
                              add_block(one, BlockRole::kGradSync, Phase::kGradSync, step.step));
      for (const AddedCollective& one : tail.after_optimizer)
        step.optimizer.push_back(add_block(one, BlockRole::kOptimizer, Phase::kOptimizer, step.step));
      if (context_.switches.pipeline_grows) add_exchange(step);
    }
    if (context_.switches.pipeline_grows) join_stages();
    added_.finish();
  }

 private:
  using LayerKey = std::tuple<int16_t, int16_t, int16_t>;

  void index_forwards() {
    for (const Block& block : before_.blocks)
      if (block.role == BlockRole::kForwardLayer)
        forwards_.try_emplace({block.label.step, block.label.microbatch, block.label.layer}, &block);
  }

  void edit(const Block& from, Block& to) {
    BlockEditor editor(recovery_.program, before_, from);
    auto forward = forwards_.find({from.label.step, from.label.microbatch, from.label.layer});
    edit_recompute(context_, from, forward == forwards_.end() ? nullptr : forward->second, editor);
    edit_tensor(context_, from, editor);
    edit_data(context_, from, editor);
    to.task_begin = static_cast<uint32_t>(after_.tasks.size());
    editor.append_to(after_.tasks, after_.edges);
    to.task_end = static_cast<uint32_t>(after_.tasks.size());
  }

  uint32_t add_block(const AddedCollective& work, BlockRole role, Phase phase, int16_t step, bool host_waits = false) {
    Block block;
    block.role = role;
    block.label.phase = phase;
    block.label.step = step;
    block.task_begin = static_cast<uint32_t>(after_.tasks.size());
    append_collective(work, added_.main_thread(), added_.compute_stream(), host_waits, after_.tasks, after_.edges);
    block.task_end = static_cast<uint32_t>(after_.tasks.size());
    // Alike where they are the same kind of work: they are repeated with the parameters of a stage.
    block.shape = (uint64_t{work.lane} << 8) | static_cast<uint64_t>(role);
    after_.blocks.push_back(block);
    return static_cast<uint32_t>(after_.blocks.size() - 1);
  }

  /// One block serves whatever is exchanged: its launch sends and receives all of it.
  void add_exchange(StepBlocks& step) {
    const AddedCollective work = added_.collective(
        {CommScope::kPipeline, CommKind::kPointToPoint,
         static_cast<int64_t>(expected_bytes(recovery_.job, CommScope::kPipeline, CommKind::kPointToPoint))});
    // Megatron synchronises the device after a batched exchange.
    const bool host_waits = context_.target.batch_p2p_sync && !context_.target.overlap_p2p_comm;
    step.exchanges.push_back({add_block(work, BlockRole::kExchange, Phase::kP2p, step.step, host_waits), {}, {}});
    catalog_.batched_exchange = true;
  }

  /// The norm of the gradients and the flag of an overflow are those of the whole model: their small all-reduces, in a
  /// group of all stages, keep the stages together at the end of a step. A single stage has them in its own groups, or
  /// where it is one GPU not at all.
  void join_stages() {
    constexpr int64_t kMostBytes = 4096;
    bool joined = false;
    for (Transfer& transfer : transfers_.transfers) {
      const uint32_t launch = transfer.added ? kNoIndex : before_.recovered.list.launch_of_row[transfer.row];
      if (launch == kNoIndex || before_.recovered.labels[launch].phase != Phase::kOptimizer) continue;
      if (transfer.kind != CommKind::kAllReduce || transfer.bytes > kMostBytes) continue;
      transfer.scope = CommScope::kModel;
      joined = true;
    }
    if (joined) return;
    const AddedCollective norm = added_.collective({CommScope::kModel, CommKind::kAllReduce, 4});
    // The host reads the norm.
    for (StepBlocks& step : catalog_.steps)
      step.optimizer.insert(step.optimizer.begin(),
                            add_block(norm, BlockRole::kOptimizer, Phase::kOptimizer, step.step, true));
  }

  const Recovery& recovery_;
  const RankProgram& before_;
  RankProgram& after_;
  RankCatalog& catalog_;
  RankTransfers& transfers_;
  AddedWork added_;
  SwitchedRank context_;
  std::map<LayerKey, const Block*> forwards_;
};

}  // namespace

bool Switches::any() const {
  return tensor_grows || tensor_ends || pipeline_grows || sequence_on || sequence_off || buckets_change ||
         embedding_ends || embedding_begins || reduce_before != reduce_after || gather_before != gather_after ||
         reduces_otherwise || recompute_before != recompute_after;
}

Switches switches_between(const Job& base, const Job& target) {
  Switches out;
  const bool had_tensor = base.tensor_model_parallel_size > 1, has_tensor = target.tensor_model_parallel_size > 1;
  out.tensor_grows = !had_tensor && has_tensor;
  out.tensor_ends = had_tensor && !has_tensor;
  out.pipeline_grows = base.pipeline_model_parallel_size == 1 && target.pipeline_model_parallel_size > 1;
  out.sequence_on = target.sequence_parallel && !base.sequence_parallel;
  out.sequence_off = base.sequence_parallel && !target.sequence_parallel && has_tensor;
  out.reduce_before = reduce_moment(base);
  out.reduce_after = reduce_moment(target);
  out.gather_before = gather_moment(base);
  out.gather_after = gather_moment(target);
  out.reduces_otherwise = out.reduce_before != Moment::kNever && out.reduce_after != Moment::kNever &&
                          base.use_distributed_optimizer != target.use_distributed_optimizer;
  out.buckets_change = base.ddp_bucket_size != target.ddp_bucket_size && out.reduce_before == Moment::kEarly &&
                       out.reduce_after == Moment::kEarly;
  out.embedding_ends = sums_embedding(base) && !sums_embedding(target) && target.pipeline_model_parallel_size > 1;
  out.embedding_begins = !sums_embedding(base) && sums_embedding(target);
  if (out.reduce_after == Moment::kNever) out.reduce_after = out.reduce_before;
  if (target.data_parallel_size == 1) out.gather_after = out.gather_before;
  out.recompute_before = base.recompute_granularity;
  out.recompute_after = target.recompute_granularity;
  return out;
}

const Transfer* SwitchedRank::transfer_of(uint32_t launch) const {
  const uint32_t index = transfers.of_row[rank.recovered.list.launches[launch].gpu_row];
  return index == kNoIndex ? nullptr : &transfers.transfers[index];
}

void SwitchedRank::convert(const Transfer& transfer, CommKind kind) {
  const GroupSpan span = span_of(recovery.job, transfer.scope, stage, stage);
  const auto bytes = transfer.bytes > 0 ? static_cast<double>(transfer.bytes)
                                        : expected_bytes(recovery.job, transfer.scope, transfer.kind);
  const double before = transfer_us(recovery.network, transfer.kind, bytes, span);
  const double after = transfer_us(recovery.network, kind, bytes, span);
  added.change_kind(transfer.row, kind, before > 0 ? after / before : 1);
}

bool is_forward_block(BlockRole role) {
  return role == BlockRole::kForwardEntry || role == BlockRole::kForwardLayer || role == BlockRole::kForwardExit;
}

bool is_backward_block(BlockRole role) {
  return role == BlockRole::kBackwardEntry || role == BlockRole::kBackwardLayer || role == BlockRole::kBackwardExit;
}

void edit_recompute(SwitchedRank& rank, const Block& block, const Block* forward, BlockEditor& editor) {
  const Recompute before = rank.switches.recompute_before, after = rank.switches.recompute_after;
  if (before == after || !is_backward_block(block.role)) return;
  const bool keeps_attention = before == Recompute::kFull && after == Recompute::kSelective;
  for (uint32_t i = block.launch_begin; i < block.launch_end; ++i) {
    if (rank.rank.recovered.labels[i].phase != Phase::kRecompute) continue;
    if (keeps_attention && is_attention_core(rank.roles[i].role)) continue;
    editor.remove(i);
  }
  if (before != Recompute::kNone || after != Recompute::kSelective || !forward) return;
  // The core of attention runs again before its gradient.
  std::vector<uint32_t> core;
  for (uint32_t i = forward->launch_begin; i < forward->launch_end; ++i)
    if (is_attention_core(rank.roles[i].role)) core.push_back(i);
  for (uint32_t i = block.launch_begin; i < block.launch_end; ++i) {
    if (!is_attention_core(rank.roles[i].role)) continue;
    editor.insert_copies(*forward, core, i, rank.added.kernel_style());
    return;
  }
}

Recovery apply_switches(const Recovery& recovery, const Job& target) {
  const Switches switches = switches_between(recovery.job, target);
  Recovery out = recovery;
  for (size_t r = 0; r < recovery.program.ranks.size(); ++r) RankSwitcher(recovery, target, switches, r, out).run();
  return out;
}

}  // namespace lumos
