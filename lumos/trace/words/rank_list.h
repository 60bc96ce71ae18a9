// "Process Group Ranks" of a collective's metadata as numbers. Every communication kernel repeats one of a few lists:
// who reads them keeps RankLists, which parses each once.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "lumos/base/names.h"

namespace lumos {

struct RankList {
  std::vector<int32_t>
      shown;  ///< the ranks that "[0, 1, 2]" or "[0, 1, 2, ...]" shows: of a list that is cut, the first
  bool cut = false;

  /// All members; none where the list is cut.
  const std::vector<int32_t>& whole() const { return cut ? none() : shown; }

 private:
  static const std::vector<int32_t>& none();
};

RankList parse_rank_list(std::string_view text);

/// Rank lists of one pool of names, parsed at first sight. Not safe for several threads.
class RankLists {
 public:
  explicit RankLists(const NamePool& names) : names_(names) {}

  /// Stays where it is as long as this lives.
  const RankList& of(NameId text);

 private:
  const NamePool& names_;
  std::vector<std::unique_ptr<const RankList>> known_;  // by NameId
};

}  // namespace lumos
