#include "lumos/trace/words/rank_list.h"

#include <charconv>

namespace lumos {

const std::vector<int32_t>& RankList::none() {
  static const std::vector<int32_t> kNone;
  return kNone;
}

RankList parse_rank_list(std::string_view text) {
  RankList list;
  list.cut = text.find("...") != std::string_view::npos;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    int32_t rank = 0;
    const auto [next, error] = std::from_chars(at, end, rank);
    if (error == std::errc()) {
      list.shown.push_back(rank);
      at = next;
    } else {
      ++at;
    }
  }
  return list;
}

const RankList& RankLists::of(NameId text) {
  const auto index = static_cast<uint32_t>(text);
  if (index >= known_.size()) known_.resize(names_.size());
  std::unique_ptr<const RankList>& known = known_[index];
  if (known == nullptr) known = std::make_unique<const RankList>(parse_rank_list(names_.text(text)));
  return *known;
}

}  // namespace lumos
