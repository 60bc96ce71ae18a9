#include "lumos/cli/arguments/find_step.h"

#include <algorithm>
#include <string>
#include <vector>

#include "lumos/cli/arguments/step_range.h"
#include "lumos/report/figures/steps.h"

namespace lumos {

namespace {

std::string ranks_of(const ExecGraph& graph) {
  std::string out;
  for (const RankTasks& rank : graph.ranks) out += fmt::format("{}{}", out.empty() ? "" : ", ", rank.rank);
  return out.empty() ? "none" : out;
}

}  // namespace

Result<uint32_t> find_rank(const ExecGraph& graph, int64_t rank) {
  if (rank < 0 && !graph.ranks.empty()) return 0u;
  for (uint32_t r = 0; r < graph.ranks.size(); ++r) {
    if (graph.ranks[r].rank == rank) return r;
  }
  return fail(ErrorKind::kUsage, "--rank {}: no such rank; the ranks: {}", rank, ranks_of(graph));
}

Result<uint32_t> find_step(const ExecGraph& graph, uint32_t rank_index, int64_t number) {
  const RankTasks& rank = graph.ranks[rank_index];
  if (number >= 0) {
    for (uint32_t s = 0; s < rank.steps.size(); ++s) {
      if (step_number(rank.steps[s].name) == number) return s;
    }
    return fail(ErrorKind::kUsage, "--step {}: rank {} has no such step; its steps: {}", number, rank.rank,
                step_names(rank));
  }
  std::vector<uint32_t> chosen = chosen_steps(rank);
  if (chosen.empty()) {
    return fail(ErrorKind::kFailed, "{}: nothing ran in this trace, so there is no step to look at",
                rank.table->info.file);
  }
  std::stable_sort(chosen.begin(), chosen.end(), [&](uint32_t a, uint32_t b) {
    return measured_window(graph, rank, rank.steps[a]).length_ns() <
           measured_window(graph, rank, rank.steps[b]).length_ns();
  });
  return chosen[(chosen.size() - 1) / 2];
}

}  // namespace lumos
