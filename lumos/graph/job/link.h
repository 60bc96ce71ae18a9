// The graphs of all ranks as one job graph: a collective becomes a rendezvous that its members reach and leave
// together. Made by the commands from build_graph and match_ranks; simulated, changed and reported like any graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/graph/match/match.h"
#include "lumos/graph/match/transfer.h"

namespace lumos {

/// What linking did, for the report.
struct LinkCounts {
  uint64_t rendezvous = 0;
  uint64_t unlinked = 0;  ///< rendezvous taken out again because they would have closed a cycle
};

/// A job graph and where its communication is.
struct LinkedGraph {
  ExecGraph graph;
  std::vector<uint32_t> arrive_task;  ///< per kernel of JobMatches; kNoIndex: the graph has no such task
  std::vector<uint32_t> transfer_task;
  LinkCounts counts;
};

/// Links `ranks` (each with one rank, in the order of the tables that were matched). Tasks of a rank stay contiguous;
/// where there are several, each gets one task in front, which holds how much later than the first rank its recording
/// begins; rendezvous come after all ranks. The duration of a transfer is its transfer time; waiting for members that
/// are not traced is the lag before it. Never a cycle. O(tasks + edges), in 8 bytes per task and 4 per edge beside the
/// result.
LinkedGraph link_ranks(std::vector<ExecGraph> ranks, const JobMatches& matches, const TransferColumns& transfers);

/// An order in which every task comes after its sources, rank by rank as far as each can go. Shorter than the graph if
/// it has cycles.
std::vector<uint32_t> order_by_rank(const ExecGraph& graph);

}  // namespace lumos
