// Who holds up whom: at every group of ranks, who arrives last and how long the others wait for it, and what the step
// would gain if that rank were as fast as the median. Made from a linked job; rendered as text and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/graph/job/job.h"

namespace lumos {

/// One rank at one group. Times are per step.
struct GroupArrivals {
  int32_t rank = 0;
  uint64_t last = 0;           ///< collectives at which it arrived last
  double last_share = 0;       ///< of the group's collectives
  double others_wait_ms = 0;   ///< all other members together, for this rank
  double own_wait_ms = 0;      ///< this rank, for others that are traced
  double missing_wait_ms = 0;  ///< this rank, for members that are not traced
};

struct StragglerGroup {
  std::string group;  ///< name and description
  int32_t size = -1;
  uint64_t collectives = 0;            ///< with at least two traced members, over all chosen steps
  std::vector<GroupArrivals> members;  ///< by rank
};

/// What one rank costs the job. Times are per step.
struct StragglerRank {
  int32_t rank = 0;
  double others_wait_ms = 0;  ///< over all groups
  double slowdown = 1;        ///< its kernels' time over the median rank's for the same kernels
  double gain_ms = 0;         ///< of the simulated step, if slowdown were 1
};

/// Who waits for whom, in milliseconds per step, over all groups; only pairs with a wait.
struct WaitPair {
  int32_t waiting = 0;
  int32_t waited_for = 0;
  double wait_ms = 0;
};

struct Stragglers {
  double step_ms = 0;                  ///< simulated
  std::vector<StragglerRank> ranks;    ///< the largest gain first, then by waits
  std::vector<StragglerGroup> groups;  ///< the most waiting first
  std::vector<WaitPair> pairs;         ///< the longest first
};

/// Simulates the job once per rank that is slower than the median. Ranks in parallel.
Stragglers find_stragglers(const LinkedJob& job, int threads);

std::string stragglers_text(const Stragglers& stragglers);
std::string stragglers_json(const Stragglers& stragglers);

}  // namespace lumos
