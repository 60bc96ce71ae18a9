// What of a job could be made faster, one entry per thing that somebody could work on: a kind of kernel, an operator, a
// group's collectives, a rank ... Made from a linked job; simulated by whatif/gains/gains, tabled by
// report/gains_result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/graph/job/job.h"

namespace lumos {

enum class CandidateKind : uint8_t {
  kFamily,         ///< compute kernels of one family, on all ranks
  kKernel,         ///< compute kernels of one short name
  kOperator,       ///< compute that an operator launches itself
  kAnnotation,     ///< compute launched inside a module or an annotation, at any depth
  kOperatorCpu,    ///< the program's CPU time in an operator itself, its runtime calls included
  kAnnotationCpu,  ///< the program's CPU time inside a module or an annotation, at any depth
  kCollective,     ///< transfers of one kind
  kGroup,          ///< transfers of one group
  kSync,           ///< synchronising calls of one name: their own time, and when free also what they wait for
  kHost,           ///< the program's CPU time
  kRank,           ///< compute and CPU time of one rank
  kCount,
};
/// As the selectors of changes have it where there is one: "kernel", "op", "op-cpu", "comm", "group", "rank" ...
std::string_view candidate_kind_name(CandidateKind kind);

struct Candidate {
  CandidateKind kind = CandidateKind::kHost;
  std::string name;
  std::vector<uint32_t> tasks;    ///< whose time it is; each once, by rank
  std::vector<int64_t> fixed_ns;  ///< the part of each task that stays; empty: nothing stays
  std::vector<uint32_t> waits;    ///< edges that no longer hold once it is free
  /// What the tasks take where others do the same faster; empty: no others, or not faster. Of ranks: kernels as on the
  /// median rank.
  std::vector<int64_t> peers_ns;
  int64_t time_ns = 0;  ///< what can go: durations less the fixed parts, all ranks, whole trace
};

/// All candidates, by kind then name. Ranks in parallel. O(tasks * depth of operators).
std::vector<Candidate> find_candidates(const LinkedJob& job, int threads);

}  // namespace lumos
