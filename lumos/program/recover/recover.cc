#include "lumos/program/recover/recover.h"

#include <algorithm>

#include "lumos/program/recover/layers.h"
#include "lumos/program/recover/passes.h"

namespace lumos {

RecoveredRank recover(const EventTable& table, const RecoverHints& hints) {
  RecoveredRank rank;
  rank.list = list_launches(table);
  cut_passes(table, rank);
  number_passes(table, hints, rank);
  label_layers(table, hints, rank);
  return rank;
}

RecoverHints hints_from_groups(const EventTable& table) {
  RecoverHints hints;
  for (const ProcessGroup& group : table.info.groups) {
    if (group.description.find("PIPELINE") == std::string::npos) continue;
    auto self = std::find(group.ranks.begin(), group.ranks.end(), table.info.rank);
    if (self == group.ranks.end()) continue;
    if (static_cast<int>(group.ranks.size()) < hints.stages) continue;
    hints.stages = static_cast<int>(group.ranks.size());
    hints.stage = static_cast<int>(self - group.ranks.begin());
  }
  return hints;
}

}  // namespace lumos
