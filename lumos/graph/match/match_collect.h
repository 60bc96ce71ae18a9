// First half of matching: every rank's communication kernels with what the metadata says about them, and the groups
// they belong to. Used by graph/match/match alone.
#pragma once

#include <span>

#include "lumos/graph/match/match.h"
#include "lumos/trace/words/rank_list.h"

namespace lumos {

/// Fills kernels, rank_begin and groups; clocks are all zero and no kernel has a match yet. Ranks in parallel.
JobMatches collect_communication(std::span<const EventTable* const> tables, const MatchOptions& options);

/// The members of a kernel's group: by its own list, else by the file's list of groups; empty if both are cut or
/// absent. Lives as long as the table and `lists`, which are those of its names.
const std::vector<int32_t>& listed_ranks(const EventTable& table, const CollectiveDetail& detail, RankLists& lists);

}  // namespace lumos
