#include "lumos/program/lower/meetings.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "lumos/program/lower/draw.h"

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
      for (const Transfer& transfer : recovery_.transfers[r].transfers) {
        if (transfer.scope == CommScope::kPipeline && !transfer.added)
          messages_[transfer.between_nodes].push_back(transfer.transfer_ns / tensors[transfer.row]);
      }
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
          add_exchange(*action, transfer, row);
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
    if (fresh) plan_.meeting_ns.push_back(collective_ns(transfer));
    return found->second;
  }

  /// The two kernels that carry a tensor meet; the first of them to be planned opens the meeting. What one kernel opens
  /// takes equally long, as the measured exchanges that the time is drawn from are of several tensors too.
  void add_exchange(const Action& action, const Transfer& transfer, uint32_t row) {
    const uint64_t drawn = draw_.next();
    const auto add = [&](const Tensor& tensor, bool sends) {
      const auto [found, fresh] = tensor_meetings_.try_emplace(
          {tensor.microbatch, tensor.virtual_stage, tensor.backward}, static_cast<uint32_t>(plan_.meeting_ns.size()));
      if (fresh) plan_.meeting_ns.push_back(message_ns(transfer, span_of_border(target_, tensor.virtual_stage), drawn));
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

  /// Of one tensor: a measured message over such a border, changed as the model says for the new bytes, and for the
  /// border where the trace has none like it. `drawn` chooses which.
  int64_t message_ns(const Transfer& like, GroupSpan border, uint64_t drawn) const {
    const double bytes = expected_bytes(target_, like.scope, like.kind);
    const double new_us = transfer_us(network_, like.kind, bytes, border);
    if (like.added) return static_cast<int64_t>(1e3 * new_us);
    const bool crosses = border.crosses_nodes();
    const bool between_nodes = messages_[crosses].empty() ? !crosses : crosses;
    const std::vector<int64_t>& samples = messages_[between_nodes];
    const double old_us = transfer_us(network_, like.kind, expected_bytes(recovery_.job, like.scope, like.kind),
                                      {2, between_nodes ? 1 : 2});
    return scaled(samples[drawn % samples.size()], old_us, new_us);
  }

  /// Of a collective that spans stages.
  int64_t collective_ns(const Transfer& like) const {
    const auto span = [&](const Job& job) { return span_of(job, like.scope, 0, job.pipeline_model_parallel_size - 1); };
    const double base_bytes = expected_bytes(recovery_.job, like.scope, like.kind);
    const double bytes = expected_bytes(target_, like.scope, like.kind);
    if (like.added) return static_cast<int64_t>(1e3 * transfer_us(network_, like.kind, bytes, span(target_)));
    const double old_bytes = like.bytes > 0 ? static_cast<double>(like.bytes) : base_bytes;
    return scaled(like.transfer_ns, transfer_us(network_, like.kind, old_bytes, span(recovery_.job)),
                  transfer_us(network_, like.kind, old_bytes * bytes / base_bytes, span(target_)));
  }

  static int64_t scaled(int64_t measured_ns, double old_us, double new_us) {
    return old_us > 0 ? static_cast<int64_t>(static_cast<double>(measured_ns) * new_us / old_us) : measured_ns;
  }

  const Recovery& recovery_;
  const Job& target_;
  const Network& network_;
  Draw draw_;
  LowerPlan& plan_;
  std::array<std::vector<int64_t>, 2> messages_;  ///< measured times of one tensor: within a node, between nodes
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
