#include "lumos/report/figures/work_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "lumos/base/parallel.h"
#include "lumos/graph/host/collective.h"
#include "lumos/report/figures/measured_timeline.h"
#include "lumos/trace/table/kernel_family.h"

namespace lumos {

namespace {

/// Kind and group as both runs call them: descriptions are of what a group is for, names only count groups.
std::string collective_name(const EventTable& table, uint32_t row) {
  const CollectiveDetail* c = table.collective_detail(row);
  if (c == nullptr) return std::string(text_of(kind_of_kernel_name(table.name_of(row))));
  CollectiveKind kind =
      c->collective == kNoName ? CollectiveKind::kUnknown : kind_of_metadata(table.text(c->collective));
  if (kind == CollectiveKind::kUnknown) kind = kind_of_kernel_name(table.name_of(row));
  const std::string_view group = c->group_desc == kNoName ? "" : table.text(c->group_desc);
  if (group.empty() || group == "undefined") return std::string(text_of(kind));
  return fmt::format("{}, group {}", text_of(kind), group);
}

/// Sums by name; names are made once per distinct row.
class Sums {
 public:
  WorkShare& at(const std::string& name) {
    const auto [entry, is_new] = index_.try_emplace(name, shares_.size());
    if (is_new) shares_.push_back({name, 0, 0});
    return shares_[entry->second];
  }

  std::vector<WorkShare> take() {
    std::sort(shares_.begin(), shares_.end(), [](const WorkShare& a, const WorkShare& b) {
      return a.total_ms() != b.total_ms() ? a.total_ms() > b.total_ms() : a.name < b.name;
    });
    return std::move(shares_);
  }

 private:
  std::map<std::string, size_t> index_;
  std::vector<WorkShare> shares_;
};

/// When the kernel of a transfer came onto its stream.
int64_t arrival_ns(const ExecGraph& graph, const Timeline& timeline, uint32_t task) {
  for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
    if (graph.edges[e].kind == EdgeKind::kTransferOf) return timeline.end_ns[graph.edges[e].source];
  }
  return timeline.start_ns[task];
}

class Reader {
 public:
  Reader(const ExecGraph& graph, const Timeline& timeline, const WorkSource& source,
         const std::vector<TaskOrigin>& origins)
      : graph_(graph), timeline_(timeline), source_(source), origins_(origins), names_(source.tables.size()) {}

  void read(const RankTasks& rank, const std::vector<Window>& windows, double ms_per_ns) {
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      const TaskKind kind = graph_.kind[task];
      if (!is_gpu_task(kind) || kind == TaskKind::kArrive) continue;
      const bool transfer = kind == TaskKind::kTransfer;
      const int64_t from_ns = transfer ? arrival_ns(graph_, timeline_, task) : timeline_.start_ns[task];
      const auto inside = [&](const Window& window) { return from_ns >= window.start_ns && from_ns < window.end_ns; };
      if (std::none_of(windows.begin(), windows.end(), inside)) continue;
      const double ms = ms_per_ns * static_cast<double>(timeline_.end_ns[task] - timeline_.start_ns[task]);
      const double wait_ms = ms_per_ns * static_cast<double>(std::max<int64_t>(0, timeline_.start_ns[task] - from_ns));
      const TaskOrigin& origin = origins_[task];
      if (origin.row == kNoIndex) continue;
      const RowTemplate part = source_.templates[origin.rank][origin.row];
      for (WorkShare* share : {&(transfer ? collectives_ : families_).at(name_of(origin, transfer)),
                               &templates_.at(std::string(template_name(part)))}) {
        share->ms += ms;
        share->wait_ms += wait_ms;
      }
    }
  }

  WorkUse take() { return {families_.take(), collectives_.take(), templates_.take()}; }

 private:
  const std::string& name_of(const TaskOrigin& origin, bool transfer) {
    const EventTable& table = *source_.tables[origin.rank];
    // Equal name and detail: the same family or collective.
    const uint64_t key = (uint64_t{static_cast<uint32_t>(table.name[origin.row])} << 32) | table.detail[origin.row];
    std::string& name = names_[origin.rank][key];
    if (name.empty()) {
      name = transfer ? collective_name(table, origin.row) : std::string(family_name(row_family(table, origin.row)));
    }
    return name;
  }

