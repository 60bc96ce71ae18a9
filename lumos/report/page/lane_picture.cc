#include "lumos/report/page/lane_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "lumos/base/json_writer.h"
#include "lumos/report/figures/critical_path.h"
#include "lumos/report/figures/steps.h"
#include "lumos/report/page/html.h"
#include "lumos/trace/table/collective_names.h"
#include "lumos/trace/table/kernel_name.h"

namespace lumos {

namespace {

/// Texts with numbers, each kept once.
class Texts {
 public:
  uint32_t number(const std::string& text) {
    const auto [entry, is_new] = numbers_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return entry->second;
  }
  std::vector<std::string> take() { return std::move(texts_); }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> texts_;
};

std::string task_name(const ExecGraph& graph, uint32_t task) {
  const uint32_t row = graph.event[task];
  if (row == kNoIndex) return graph.kind[task] == TaskKind::kGap ? "a gap" : "untraced host time";
  const std::string_view name = graph.ranks[rank_index_of(graph, task)].table->name_of(row);
  return is_gpu_task(graph.kind[task]) ? short_kernel_name(name) : std::string(name);
}

std::string lane_label(const ExecGraph& graph, uint32_t processor) {
  const Processor& where = graph.processors[processor];
  const EventTable& table = *graph.ranks[where.rank_index].table;
  return fmt::format("{} {}", where.is_gpu ? "stream" : "thread", table.text(table.lanes[where.lane].tid_text));
}

/// "on stream 20" when the source ran elsewhere than `task`.
std::string place_of(const ExecGraph& graph, uint32_t source, uint32_t task) {
  if (graph.processor[source] == kNoProcessor || graph.processor[source] == graph.processor[task]) return "";
  std::string place = " on " + lane_label(graph, graph.processor[source]);
  const uint32_t rank = rank_index_of(graph, source);
  return rank == rank_index_of(graph, task) ? place : fmt::format("{} of rank {}", place, graph.ranks[rank].rank);
}

/// What decided when `task` began, as a sentence's end: "waited for ...".
std::string wait_text(const ExecGraph& graph, const Timeline& timeline, uint32_t task) {
  const uint32_t binding = timeline.binding[task];
  if (binding == kNoIndex) return "nothing: it was in flight at the start";
  const Edge& edge = graph.edges[binding];
  const std::string source = task_name(graph, edge.source) + place_of(graph, edge.source, task);
  switch (edge.kind) {
    case EdgeKind::kLaunch:
      return "its launch, " + source;
    case EdgeKind::kStream:
      return "the task before it on the stream, " + source;
    case EdgeKind::kInterStream:
      return source + (edge.recorded ? "" : " (inferred)");
    case EdgeKind::kRendezvous:
    case EdgeKind::kTransferOf:
      return "the last member of its group, " + source;
    case EdgeKind::kIssueOrder:
      return "kernels issued before it, " + source;
    case EdgeKind::kFirstWave:
    case EdgeKind::kQueue:
      return "room on the GPU beside " + source;
    default:
      return source;
  }
}

BoxKind box_kind(const ExecGraph& graph, uint32_t task, const std::vector<uint8_t>& communicates) {
  const TaskKind kind = graph.kind[task];
  if (kind == TaskKind::kMemcpy || kind == TaskKind::kMemset) return BoxKind::kCopy;
  if (kind == TaskKind::kTransfer) return BoxKind::kCommunication;
  const uint32_t row = graph.event[task];
  return row != kNoIndex && communicates[row] != 0 ? BoxKind::kCommunication : BoxKind::kCompute;
}

/// When a transfer's own kernel had begun on its stream, to wait for the others; its start where it did not wait.
int64_t arrival_ns(const ExecGraph& graph, const Timeline& timeline, uint32_t task) {
  for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
    if (graph.edges[e].kind == EdgeKind::kTransferOf) return timeline.end_ns[graph.edges[e].source];
  }
  return timeline.start_ns[task];
}

struct RawBox {
  int64_t start_ns;
  int64_t end_ns;
  BoxKind kind;
  uint32_t task;
};

using RawLanes = std::map<std::tuple<uint32_t, int64_t, uint32_t>, std::vector<RawBox>>;  // by rank, stream and lane

void collect_rank(const ExecGraph& graph, const Timeline& timeline, uint32_t rank_index, Window window,
                  RawLanes& lanes) {
  const RankTasks& rank = graph.ranks[rank_index];
  const std::vector<uint8_t> communicates = communication_rows(*rank.table);
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    if (!is_gpu_task(graph.kind[task]) || graph.processor[task] == kNoProcessor) continue;
    const Processor& where = graph.processors[graph.processor[task]];
    if (!where.is_gpu || timeline.end_ns[task] <= window.start_ns || timeline.start_ns[task] >= window.end_ns) continue;
    std::vector<RawBox>& boxes = lanes[{rank_index, rank.table->lanes[where.lane].tid, where.lane}];
    const auto add = [&](int64_t start_ns, int64_t end_ns, BoxKind kind) {
      start_ns = std::max(start_ns, window.start_ns);
      end_ns = std::min(end_ns, window.end_ns);
      if (end_ns > start_ns) boxes.push_back({start_ns, end_ns, kind, task});
    };
    if (graph.kind[task] == TaskKind::kTransfer) {
      add(arrival_ns(graph, timeline, task), timeline.start_ns[task], BoxKind::kWait);
    }
    add(timeline.start_ns[task], timeline.end_ns[task], box_kind(graph, task, communicates));
  }
}

