#include "lumos/program/meetings.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "lumos/program/draw.h"

namespace lumos {
namespace {

/// Joins the kernels of different stages that carry the same tensors, and the collectives that span stages.
class MeetingPlanner {
 public:
  MeetingPlanner(const Recovery& recovery, const Job& target, const Network& network, uint64_t seed, LowerPlan& plan)
      : recovery_(recovery), target_(target), network_(network), draw_(seed), plan_(plan) {
    collect_samples();
  }

  /// `actions[s][b]`: what the b-th placed block of stage s exchanges, or the pass that begins with it; else nullptr.
  void run(const std::vector<std::vector<const Action*>>& actions) {
    for (size_t s = 0; s < plan_.ranks.size(); ++s) {
      std::map<CommScope, uint32_t> ordinal;
      for (size_t b = 0; b < plan_.ranks[s].blocks.size(); ++b) {
        const Action* action = actions[s][b];
        const bool exchange = action && action->kind == ActionKind::kExchange;
        add_block(s, plan_.ranks[s].blocks[b], exchange ? action : nullptr, ordinal);
      }
    }
    for (size_t s = 0; s < plan_.ranks.size(); ++s) {
      for (size_t b = 0; b < plan_.ranks[s].blocks.size(); ++b) {
        const Action* action = actions[s][b];
        if (action && action->kind != ActionKind::kExchange) add_needs(s, *action, plan_.ranks[s].blocks[b]);
      }
    }
  }

 private:
  void collect_samples() {
    for (size_t r = 0; r < recovery_.transfers.size(); ++r) {
      const std::vector<int64_t> tensors = tensors_per_row(r);
      for (const Transfer& transfer : recovery_.transfers[r].transfers)
        if (!transfer.added) samples_[transfer.scope].push_back(transfer.transfer_ns / tensors[transfer.row]);
    }
  }

  /// Of each row of a rank's table: how many tensors follow each other over the link if it is a kernel of an exchange.
  std::vector<int64_t> tensors_per_row(size_t r) const {
    const RankProgram& rank = recovery_.program.ranks[r];
    std::vector<int64_t> tensors(rank.table->size(), 1);
    for (const StepBlocks& step : recovery_.catalogs[r].steps) {
      for (const ExchangeBlock& exchange : step.exchanges) {
        const Block& block = rank.blocks[exchange.block];
        const size_t one_way = std::max(exchange.sends.size(), exchange.receives.size());
        const size_t kernels = std::max<size_t>(block.launch_end - block.launch_begin, 1);
        for (uint32_t l = block.launch_begin; l < block.launch_end; ++l) {
          const uint32_t row = rank.recovered.list.launches[l].gpu_row;
          if (row != kNoIndex) tensors[row] = std::max<int64_t>(1, static_cast<int64_t>(one_way / kernels));
        }
      }
    }
    return tensors;
  }

  void add_block(size_t stage, PlacedBlock& placed, const Action* action, std::map<CommScope, uint32_t>& ordinal) {
    const RankProgram& rank = recovery_.program.ranks[placed.rank];
    const RankTransfers& transfers = recovery_.transfers[placed.rank];
    const Block& block = rank.blocks[placed.block];
    placed.meeting_begin = static_cast<uint32_t>(plan_.meeting_of.size());
    for (uint32_t t = block.task_begin; t < block.task_end; ++t) {
      const uint32_t row = rank.tasks[t].event;
      if (rank.tasks[t].kind != TaskKind::kTransfer || row == kNoIndex) continue;
      const uint32_t index = transfers.of_row[row];
      if (index == kNoIndex) continue;
      const Transfer& transfer = transfers.transfers[index];
      if (transfer.scope == CommScope::kPipeline) {
        if (action) {
          add_exchange(stage, *action, transfer, row);
        } else {
          plan_.meeting_of.push_back({row, kDropped});
        }
      } else if (transfer.scope == CommScope::kEmbedding) {
        const bool takes_part = plan_.ranks.size() > 1 && (stage == 0 || stage + 1 == plan_.ranks.size());
        plan_.meeting_of.push_back({row, takes_part ? group_meeting(transfer, ordinal[transfer.scope]++) : kDropped});
      } else if (transfer.scope == CommScope::kModel && plan_.ranks.size() > 1) {
        plan_.meeting_of.push_back({row, group_meeting(transfer, ordinal[transfer.scope]++)});
      }
    }
    placed.meeting_end = static_cast<uint32_t>(plan_.meeting_of.size());
  }

  /// The first block of a pass waits for the tensor that the pass begins with, if another stage made it.
  void add_needs(size_t stage, const Action& pass, PlacedBlock& placed) {
    const auto stages = static_cast<int>(plan_.ranks.size());
    const int virtual_stage = pass.chunk * stages + static_cast<int>(stage);
    const bool backward = pass.kind == ActionKind::kBackward;
    const int producer = backward ? virtual_stage : virtual_stage - 1;
    placed.needs_begin = static_cast<uint32_t>(plan_.needs.size());
    auto found = tensor_meetings_.find({pass.microbatch, static_cast<int16_t>(producer), backward});
    if (found != tensor_meetings_.end()) plan_.needs.push_back(found->second);
    placed.needs_end = static_cast<uint32_t>(plan_.needs.size());
  }

