// What makes one run slower than another: two traces of the same job, or a measured and a replayed run. Made from time
// that has exactly one owner (attribution), so the lines sum to the difference of the steps. Rendered for people and as
// JSON.
#pragma once

#include <string>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/report/figures/attribution.h"
#include "lumos/report/figures/steps.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// One rank of a side: a table and the steps to compare, on the table's clock.
struct DiffRank {
  const EventTable* table = nullptr;
  std::vector<Window> steps;
};

/// One side: a run of a job.
struct DiffSide {
  std::string name;  ///< for the heading: a file, "measured", "replayed"
  std::vector<DiffRank> ranks;
};

/// The chosen steps of every rank of `graph`, as recorded. The graph must outlive the side.
DiffSide measured_side(const ExecGraph& graph, std::string name);

/// Milliseconds per step, the mean over the ranks.
struct DiffLine {
  Owner owner = Owner::kIdle;
  std::string label;
  std::string name;  ///< empty in the table by label
  double a_ms = 0;
  double b_ms = 0;
  double difference_ms() const { return b_ms - a_ms; }
};

struct Diff {
  std::string a_name;
  std::string b_name;
  double a_ms = 0;  ///< mean step
  double b_ms = 0;
  std::vector<DiffLine> by_label;     ///< kernel family, collective, host operator; largest difference first
  std::vector<DiffLine> by_name;      ///< kernels by name; largest difference first
  std::vector<DiffLine> by_template;  ///< label: template of the program, host time on the way there included
  std::vector<DiffLine> by_place;     ///< label: stream or thread
};

/// Compares mean steps. Each table's lines sum to b_ms - a_ms (to rounding). Ranks without steps have no say; a side
/// without any counts as nothing. `threads` as everywhere: 0 means all processors.
Diff diff(const DiffSide& a, const DiffSide& b, int threads = 0);

/// At most 80 columns; `limit` lines of each table at most, the rest summed in one.
std::string diff_text(const Diff& diff, size_t limit);
/// One object, schema lumos.diff.v1.
std::string diff_json(const Diff& diff);

}  // namespace lumos
