#include "lumos/report/graph_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "lumos/report/residual.h"
#include "lumos/report/steps.h"
#include "lumos/report/text_table.h"
#include "lumos/trace/kernel_name.h"

namespace lumos {

namespace {

std::string task_name(const ExecGraph& graph, const RankTasks& rank, uint32_t task) {
  const uint32_t row = graph.event[task];
  if (row == kNoIndex) return "untraced host time";
  const std::string_view name = rank.table->name_of(row);
  return rank.table->kind[row] == EventKind::kKernel ? short_kernel_name(name) : std::string(name);
}

/// "ncclDevKernel_AllReduce on stream 20".
std::string described(const ExecGraph& graph, const RankTasks& rank, uint32_t task) {
  const std::string name = task_name(graph, rank, task);
  if (graph.processor[task] == kNoProcessor) return name;
  const Processor& processor = graph.processors[graph.processor[task]];
  const std::string_view number = rank.table->text(rank.table->lanes[processor.lane].tid_text);
  return fmt::format("{} on {} {}", name, processor.is_gpu ? "stream" : "thread", number);
}

bool joins_lanes(EdgeKind kind) {
  return kind == EdgeKind::kInterThread || kind == EdgeKind::kInterStream || kind == EdgeKind::kSync;
}

std::string_view verb(EdgeKind kind) { return kind == EdgeKind::kInterThread ? "is woken by" : "waits for"; }

}  // namespace

std::vector<WaitSite> wait_sites(const ExecGraph& graph, uint32_t rank_index) {
  const RankTasks& rank = graph.ranks[rank_index];
  // By name ids and lanes first, so that texts are made once per site.
  const auto name_of = [&](uint32_t task) {
    return graph.event[task] == kNoIndex ? kNoName : rank.table->name[graph.event[task]];
  };
  using Key = std::tuple<EdgeKind, NameId, uint32_t, NameId, uint32_t>;
  std::map<Key, WaitSite> sites;
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
      const Edge& edge = graph.edges[e];
      if (!joins_lanes(edge.kind)) continue;
      WaitSite& site =
          sites[{edge.kind, name_of(edge.source), graph.processor[edge.source], name_of(task), graph.processor[task]}];
      if (site.count++ == 0) {
        site.kind = edge.kind;
        site.source = described(graph, rank, edge.source);
        site.target = described(graph, rank, task);
      }
      site.recorded += edge.recorded ? 1 : 0;
      site.least_confidence_pct = std::min(site.least_confidence_pct, edge.confidence_pct);
    }
  }
  std::vector<WaitSite> out;
  for (auto& [key, site] : sites) out.push_back(std::move(site));
  std::stable_sort(out.begin(), out.end(), [](const WaitSite& a, const WaitSite& b) { return a.count > b.count; });
  return out;
}

std::vector<UnexplainedTask> unexplained_tasks(const ExecGraph& graph, uint32_t rank_index, size_t limit) {
  const RankTasks& rank = graph.ranks[rank_index];
  struct Found {
    uint32_t task;
    uint32_t step;
    int64_t residual_ns;
  };
  std::vector<Found> found;
  for (uint32_t s : chosen_steps(rank)) {
    const Window window = measured_window(graph, rank, rank.steps[s]);
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      const int64_t start_ns = graph.measured_start_ns[task];
      if (start_ns < window.start_ns || start_ns >= window.end_ns) continue;
      const int64_t residual = residual_ns(graph, rank, task);
      if (residual != 0) found.push_back({task, s, residual});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return std::abs(a.residual_ns) > std::abs(b.residual_ns); });
  if (found.size() > limit) found.resize(limit);
  std::vector<UnexplainedTask> out;
  for (const Found& each : found) {
    const Step& step = rank.steps[each.step];
    out.push_back({described(graph, rank, each.task), step.name,
                   graph.measured_start_ns[each.task] - measured_window(graph, rank, step).start_ns, each.residual_ns});
  }
  return out;
}

std::string wait_sites_text(const std::vector<WaitSite>& sites, size_t limit) {
  if (sites.empty()) return "\n  no thread or stream waits for another\n";
  constexpr size_t kNameColumns = 58;  // what the numbers leave of 80
  TextTable table({{"waits"}, {"sure"}, {"what waits for what", Align::kLeft}});
  for (size_t i = 0; i < std::min(sites.size(), limit); ++i) {
    const WaitSite& site = sites[i];
    const bool all_recorded = site.recorded == site.count;
    table.add({std::to_string(site.count), all_recorded ? "recorded" : fmt::format("{} %", site.least_confidence_pct),
               cut_text(site.target, kNameColumns)});
    table.add({"", "", "  " + cut_text(fmt::format("{} {}", verb(site.kind), site.source), kNameColumns - 2)});
  }
  if (sites.size() > limit) table.add({"", "", fmt::format("({} more)", sites.size() - limit)});
  return "\n" + table.text();
}

std::string unexplained_tasks_text(const std::vector<UnexplainedTask>& tasks) {
  if (tasks.empty()) return "\n  every start is explained\n";
  TextTable table({{"started otherwise than explained", Align::kLeft}, {"step", Align::kLeft}, {"at ms"}, {"by us"}});
  for (const UnexplainedTask& task : tasks) {
    table.add({task.name, task.step, fmt::format("{:.3f}", static_cast<double>(task.after_step_start_ns) / 1e6),
               fmt::format("{:+.1f}", static_cast<double>(task.residual_ns) / 1e3)});
  }
  return "\n" + table.text();
}

}  // namespace lumos
