#include "lumos/graph/match/match_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace lumos {

uint32_t MatchNames::add_group(CommGroup group) {
  out_.groups.push_back(std::move(group));
  return static_cast<uint32_t>(out_.groups.size() - 1);
}

// The smallest listed group whose traced members are exactly these ranks; else a group of just them.
CommGroup MatchNames::group_of_ranks(const std::vector<int32_t>& ranks) const {
  const ProcessGroup* best = nullptr;
  const auto listed = [](const std::vector<int32_t>& list, int32_t rank) {
    return std::find(list.begin(), list.end(), rank) != list.end();
  };
  const auto look = [&](const std::vector<ProcessGroup>& groups) {
    for (const ProcessGroup& group : groups) {
      std::vector<int32_t> traced;
      for (uint32_t r = 0; r < tables_.size(); ++r) {
        if (listed(group.ranks, rank_of(r))) traced.push_back(rank_of(r));
      }
      if (traced == ranks && (best == nullptr || group.ranks.size() < best->ranks.size())) best = &group;
    }
  };
  for (uint32_t r = 0; r < tables_.size(); ++r) {
    if (r == 0 || listed(ranks, rank_of(r))) look(tables_[r]->info.groups);
  }
  CommGroup group;
  group.source = CommGroup::Source::kInferred;
  group.name = best ? best->name : fmt::format("ranks {}", fmt::join(ranks, "-"));
  group.description = best ? best->description : "";
  group.ranks = best ? best->ranks : ranks;
  group.size = static_cast<int32_t>(group.ranks.size());
  return group;
}

void MatchNames::name_group(std::span<const std::pair<uint32_t, std::span<const uint32_t>>> members) {
  std::vector<int32_t> ranks;
  for (const auto& [rank_index, kernels] : members) ranks.push_back(rank_of(rank_index));
  std::sort(ranks.begin(), ranks.end());
  const uint32_t group = add_group(group_of_ranks(ranks));
  for (const auto& [rank_index, kernels] : members) {
    for (uint32_t id : kernels) out_.kernels[id].group = group;
  }
}

void MatchNames::name_pair(const LaneSequence& a, const LaneSequence& b,
                           std::span<const std::pair<uint32_t, uint32_t>> pairs) {
  const int32_t ra = rank_of(a.rank_index), rb = rank_of(b.rank_index);
  const std::vector<int32_t> ranks = {std::min(ra, rb), std::max(ra, rb)};
  auto [it, fresh] = pair_groups_.try_emplace({ranks, a.point_to_point}, kNoIndex);
  if (fresh) {
    CommGroup group = group_of_ranks(ranks);
    if (a.point_to_point) group.name = fmt::format("p2p:{}-{}", ranks[0], ranks[1]);
    group.ranks = ranks;
    group.size = 2;
    it->second = add_group(std::move(group));
  }
  for (const auto& [x, y] : pairs) {
    out_.kernels[x].group = out_.kernels[y].group = it->second;
    out_.kernels[x].peer = rb;
    out_.kernels[y].peer = ra;
  }
}

void MatchNames::name_rest(const std::vector<LaneSequence>& lanes) {
  std::map<int64_t, uint32_t> by_stream;
  for (const LaneSequence& lane : lanes) {
    const int64_t stream = tables_[lane.rank_index]->lanes[lane.lane].tid;
    for (uint32_t id : lane.kernels) {
      if (out_.kernels[id].group != kNoIndex) continue;
      auto [it, fresh] = by_stream.try_emplace(stream, kNoIndex);
      if (fresh) {
        CommGroup group;
        group.name = fmt::format("stream {}", stream);
        it->second = add_group(std::move(group));
      }
      out_.kernels[id].group = it->second;
    }
  }
}

}  // namespace lumos
