#include "lumos/report/results/path_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "lumos/base/json_writer.h"
#include "lumos/report/text_table.h"
#include "lumos/trace/table/kernel_name.h"

namespace lumos {

namespace {

std::string rank_label(const ExecGraph& graph, uint32_t task) {
  return fmt::format("rank {}", graph.ranks[rank_index_of(graph, task)].rank);
}

std::string_view table_text(const EventTable& table, NameId id) { return id == kNoName ? "" : table.text(id); }

/// "allreduce, group dp": what people call a communication; the kernel's name where the trace has no metadata.
std::string communication_label(const ExecGraph& graph, uint32_t task) {
  const EventTable& table = *graph.ranks[rank_index_of(graph, task)].table;
  const uint32_t row = graph.event[task];
  if (row == kNoIndex) return "";
  const CollectiveDetail* collective = table.collective_detail(row);
  if (collective == nullptr) return short_kernel_name(table.name_of(row));
  const std::string_view description = table_text(table, collective->group_desc);
  const bool described = !description.empty() && description != "undefined";
  const std::string_view group = described ? description : table_text(table, collective->group_name);
  const std::string_view name = table_text(table, collective->collective);
  const std::string what = name.empty() ? short_kernel_name(table.name_of(row)) : std::string(name);
  return group.empty() ? what : fmt::format("{}, group {}", what, group);
}

std::string cause_label(const ExecGraph& graph, const PathPiece& piece) {
  if (piece.cause == PathCause::kCommunication) return communication_label(graph, piece.task);
  if (piece.cause == PathCause::kWaitForRank) return rank_label(graph, piece.task);
  return "";
}

template <class Label>
std::vector<PathShare> shares(const ExecGraph& graph, const CriticalPath& path, Label label_of) {
  std::map<std::pair<PathCause, std::string>, PathShare> sums;
  for (const PathPiece& piece : path.pieces) {
    const std::string label = label_of(graph, piece);
    PathShare& share = sums[{piece.cause, label}];
    share.cause = piece.cause;
    share.label = label;
    share.time_ns += piece.length_ns();
    ++share.pieces;
  }
  std::vector<PathShare> result;
  for (auto& [key, share] : sums) result.push_back(std::move(share));
  std::stable_sort(result.begin(), result.end(),
                   [](const PathShare& a, const PathShare& b) { return a.time_ns > b.time_ns; });
  return result;
}

std::string percent_of(int64_t part_ns, int64_t whole_ns) {
  return whole_ns > 0 ? fmt::format("{:.1f} %", 100.0 * static_cast<double>(part_ns) / static_cast<double>(whole_ns))
                      : "-";
}

std::string ms_text(int64_t ns) { return human_ms(static_cast<double>(ns) / 1e6); }

std::string share_name(const PathShare& share) {
  const std::string cause(path_cause_name(share.cause));
  return share.label.empty() ? cause : cause + ": " + share.label;
}

std::string shares_text(const std::vector<PathShare>& list, const std::string& header, int64_t whole_ns, size_t limit) {
  TextTable table({{header, Align::kLeft}, {"ms"}, {"share"}, {"pieces"}});
  PathShare rest;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i >= limit) {
      rest.time_ns += list[i].time_ns;
      rest.pieces += list[i].pieces;
      continue;
    }
    table.add({share_name(list[i]), ms_text(list[i].time_ns), percent_of(list[i].time_ns, whole_ns),
               std::to_string(list[i].pieces)});
  }
  if (list.size() > limit) {
    table.add({fmt::format("{} more", list.size() - limit), ms_text(rest.time_ns), percent_of(rest.time_ns, whole_ns),
               std::to_string(rest.pieces)});
  }
  return table.text();
}

void write_shares(JsonWriter& json, std::string_view name, const std::vector<PathShare>& list) {
  json.key(name).begin_array();
  for (const PathShare& share : list) {
    json.begin_object().member("cause", path_cause_name(share.cause)).member("label", share.label);
    json.member("time_ns", share.time_ns).member("pieces", share.pieces).end_object();
  }
  json.end_array();
}

void write_piece(JsonWriter& json, const ExecGraph& graph, const CriticalPath& path, const PathPiece& piece) {
  json.begin_object().member("from_ns", piece.from_ns - path.window.start_ns);
  json.member("length_ns", piece.length_ns()).member("cause", path_cause_name(piece.cause));
  json.member("name", piece_label(graph, piece));
  json.member("rank", graph.ranks[rank_index_of(graph, piece.task)].rank).end_object();
}

}  // namespace

std::string piece_label(const ExecGraph& graph, const PathPiece& piece) {
  const uint32_t row = graph.event[piece.task];
  if (piece.cause == PathCause::kCommunication) return communication_label(graph, piece.task);
  if (row == kNoIndex) {
    return piece.cause == PathCause::kWaitForRank ? rank_label(graph, piece.task) + ": untraced host time" : "";
  }
  const EventTable& table = *graph.ranks[rank_index_of(graph, piece.task)].table;
  const std::string name =
      is_gpu_task(graph.kind[piece.task]) ? short_kernel_name(table.name_of(row)) : std::string(table.name_of(row));
  return piece.cause == PathCause::kWaitForRank ? rank_label(graph, piece.task) + ": " + name : name;
}

std::vector<PathShare> path_by_cause(const ExecGraph& graph, const CriticalPath& path) {
  return shares(graph, path, cause_label);
}

std::vector<PathShare> path_by_task(const ExecGraph& graph, const CriticalPath& path) {
  return shares(graph, path, piece_label);
}

std::string critical_path_text(const ExecGraph& graph, uint32_t rank_index, const Step& step, const CriticalPath& path,
                               size_t limit) {
  const int64_t whole_ns = path.window.length_ns();
  std::string out = fmt::format("Critical path of rank {}, {}: {} ms in {} pieces\n\n", graph.ranks[rank_index].rank,
                                step.name, ms_text(whole_ns), path.pieces.size());
  out += shares_text(path_by_cause(graph, path), "by cause", whole_ns, SIZE_MAX) + "\n";
  out += shares_text(path_by_task(graph, path), "by task", whole_ns, limit);
  return out;
}

std::string critical_path_json(const ExecGraph& graph, uint32_t rank_index, const Step& step,
                               const CriticalPath& path) {
  JsonWriter json;
  json.begin_object().member("schema", "lumos.critical_path.v1").member("rank", graph.ranks[rank_index].rank);
  json.member("step", step.name).member("total_ns", path.window.length_ns());
  write_shares(json, "by_cause", path_by_cause(graph, path));
  write_shares(json, "by_task", path_by_task(graph, path));
  json.key("pieces").begin_array();
  for (const PathPiece& piece : path.pieces) write_piece(json, graph, path, piece);
  json.end_array().end_object();
  return json.text();
}

}  // namespace lumos