/// Joins neighbours of one kind that are shorter and closer than `resolution_ns`. A box of each run's first task.
struct Thinned {
  RawBox box;
  uint32_t merged = 1;
};

std::vector<Thinned> thin(const std::vector<RawBox>& boxes, int64_t resolution_ns) {
  std::vector<Thinned> out;
  for (const RawBox& box : boxes) {
    if (!out.empty()) {
      Thinned& last = out.back();
      const bool near = box.start_ns - last.box.end_ns < resolution_ns && box.end_ns - box.start_ns < resolution_ns;
      const bool last_is_small = last.merged > 1 || last.box.end_ns - last.box.start_ns < resolution_ns;
      if (near && last_is_small && last.box.kind == box.kind) {
        last.box.end_ns = std::max(last.box.end_ns, box.end_ns);
        ++last.merged;
        continue;
      }
    }
    out.push_back({box, 1});
  }
  return out;
}

size_t count_boxes(const RawLanes& lanes, int64_t resolution_ns) {
  size_t count = 0;
  for (const auto& [key, boxes] : lanes) count += thin(boxes, resolution_ns).size();
  return count;
}

/// The finest resolution, doubling from a nanosecond's worth of a screen, at which the boxes are few enough.
int64_t choose_resolution(const RawLanes& lanes, int64_t length_ns, size_t most_boxes) {
  constexpr int64_t kFinest = 1 << 16;  // Of a step: finer than a screen can zoom without leaving the data behind.
  if (count_boxes(lanes, 0) <= most_boxes) return 0;
  int64_t resolution_ns = std::max<int64_t>(1, length_ns / kFinest);
  while (resolution_ns < length_ns && count_boxes(lanes, resolution_ns) > most_boxes) resolution_ns *= 2;
  return resolution_ns;
}

PictureLane schedule_lane(int32_t rank, const std::vector<PassBox>& passes, int64_t zero_ns, Texts& texts) {
  constexpr BoxKind kKinds[] = {BoxKind::kForward, BoxKind::kBackward, BoxKind::kUpdate};
  PictureLane lane{rank, "schedule", {}};
  for (const PassBox& pass : passes) {
    lane.boxes.push_back({pass.start_ns - zero_ns, pass.end_ns - pass.start_ns, kKinds[static_cast<size_t>(pass.kind)],
                          texts.number(pass.name), texts.number(""), 1});
  }
  return lane;
}

}  // namespace

