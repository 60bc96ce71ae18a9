#include "lumos/report/text/dependency_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "lumos/base/json_writer.h"
#include "lumos/report/figures/measured_timeline.h"
#include "lumos/report/text_table.h"
#include "lumos/trace/table/kernel_name.h"

namespace lumos {

namespace {

std::string stream_of(const EventTable& table, uint32_t row) {
  return std::string(table.text(table.lanes[table.lane[row]].tid_text));
}

// Dependencies alike: the same kernels on the same streams, known the same way.
struct Kind {
  std::string waiting, source, waiting_stream, source_stream;
  bool recorded = false;
  auto key() const { return std::tie(waiting, source, waiting_stream, source_stream, recorded); }
  bool operator<(const Kind& other) const { return key() < other.key(); }
};

struct Tally {
  uint64_t count = 0;
  uint64_t binding = 0;
  uint64_t confidence_sum = 0;
};

void append_rank(const ExecGraph& graph, const RankTasks& rank, std::string& out) {
  const EventTable& table = *rank.table;
  std::map<Kind, Tally> kinds;
  uint64_t recorded = 0;
  const std::vector<StreamDependency> all = stream_dependencies(graph, rank);
  for (const StreamDependency& d : all) {
    Tally& tally =
        kinds[{short_kernel_name(table.name_of(d.waiting_row)), short_kernel_name(table.name_of(d.source_row)),
               stream_of(table, d.waiting_row), stream_of(table, d.source_row), d.recorded}];
    ++tally.count;
    tally.binding += d.binding;
    tally.confidence_sum += d.confidence_pct;
    recorded += d.recorded;
  }
  out += fmt::format("rank {}: {} dependencies between streams, {} recorded, {} inferred\n\n", rank.rank, all.size(),
                     recorded, all.size() - recorded);
  if (all.empty()) return;
  std::vector<std::pair<Kind, Tally>> rows(kinds.begin(), kinds.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  TextTable text({{"waiting", Align::kLeft}, {"on"}, {"after", Align::kLeft}, {"on"}, {"count"}, {"held"}, {"sure"}});
  for (const auto& [kind, tally] : rows) {
    text.add({cut_text(kind.waiting, 22), kind.waiting_stream, cut_text(kind.source, 22), kind.source_stream,
              std::to_string(tally.count), std::to_string(tally.binding),
              kind.recorded ? "recorded" : fmt::format("{} %", tally.confidence_sum / tally.count)});
  }
  out += text.text() + "\n";
}

}  // namespace

std::vector<StreamDependency> stream_dependencies(const ExecGraph& graph, const RankTasks& rank) {
  const Timeline measured = measured_timeline(graph);
  std::vector<std::pair<int64_t, StreamDependency>> found;
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
      const Edge& edge = graph.edges[e];
      if (edge.kind != EdgeKind::kInterStream) continue;
      found.push_back({graph.measured_start_ns[task],
                       {graph.event[task], graph.event[edge.source], edge.recorded, edge.confidence_pct,
                        measured.binding[task] == e}});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first, a.second.waiting_row, a.second.source_row) <
           std::tuple(b.first, b.second.waiting_row, b.second.source_row);
  });
  std::vector<StreamDependency> out;
  out.reserve(found.size());
  for (const auto& entry : found) out.push_back(entry.second);
  return out;
}

std::string dependencies_json(const ExecGraph& graph) {
  JsonWriter json(JsonWriter::Style::kPretty);
  json.begin_object().member("schema", "lumos.dependencies.v1").key("ranks").begin_array();
  for (const RankTasks& rank : graph.ranks) {
    const EventTable& table = *rank.table;
    json.begin_object().member("rank", rank.rank).key("inter_stream").begin_array();
    for (const StreamDependency& d : stream_dependencies(graph, rank)) {
      json.begin_object(JsonWriter::Layout::kInline)
          .member("waiting_correlation", table.correlation[d.waiting_row])
          .member("recorded_after_correlation", table.correlation[d.source_row])
          .member("source", d.recorded ? "recorded" : "inferred");
      json.key("confidence").value(d.confidence_pct / 100.0, 2);
      json.member("binding", d.binding)
          .member("waiting_name", short_kernel_name(table.name_of(d.waiting_row)))
          .member("waiting_stream", stream_of(table, d.waiting_row))
          .member("recorded_after_name", short_kernel_name(table.name_of(d.source_row)))
          .member("recorded_after_stream", stream_of(table, d.source_row))
          .end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return json.text();
}

std::string dependencies_text(const ExecGraph& graph) {
  std::string out;
  for (const RankTasks& rank : graph.ranks) append_rank(graph, rank, out);
  if (!out.empty()) {
    out +=
        "held: how often the waiting work started right after, with nothing else to wait for;\n"
        "the others were late for other reasons, and bind only in a what-if.\n";
  }
  return out;
}

}  // namespace lumos