  uint32_t group_meeting(const Transfer& transfer, uint32_t ordinal) {
    auto [found, fresh] =
        group_meetings_.try_emplace({transfer.scope, ordinal}, static_cast<uint32_t>(plan_.meeting_ns.size()));
    if (fresh)
      plan_.meeting_ns.push_back(changed_ns(transfer, 0, recovery_.job.pipeline_model_parallel_size - 1, 0,
                                            target_.pipeline_model_parallel_size - 1));
    return found->second;
  }

  /// The two kernels that carry a tensor meet; the first of them to be planned opens the meeting. What one kernel opens
  /// takes equally long, as the measured exchanges that the time is drawn from are of several tensors too.
  void add_exchange(size_t stage, const Action& action, const Transfer& transfer, uint32_t row) {
    const int64_t time_ns = exchange_ns(static_cast<int64_t>(stage), action, transfer);
    const auto add = [&](const Tensor& tensor, bool sends) {
      const auto [found, fresh] = tensor_meetings_.try_emplace(
          {tensor.microbatch, tensor.virtual_stage, tensor.backward}, static_cast<uint32_t>(plan_.meeting_ns.size()));
      if (fresh) plan_.meeting_ns.push_back(time_ns);
      plan_.meeting_of.push_back({row, found->second, sends, !sends});
    };
    // Where sends and receives are kernels of their own, the trace says which is which.
    const bool either = transfer.sends == transfer.receives;
    if (either || transfer.sends) {
      for (const Tensor& tensor : action.sends) add(tensor, true);
    }
    if (either || transfer.receives) {
      for (const Tensor& tensor : action.receives) add(tensor, false);
    }
  }

  /// Of one tensor.
  int64_t exchange_ns(int64_t stage, const Action& action, const Transfer& transfer) {
    const int64_t base_last = recovery_.job.pipeline_model_parallel_size - 1;
    return changed_ns(transfer, 0, std::min<int64_t>(1, base_last), stage, peer_of(stage, action));
  }

  int64_t peer_of(int64_t stage, const Action& action) const {
    const Tensor& tensor = action.sends.empty() ? action.receives.front() : action.sends.front();
    const auto stages = static_cast<int64_t>(plan_.ranks.size());
    const int64_t producer = tensor.virtual_stage % stages;
    return producer == stage ? (producer + 1) % stages : producer;
  }

  /// A measured transfer of the same kind, changed as the model says for the new bytes and places.
  int64_t changed_ns(const Transfer& like, int64_t old_stage, int64_t old_peer, int64_t new_stage, int64_t new_peer) {
    if (like.added) {
      const double bytes = expected_bytes(target_, like.scope, like.kind);
      const GroupSpan span = span_of(target_, like.scope, new_stage, new_peer);
      return static_cast<int64_t>(1e3 * transfer_us(network_, like.kind, bytes, span));
    }
    const std::vector<int64_t>& samples = samples_.at(like.scope);
    const int64_t measured = like.scope == CommScope::kPipeline ? draw_.pick(samples) : like.transfer_ns;
    const double old_bytes = like.bytes > 0 && like.scope != CommScope::kPipeline
                                 ? static_cast<double>(like.bytes)
                                 : expected_bytes(recovery_.job, like.scope, like.kind);
    const double new_bytes = old_bytes * expected_bytes(target_, like.scope, like.kind) /
                             expected_bytes(recovery_.job, like.scope, like.kind);
    const double before =
        transfer_us(network_, like.kind, old_bytes, span_of(recovery_.job, like.scope, old_stage, old_peer));
    const double after = transfer_us(network_, like.kind, new_bytes, span_of(target_, like.scope, new_stage, new_peer));
    return before > 0 ? static_cast<int64_t>(static_cast<double>(measured) * after / before) : measured;
  }

  const Recovery& recovery_;
  const Job& target_;
  const Network& network_;
  Draw draw_;
  LowerPlan& plan_;
  std::map<CommScope, std::vector<int64_t>> samples_;
  std::map<std::tuple<int16_t, int16_t, bool>, uint32_t> tensor_meetings_;
  std::map<std::pair<CommScope, uint32_t>, uint32_t> group_meetings_;
};

}  // namespace

void plan_meetings(const Recovery& recovery, const Job& target, const Network& network, uint64_t seed,
                   const std::vector<std::vector<const Action*>>& actions, LowerPlan& plan) {
  constexpr uint64_t kOtherStream = 0x5bd1e995;  // draws of transfers do not repeat those of blocks
  MeetingPlanner(recovery, target, network, seed ^ kOtherStream, plan).run(actions);
}

}  // namespace lumos
