// Finds the steps of a rank: ProfilerStep windows, or the whole trace, and which of them results are read from. Made
// for graph/rank/build; design.md "Definitions" says what a step is.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/rank/rank_programs.h"

namespace lumos {

/// A step in terms of events and works, before tasks are numbered.
struct StepRows {
  std::string name;
  uint32_t first_segment = kNoIndex;  ///< host segment that begins it
  uint32_t last_segment = kNoIndex;   ///< host segment that ends it
  int64_t start_ns = 0;
  int64_t end_ns = 0;                ///< start of the next step, or end of its own annotation
  bool followed = false;             ///< another step follows
  std::vector<uint32_t> last_works;  ///< last work on each stream launched within it
  bool chosen = true;
  std::string left_out_reason;
};

/// Steps in order of time; empty when the trace has no ProfilerStep. Of a file with several ranks it is the steps
/// of one (of the process that marks most); each other's follow as one that is left out and says so.
std::vector<StepRows> find_steps(const RankPrograms& programs);

}  // namespace lumos
