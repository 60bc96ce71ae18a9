// The blocks of each recovered step, sorted by what they do: which forward of which micro-batch, which layer, which
// exchange. Made from a Program; read by program/lower/plan, which draws from it.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/program/blocks/program.h"
#include "lumos/program/blocks/schedule.h"

namespace lumos {

/// A forward or backward of one micro-batch through one chunk, as block indexes.
struct PassBlocks {
  int16_t microbatch = -1;
  int16_t chunk = 0;
  std::vector<uint32_t> entry;
  std::vector<uint32_t> layers;  ///< in the order in which they run
  std::vector<uint32_t> exit;
};

/// One launch of a send, a receive, or several at once.
struct ExchangeBlock {
  uint32_t block = 0;
  std::vector<Tensor> sends;  ///< empty where the schedule could not be followed
  std::vector<Tensor> receives;
};

struct StepBlocks {
  int16_t step = -1;
  std::vector<uint32_t> init;
  std::vector<PassBlocks> forwards;  ///< in the order in which they run
  std::vector<PassBlocks> backwards;
  std::vector<ExchangeBlock> exchanges;
  std::vector<uint32_t> grad_sync;
  std::vector<uint32_t> optimizer;
  std::vector<uint32_t> log;
  std::vector<uint32_t> all;  ///< every block of the step, in order
};

struct RankCatalog {
  std::vector<StepBlocks> steps;  ///< whole steps only
  std::vector<int16_t> left_out;  ///< steps that were traced and are not whole, or hold more than a step of the job
  bool follows_schedule = false;  ///< the passes come in the order of the given schedule
  bool batched_exchange = false;  ///< one launch sends and receives all that is exchanged at a time
};

/// `schedule` is the order of actions that the job says this stage follows.
RankCatalog make_catalog(const RankProgram& rank, const std::vector<Action>& schedule);

}  // namespace lumos
