// Process groups from a job's parallel sizes and its rank order, for traces that do not list their groups. Made from a
// job file by the commands; read by graph/match.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/trace/event_table.h"

namespace lumos {

/// Sizes of the parallel dimensions and how ranks count through them, the fastest first.
struct RankLayout {
  int32_t tensor = 1;
  int32_t context = 1;
  int32_t expert = 1;
  int32_t data = 1;
  int32_t pipeline = 1;
  std::string order = "tp-cp-ep-dp-pp";  ///< Megatron's default
};

/// Every group of every dimension whose size is above one, the group of all ranks, and the embedding groups (first and
/// last stage) of a pipeline, with Megatron's descriptions. Errors: kUsage for sizes below one or an order that names
/// an unknown dimension, one twice, or leaves out one whose size is above one.
Result<std::vector<ProcessGroup>> groups_of_layout(const RankLayout& layout);

}  // namespace lumos
