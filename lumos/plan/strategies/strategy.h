// The ways in which a job is split, one row and one file each: what a strategy checks, how it cuts the unsharded model,
// which exchanges it puts around the passes, what a GPU then holds, and by what a trace shows it. plan_of applies the
// rows in order.
#pragma once

#include <string_view>
#include <vector>

#include "lumos/plan/ops/plan.h"

namespace lumos {

/// A collective that proves or denies a setting where a trace shows it.
struct Sign {
  std::string_view field;  ///< of the job
  std::string_view value;  ///< that it proves
  DimensionSet along;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  bool of_parameters = false;  ///< too large for a loss or a norm
  std::string_view reason;     ///< for a person
};

/// What a strategy does not have stays null.
struct Strategy {
  std::string_view name;
  Status (*check)(const Job&) = nullptr;          ///< errors (kUsage): what it cannot divide
  void (*shard)(const Job&, Plan&) = nullptr;     ///< cuts extents and puts collectives in
  void (*step)(const Job&, Plan&) = nullptr;      ///< exchanges around the passes
  void (*resident)(const Job&, Plan&) = nullptr;  ///< what of it one GPU holds
  std::vector<Sign> (*seen_as)() = nullptr;       ///< what in a trace proves it; the first sign that is seen counts
};

/// In the order in which they are applied.
const std::vector<Strategy>& strategies();

/// One more, for a program that brings one of its own. To be called before any job is read.
void add_strategy(const Strategy& strategy);

// One file each.
Strategy precision_strategy();
Strategy tensor_strategy();
Strategy sequence_strategy();
Strategy recompute_strategy();
Strategy data_strategy();
Strategy distributed_optimizer_strategy();
Strategy pipeline_strategy();

}  // namespace lumos
