// Lists that let somebody judge the graph of a rank by eye: where one thread or stream waits for another and how sure
// that is, and which tasks the dependencies explain worst. For `lumos inspect --dependencies` and `--unexplained`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/graph/exec_graph.h"

namespace lumos {

/// All waits of one kind between tasks of the same two names on the same two lanes.
struct WaitSite {
  EdgeKind kind = EdgeKind::kInterStream;  ///< kInterThread, kInterStream or kSync
  std::string source;                      ///< what is waited for: "gemm_kernel on stream 7"
  std::string target;
  uint64_t count = 0;
  uint64_t recorded = 0;  ///< read from the trace; the others are inferred
  uint8_t least_confidence_pct = 100;
};

/// Most frequent first. O(edges log edges).
std::vector<WaitSite> wait_sites(const ExecGraph& graph, uint32_t rank_index);

/// A task of a chosen step that started earlier or later than its dependencies explain.
struct UnexplainedTask {
  std::string name;
  std::string step;
  int64_t after_step_start_ns = 0;
  int64_t residual_ns = 0;  ///< above 0: it started later than anything known demanded
};

/// Largest |residual| first, at most `limit`.
std::vector<UnexplainedTask> unexplained_tasks(const ExecGraph& graph, uint32_t rank_index, size_t limit);

/// Tables of at most 80 columns.
std::string wait_sites_text(const std::vector<WaitSite>& sites, size_t limit);
std::string unexplained_tasks_text(const std::vector<UnexplainedTask>& tasks);

}  // namespace lumos
