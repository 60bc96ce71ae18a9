#include "lumos/report/text/unexplained_list.h"

#include <fmt/core.h>

#include <algorithm>

#include "lumos/base/json_writer.h"
#include "lumos/report/figures/residual.h"
#include "lumos/report/figures/steps.h"
#include "lumos/report/text_table.h"
#include "lumos/trace/table/kernel_name.h"

namespace lumos {

namespace {

constexpr size_t kNeighboursShown = 4;  // in text; JSON has all

std::string name_of(const ExecGraph& graph, const RankTasks& rank, uint32_t task) {
  if (graph.kind[task] == TaskKind::kGap) return "(time that no row shows)";
  if (graph.event[task] == kNoIndex) return "(untraced host time)";
  const std::string_view name = rank.table->name_of(graph.event[task]);
  return is_gpu_task(graph.kind[task]) ? short_kernel_name(name) : std::string(name);
}

std::string processor_name(const ExecGraph& graph, const RankTasks& rank, uint32_t processor) {
  if (processor == kNoProcessor) return "-";
  const Processor& p = graph.processors[processor];
  const Lane& lane = rank.table->lanes[p.lane];
  return fmt::format("{} {}", p.is_gpu ? "stream" : "thread", rank.table->text(lane.tid_text));
}

// Tasks of every processor in order of measured start, for looking up what stood before a moment.
class Before {
 public:
  Before(const ExecGraph& graph, const RankTasks& rank) : graph_(graph), rank_(rank) {
    tasks_.resize(graph.processors.size());
    for (uint32_t t = rank.first_task; t < rank.end_task; ++t) {
      if (graph.processor[t] != kNoProcessor && graph.event[t] != kNoIndex) tasks_[graph.processor[t]].push_back(t);
    }
    for (auto& list : tasks_) {
      std::sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
        return graph.measured_start_ns[a] != graph.measured_start_ns[b]
                   ? graph.measured_start_ns[a] < graph.measured_start_ns[b]
                   : a < b;
      });
    }
  }

  std::vector<Neighbour> neighbours(uint32_t task) const {
    std::vector<Neighbour> out;
    const int64_t start = graph_.measured_start_ns[task];
    for (uint32_t p = 0; p < tasks_.size(); ++p) {
      const auto& list = tasks_[p];
      const auto it = std::partition_point(list.begin(), list.end(),
                                           [&](uint32_t t) { return graph_.measured_start_ns[t] < start; });
      if (it == list.begin()) continue;
      const uint32_t before = *(it - 1);
      out.push_back({p, before, start - measured_end_ns(graph_, rank_, before)});
    }
    std::stable_sort(out.begin(), out.end(), [](const Neighbour& a, const Neighbour& b) {
      return std::abs(a.ended_before_ns) < std::abs(b.ended_before_ns);
    });
    return out;
  }

 private:
  const ExecGraph& graph_;
  const RankTasks& rank_;
  std::vector<std::vector<uint32_t>> tasks_;
};

std::string microseconds(int64_t ns) { return fmt::format("{:.1f}", static_cast<double>(ns) / 1e3); }

void append_task(const ExecGraph& graph, const RankTasks& rank, const UnexplainedTask& entry, int64_t origin_ns,
                 std::string& out) {
  const uint32_t task = entry.task;
  out += fmt::format("{:>12} us  {}  {}, at {:.3f} ms\n", microseconds(entry.residual_ns),
                     cut_text(name_of(graph, rank, task), 30), processor_name(graph, rank, graph.processor[task]),
                     static_cast<double>(graph.measured_start_ns[task] - origin_ns) / 1e6);
  for (size_t i = 0; i < entry.neighbours.size() && i < kNeighboursShown; ++i) {
    const Neighbour& n = entry.neighbours[i];
    const std::string when = n.ended_before_ns < 0 ? "was still running"
                                                   : fmt::format("ended {} us before", microseconds(n.ended_before_ns));
    out += fmt::format("{:17}{}: {} {}\n", "", processor_name(graph, rank, n.processor),
                       cut_text(name_of(graph, rank, n.task), 24), when);
  }
}

int64_t origin_of(const ExecGraph& graph, const RankTasks& rank) {
  int64_t origin = INT64_MAX;
  for (uint32_t t = rank.first_task; t < rank.end_task; ++t) origin = std::min(origin, graph.measured_start_ns[t]);
  return origin;
}

}  // namespace

std::vector<UnexplainedTask> unexplained_tasks(const ExecGraph& graph, const RankTasks& rank, size_t most) {
  std::vector<UnexplainedTask> all;
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    const bool gap = graph.kind[task] == TaskKind::kGap;
    const int64_t residual = gap ? graph.duration_ns[task] : residual_ns(graph, rank, task);
    if (residual != 0) all.push_back({task, residual, gap, {}});
  }
  const size_t count = std::min(most, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    [](const UnexplainedTask& a, const UnexplainedTask& b) {
                      const int64_t x = std::abs(a.residual_ns), y = std::abs(b.residual_ns);
                      return x != y ? x > y : a.task < b.task;
                    });
  all.resize(count);
  const Before before(graph, rank);
  for (UnexplainedTask& entry : all) entry.neighbours = before.neighbours(entry.task);
  return all;
}

std::string unexplained_text(const ExecGraph& graph, size_t most) {
  std::string out;
  for (const RankTasks& rank : graph.ranks) {
    out += fmt::format("rank {}: what no dependency explains, largest first\n\n", rank.rank);
    const int64_t origin = origin_of(graph, rank);
    for (const UnexplainedTask& entry : unexplained_tasks(graph, rank, most))
      append_task(graph, rank, entry, origin, out);
    out += "\n";
  }
  out +=
      "Positive: it began later than explained, so a dependency is missing. Negative: it began\n"
      "before a dependency or constant lets it. Below each: what had run before, nearest first.\n";
  return out;
}

std::string unexplained_json(const ExecGraph& graph, size_t most) {
  JsonWriter json(JsonWriter::Style::kPretty);
  json.begin_object().member("schema", "lumos.unexplained.v1").key("ranks").begin_array();
  for (const RankTasks& rank : graph.ranks) {
    json.begin_object().member("rank", rank.rank).key("tasks").begin_array();
    for (const UnexplainedTask& entry : unexplained_tasks(graph, rank, most)) {
      const uint32_t row = graph.event[entry.task];
      json.begin_object().member("name", name_of(graph, rank, entry.task));
      json.member("correlation", row == kNoIndex ? int64_t{-1} : rank.table->correlation[row])
          .member("processor", processor_name(graph, rank, graph.processor[entry.task]));
      json.key("residual_us").value(static_cast<double>(entry.residual_ns) / 1e3, 3);
      json.member("kept", entry.kept).key("before").begin_array();
      for (const Neighbour& n : entry.neighbours) {
        json.begin_object(JsonWriter::Layout::kInline)
            .member("processor", processor_name(graph, rank, n.processor))
            .member("name", name_of(graph, rank, n.task));
        json.key("ended_before_us").value(static_cast<double>(n.ended_before_ns) / 1e3, 3);
        json.end_object();
      }
      json.end_array().end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return json.text();
}

}  // namespace lumos