  const ExecGraph& graph_;
  const Timeline& timeline_;
  const WorkSource& source_;
  const std::vector<TaskOrigin>& origins_;
  std::vector<std::unordered_map<uint64_t, std::string>> names_;
  Sums families_, collectives_, templates_;
};

template <class WindowOf>
WorkUse read_all(const ExecGraph& graph, const Timeline& timeline, const WorkSource& source,
                 const std::vector<TaskOrigin>& origins, WindowOf window_of) {
  const auto ranks = std::count_if(graph.ranks.begin(), graph.ranks.end(),
                                   [](const RankTasks& rank) { return !chosen_steps(rank).empty(); });
  Reader reader(graph, timeline, source, origins);
  for (const RankTasks& rank : graph.ranks) {
    std::vector<Window> windows;
    for (uint32_t step : chosen_steps(rank)) windows.push_back(window_of(rank, rank.steps[step]));
    if (windows.empty()) continue;
    reader.read(rank, windows, 1e-6 / static_cast<double>(windows.size()) / static_cast<double>(ranks));
  }
  return reader.take();
}

/// Every task of a graph that was built from traces comes from a row of its own rank.
std::vector<TaskOrigin> own_rows(const ExecGraph& graph) {
  std::vector<TaskOrigin> origins(graph.size());
  for (uint32_t r = 0; r < graph.ranks.size(); ++r) {
    const RankTasks& rank = graph.ranks[r];
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) origins[task] = {r, graph.event[task]};
  }
  return origins;
}

void write_shares(JsonWriter& json, std::string_view key, const std::vector<WorkShare>& shares) {
  json.key(key).begin_array();
  for (const WorkShare& share : shares) {
    json.begin_object().member("name", share.name).member("ms", share.ms).member("wait_ms", share.wait_ms).end_object();
  }
  json.end_array();
}

}  // namespace

WorkSource work_source(const ExecGraph& graph, const Job* job, int threads) {
  WorkSource source;
  source.templates.resize(graph.ranks.size());
  for (const RankTasks& rank : graph.ranks) source.tables.push_back(rank.table.get());
  parallel_for(graph.ranks.size(), threads, [&](size_t r) {
    const EventTable& table = *source.tables[r];
    const RecoverHints hints = job != nullptr ? hints_from_job(*job, graph.ranks[r].rank) : hints_from_groups(table);
    source.templates[r] = row_templates(table, recover(table, hints));
  });
  return source;
}

WorkSource work_source(const Recovery& recovery) {
  WorkSource source;
  for (const RankProgram& rank : recovery.program.ranks) {
    source.tables.push_back(rank.table.get());
    source.templates.push_back(row_templates(*rank.table, rank.recovered));
  }
  return source;
}

WorkUse work_use(const ExecGraph& graph, const Timeline& timeline, const WorkSource& source,
                 const std::vector<TaskOrigin>& origins) {
  return read_all(graph, timeline, source, origins,
                  [&](const RankTasks&, const Step& step) { return simulated_window(timeline, step); });
}

WorkUse work_use(const ExecGraph& graph, const Timeline& timeline, const WorkSource& source) {
  return work_use(graph, timeline, source, own_rows(graph));
}

WorkUse measured_work_use(const ExecGraph& graph, const WorkSource& source) {
  return read_all(graph, measured_timeline(graph), source, own_rows(graph),
                  [&](const RankTasks& rank, const Step& step) { return measured_window(graph, rank, step); });
}

WorkUse mean_work(const std::vector<WorkUse>& runs) {
  const auto mean = [&](std::vector<WorkShare> WorkUse::*part) {
    Sums sums;
    for (const WorkUse& run : runs) {
      for (const WorkShare& share : run.*part) {
        WorkShare& sum = sums.at(share.name);
        sum.ms += share.ms / static_cast<double>(runs.size());
        sum.wait_ms += share.wait_ms / static_cast<double>(runs.size());
      }
    }
    return sums.take();
  };
  return {mean(&WorkUse::families), mean(&WorkUse::collectives), mean(&WorkUse::templates)};
}

void write_work_use(JsonWriter& json, const WorkUse& use) {
  json.begin_object();
  write_shares(json, "families", use.families);
  write_shares(json, "collectives", use.collectives);
  write_shares(json, "templates", use.templates);
  json.end_object();
}

}  // namespace lumos
