// The edits that each group of switches makes to one block. Parts of program/switches.
#pragma once

#include <vector>

#include "lumos/program/blocks/kernel_roles.h"
#include "lumos/program/change/added_work.h"
#include "lumos/program/change/switches.h"

namespace lumos {

/// One rank while its switches are applied.
struct SwitchedRank {
  const Recovery& recovery;
  const Job& target;
  Switches switches;
  const RankProgram& rank;  ///< as recovered
  const RankTransfers& transfers;
  const std::vector<RoleOf>& roles;
  int64_t stage = 0;
  AddedWork& added;

  /// The communication of a launch, or nullptr.
  const Transfer* transfer_of(uint32_t launch) const;
  /// The same bytes as another collective.
  void convert(const Transfer& transfer, CommKind kind);
};

bool is_forward_block(BlockRole role);
bool is_backward_block(BlockRole role);

/// True for the reduction of gradients, and for the gathering of parameters, over the replicas.
bool reduces_gradients(const SwitchedRank& rank, uint32_t launch);
bool gathers_parameters(const SwitchedRank& rank, uint32_t launch);

/// True for the sum of a tied embedding's gradient over the first and the last stage.
bool sums_embedding_gradient(const SwitchedRank& rank, uint32_t launch);

/// Sequence parallelism, and tensor parallelism where there was none.
void edit_tensor(SwitchedRank& rank, const Block& block, BlockEditor& editor);

/// Gradient reduction and parameter gathering.
void edit_data(SwitchedRank& rank, const Block& block, BlockEditor& editor);

/// `forward_of` finds the forward block of the same layer, or nullptr.
void edit_recompute(SwitchedRank& rank, const Block& block, const Block* forward, BlockEditor& editor);

/// Units of a job that shards its parameters: gathers, reductions, layers that run again.
void edit_sharded(SwitchedRank& rank, const Block& block, const Block* forward_of, BlockEditor& editor);

/// Communication that comes after the passes of one step: what moved there keeps its row, the rest is new.
struct TailWork {
  std::vector<AddedCollective> before_optimizer;
  std::vector<AddedCollective> after_optimizer;
};
TailWork tail_work(SwitchedRank& rank, int16_t step);

}  // namespace lumos
