// Waiting for ranks that are not traced, after a change. They are taken to do what the traced member of their group
// does, a little later: so their lateness follows the change too. Used by whatif/scale.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/job/job.h"

namespace lumos {

/// Adjusts the lags that stand for waiting for untraced members in changed copies of a job's graph.
///
/// Lateness comes from compute, and scales with the compute of the traced rank. A member goes on at the end of the
/// transfer T or of the compute W that runs beside it, whichever is later. The late one counts both from its arrival,
/// the traced one, which came H earlier, from its own. So when T becomes T', the next wait of the group grows by
/// (max(T', W) - max(T, W)) - (max(H + T', W) - max(H + T, W)).
class MissingMembers {
 public:
  /// What does not depend on the change. `job` must outlive this.
  explicit MissingMembers(const LinkedJob& job);

  bool none() const { return ranks_.empty(); }

  /// In `changed`, the job's graph with other durations.
  void follow(ExecGraph& changed) const;

 private:
  /// One rank that waits for untraced members.
  struct Rank {
    size_t index = 0;
    std::vector<uint32_t> compute;          ///< its tasks
    int64_t compute_ns = 0;                 ///< their durations before the change
    std::vector<int64_t> compute_until_ns;  ///< by task from first_task on: see compute_beside
  };
  void follow(const Rank& rank, ExecGraph& changed) const;

  const LinkedJob& job_;
  std::vector<Rank> ranks_;
};

/// The same for one change.
void follow_missing_members(const LinkedJob& job, ExecGraph& changed);

}  // namespace lumos
