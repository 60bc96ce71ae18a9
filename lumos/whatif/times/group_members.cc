#include "lumos/whatif/times/group_members.h"

#include <algorithm>

#include "lumos/graph/match/match_collect.h"

namespace lumos {

std::vector<int32_t> known_members(const LinkedJob& job, const CommKernel& kernel) {
  const RankTasks& rank = job.linked.graph.ranks[kernel.rank_index];
  if (kernel.peer >= 0) return {rank.rank, kernel.peer};
  if (kernel.group == kNoIndex) return {};
  const std::vector<int32_t>& ranks = job.matches.groups[kernel.group].ranks;
  if (!ranks.empty()) return ranks;
  const CollectiveDetail* detail = rank.table->collective_detail(kernel.row);
  return detail == nullptr ? ranks : shown_ranks(rank.table->text(detail->group_ranks));
}

GroupShape transfer_shape(const LinkedJob& job, const CommKernel& kernel, int64_t gpus_per_node) {
  const std::vector<int32_t> ranks = known_members(job, kernel);
  const bool message = kernel.peer >= 0 || kernel.kind == CollectiveKind::kSendRecv;
  int64_t size = 2;
  if (!message && kernel.group != kNoIndex) size = std::max<int64_t>(job.matches.groups[kernel.group].size, size);
  if (static_cast<int64_t>(ranks.size()) == size) return group_shape(ranks, gpus_per_node);
  const int64_t stride = ranks.size() > 1 ? std::max(1, ranks[1] - ranks[0]) : 1;
  return group_shape(size, stride, gpus_per_node);
}

}  // namespace lumos
