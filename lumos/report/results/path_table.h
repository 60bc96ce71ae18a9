// A critical path as tables and text: time by cause and by task. Each table sums to the step to the nanosecond. Used by
// the critical-path command and the HTML report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/report/figures/critical_path.h"

namespace lumos {

/// One line of a table over the pieces of a path.
struct PathShare {
  PathCause cause = PathCause::kUnexplained;
  std::string label;  ///< more within the cause: the collective and its group, a kernel, an operator, a call, a rank
  int64_t time_ns = 0;
  uint64_t pieces = 0;
};

/// The name of the task of a piece, as the table by task has it: collective and group, kernel, operator, call; empty
/// for untraced host time.
std::string piece_label(const ExecGraph& graph, const PathPiece& piece);

/// Time by cause, communication split by collective and group, waiting split by rank; largest first.
std::vector<PathShare> path_by_cause(const ExecGraph& graph, const CriticalPath& path);
/// Time by cause and name of the task; largest first.
std::vector<PathShare> path_by_task(const ExecGraph& graph, const CriticalPath& path);

/// Both tables for people, at most 80 columns; at most `limit` lines of tasks, the rest summed in one.
std::string critical_path_text(const ExecGraph& graph, uint32_t rank_index, const Step& step, const CriticalPath& path,
                               size_t limit);
/// One object, schema lumos.critical_path.v1: rank, step, total, both tables and every piece.
std::string critical_path_json(const ExecGraph& graph, uint32_t rank_index, const Step& step, const CriticalPath& path);

}  // namespace lumos