LanePicture lane_picture(const ExecGraph& graph, const Timeline& timeline, const std::vector<uint32_t>& steps,
                         const std::vector<std::vector<PassBox>>& schedules, size_t most_boxes) {
  std::vector<Window> windows(graph.ranks.size());
  int64_t first_ns = INT64_MAX;
  for (uint32_t r = 0; r < graph.ranks.size(); ++r) {
    if (steps[r] == kNoIndex) continue;
    windows[r] = simulated_window(timeline, graph.ranks[r].steps[steps[r]]);
    first_ns = std::min(first_ns, windows[r].start_ns);
  }
  const bool one_clock = !graph.order.empty();
  LanePicture picture;
  RawLanes raw;
  std::vector<int64_t> zero_ns(graph.ranks.size(), 0);
  for (uint32_t r = 0; r < graph.ranks.size(); ++r) {
    if (steps[r] == kNoIndex) continue;
    zero_ns[r] = one_clock ? first_ns : windows[r].start_ns;
    picture.length_ns = std::max(picture.length_ns, windows[r].end_ns - zero_ns[r]);
    collect_rank(graph, timeline, r, windows[r], raw);
  }
  for (auto& [key, boxes] : raw) {
    std::stable_sort(boxes.begin(), boxes.end(),
                     [](const RawBox& a, const RawBox& b) { return a.start_ns < b.start_ns; });
  }
  picture.resolution_ns = choose_resolution(raw, picture.length_ns, most_boxes);
  Texts texts;
  uint32_t scheduled = 0;  // Ranks whose schedule has its lane.
  const auto add_schedules = [&](uint32_t until) {
    for (; scheduled < std::min<size_t>(until, schedules.size()); ++scheduled) {
      if (schedules[scheduled].empty()) continue;
      picture.lanes.push_back(
          schedule_lane(graph.ranks[scheduled].rank, schedules[scheduled], zero_ns[scheduled], texts));
    }
  };
  for (const auto& [key, boxes] : raw) {
    const auto& [r, stream, lane] = key;
    add_schedules(r + 1);
    const EventTable& table = *graph.ranks[r].table;
    PictureLane out{graph.ranks[r].rank, fmt::format("stream {}", table.text(table.lanes[lane].tid_text)), {}};
    for (const auto& [box, merged] : thin(boxes, picture.resolution_ns)) {
      out.boxes.push_back({box.start_ns - zero_ns[r], box.end_ns - box.start_ns, box.kind,
                           texts.number(task_name(graph, box.task)), texts.number(wait_text(graph, timeline, box.task)),
                           merged});
    }
    if (!out.boxes.empty()) picture.lanes.push_back(std::move(out));
  }
  picture.texts = texts.take();
  return picture;
}

std::string lane_json(const LanePicture& picture) {
  JsonWriter json;
  json.begin_object().member("length", picture.length_ns).member("resolution", picture.resolution_ns);
  json.key("texts").begin_array();
  for (const std::string& text : picture.texts) json.value(text);
  json.end_array().key("lanes").begin_array();
  for (const PictureLane& lane : picture.lanes) {
    json.begin_object().member("rank", lane.rank).member("label", lane.label).key("boxes").begin_array();
    int64_t reached_ns = 0;
    for (const LaneBox& box : lane.boxes) {
      json.value(box.start_ns - reached_ns).value(box.length_ns).value(static_cast<int64_t>(box.kind));
      json.value(box.name).value(box.wait).value(box.merged);
      reached_ns = box.start_ns + box.length_ns;
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return json.text();
}

std::string lane_html(const LanePicture& picture) {
  constexpr double kWidth = 10'000;  // Units across, whatever the page's width.
  constexpr int kHeight = 10;
  std::string out;
  const double scale = picture.length_ns > 0 ? kWidth / static_cast<double>(picture.length_ns) : 0;
  int32_t rank_above = -1;
  for (const PictureLane& lane : picture.lanes) {
    std::string paths[static_cast<size_t>(BoxKind::kCount)];
    for (const LaneBox& box : lane.boxes) {
      const auto from = static_cast<int64_t>(static_cast<double>(box.start_ns) * scale);
      const auto width = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(box.length_ns) * scale + 0.5));
      paths[static_cast<size_t>(box.kind)] += fmt::format("M{} 0h{}v{}h-{}z", from, width, kHeight, width);
    }
    out += fmt::format(
        "<div class=\"lane{4}\"><span class=\"label\">rank {0} {1}</span><svg viewBox=\"0 0 {2} {3}\" "
        "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"rank {0}, {1}\">",
        lane.rank, html_escape(lane.label), static_cast<int>(kWidth), kHeight, lane.rank == rank_above ? "" : " first");
    rank_above = lane.rank;
    for (size_t kind = 0; kind < std::size(paths); ++kind) {
      if (paths[kind].empty()) continue;
      out += fmt::format("<path class=\"{}\" d=\"{}\"/>", box_kind_name(static_cast<BoxKind>(kind)), paths[kind]);
    }
    out += "</svg></div>\n";
  }
  return out;
}

std::string_view box_kind_name(BoxKind kind) {
  switch (kind) {
    case BoxKind::kCompute:
      return "compute";
    case BoxKind::kCommunication:
      return "communication";
    case BoxKind::kCopy:
      return "copy";
    case BoxKind::kForward:
      return "forward";
    case BoxKind::kBackward:
      return "backward";
    case BoxKind::kUpdate:
      return "update";
    case BoxKind::kWait:
    case BoxKind::kCount:
      break;
  }
  return "wait";
}

}  // namespace lumos
