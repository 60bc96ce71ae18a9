// The inventory of the ranks of a job as text for people and as JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/report/results/inventory.h"

namespace lumos {

/// A rank's inventory and the constants that its graph was calibrated to.
struct InspectedRank {
  RankInventory inventory;
  std::vector<Constant> constants;
};

/// A file that could not be read.
struct UnreadFile {
  std::string file;
  std::string message;
};

/// Everything about each rank, at most 80 columns; with many ranks a table of them and what they lack.
std::string inventory_text(const std::vector<InspectedRank>& ranks);

/// One object, schema lumos.inspect.v1.
std::string inventory_json(const std::vector<InspectedRank>& ranks, const std::vector<UnreadFile>& unread);

}  // namespace lumos
