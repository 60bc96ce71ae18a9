// What a trace lacks for good results, why it matters and how to record it next time. From the inventory of a rank.
#pragma once

#include <string>
#include <vector>

#include "lumos/report/results/inventory.h"

namespace lumos {

struct Advice {
  std::string finding;  ///< what is not there, or too much
  std::string effect;   ///< what that costs the user
  std::string remedy;   ///< what to change in the profiler's setup; "" where nothing can be done
};

/// Most important first; empty when the trace has all that Lumos reads.
std::vector<Advice> advice_for(const RankInventory& inventory);

}  // namespace lumos
