// First half of matching: every rank's communication kernels with what the metadata says about them, and the groups
// they belong to. Used by graph/match/match alone.
#pragma once

#include <span>

#include "lumos/graph/match/match.h"

namespace lumos {

/// Fills kernels, rank_begin and groups; clocks are all zero and no kernel has a match yet. Ranks in parallel.
JobMatches collect_communication(std::span<const EventTable* const> tables, const MatchOptions& options);

/// The ranks that "[0, 1, 2]" or "[0, 1, 2, ...]" shows: of a list that is cut, the first ones.
std::vector<int32_t> shown_ranks(std::string_view text);

/// The members of a kernel's group: by its own list, else by the file's list of groups; empty if both are cut or
/// absent.
std::vector<int32_t> listed_ranks(const EventTable& table, const CollectiveDetail& detail);

/// Ranks of "[0, 1, 2]"; empty if the list is cut ("...") or no list.
std::vector<int32_t> parse_rank_list(std::string_view text);

}  // namespace lumos
