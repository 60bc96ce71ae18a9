#include "lumos/trace/sets/split_ranks.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "lumos/trace/sets/rank_of_file.h"
#include "lumos/trace/table/launch_flows.h"

namespace lumos {

namespace {

/// One rank: the processes of its lanes (a device is a process, too) and what it is ordered and numbered by.
struct Part {
  std::set<NameId> processes;
  std::optional<int32_t> rank;
  std::string label;
  int64_t device = std::numeric_limits<int64_t>::max();
};

bool marks_step(const EventTable& table, uint32_t row) {
  return table.kind[row] == EventKind::kAnnotation && table.name_of(row).starts_with("ProfilerStep");
}

/// The rank that a text names: "rank 3", "Rank-03: python".
std::optional<int32_t> rank_in(std::string_view text) {
  constexpr std::string_view kWord = "rank";
  const auto at = std::search(text.begin(), text.end(), kWord.begin(), kWord.end(),
                              [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
  if (at == text.end()) return std::nullopt;
  if (text.substr(static_cast<size_t>(at - text.begin()) + kWord.size()).find(kWord) != std::string_view::npos) {
    return std::nullopt;  // of several groups: none of them is the job's
  }
  // Slashes would make a path of it.
  std::string rest(at, text.end());
  std::replace(rest.begin(), rest.end(), '/', ' ');
  return rank_of_file_name(rest);
}

/// What a merging tool put before the process id: "[TP01-PP00]" of "[TP01-PP00] 4711".
std::string_view prefix_of(std::string_view pid) {
  if (!pid.starts_with('[')) return {};
  const size_t end = pid.find(']');
  return end == std::string_view::npos ? std::string_view{} : pid.substr(0, end + 1);
}

/// The lanes that a rank cannot do without: with work of a GPU, calls to it or marks of steps.
std::vector<bool> working_lanes(const EventTable& table) {
  std::vector<bool> working(table.lanes.size(), false);
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (working[table.lane[row]]) continue;
    const EventKind kind = table.kind[row];
    working[table.lane[row]] = is_gpu_work(kind) || kind == EventKind::kRuntime || marks_step(table, row);
  }
  return working;
}

/// Nearly all files: then nothing else is looked at.
bool has_one_process(const EventTable& table, const std::vector<bool>& working) {
  std::set<NameId> processes;
  for (size_t i = 0; i < table.lanes.size(); ++i) {
    if (working[i] && !table.lanes[i].is_gpu) processes.insert(table.lanes[i].pid_text);
  }
  return processes.size() < 2;
}

/// By what the pids or the names of the processes say; empty where a working lane says nothing.
std::vector<Part> parts_by_label(const EventTable& table, const std::vector<bool>& working) {
  std::map<std::string, Part> parts;
  for (size_t i = 0; i < table.lanes.size(); ++i) {
    const Lane& lane = table.lanes[i];
    const std::string_view pid = table.text(lane.pid_text);
    std::optional<int32_t> rank = rank_in(pid);
    if (!rank && lane.process != kNoName) rank = rank_in(table.text(lane.process));
    const std::string label = rank ? std::to_string(*rank) : std::string(prefix_of(pid));
    if (label.empty()) {
      if (working[i]) return {};
      continue;
    }
    Part& part = parts[label];
    part.rank = rank;
    part.label = label;
    part.processes.insert(lane.pid_text);
  }
  std::vector<Part> out;
  std::set<NameId> seen;
  for (auto& [label, part] : parts) {
    for (NameId process : part.processes) {
      if (!seen.insert(process).second) return {};
    }
    out.push_back(std::move(part));
  }
  return out;
}

/// By who launches where; empty where a device serves several processes, or a process that launches has none.
std::vector<Part> parts_by_launches(const EventTable& table) {
  std::map<NameId, Part> parts;                           // by the process of the host
  std::map<NameId, std::map<NameId, uint64_t>> launched;  // by device and process
  const auto process_of = [&](uint32_t row) { return table.lanes[table.lane[row]].pid_text; };
  for (const LaunchFlow& flow : launch_flows(table)) ++launched[process_of(flow.work)][process_of(flow.call)];
  std::set<NameId> stepping;
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (marks_step(table, row)) stepping.insert(process_of(row));
  }
  for (const auto& [device, by_process] : launched) {
    if (by_process.size() > 1) return {};
    parts[by_process.begin()->first].processes.insert(device);
  }
  // Without a GPU the marks of steps tell the ranks; with them all that step must launch.
  for (NameId process : stepping) {
    if (!launched.empty() && parts.count(process) == 0) return {};
    parts[process];
  }
  std::vector<Part> out;
  for (auto& [process, part] : parts) {
    for (const Lane& lane : table.lanes) {
      if (lane.is_gpu && lane.pid >= 0 && part.processes.count(lane.pid_text) > 0)
        part.device = std::min(part.device, lane.pid);
    }
    part.processes.insert(process);
    part.label = std::string(table.text(process));
    out.push_back(std::move(part));
  }
  return out;
}

/// Keeps the details that `uses` name, in the order in which they do, and no others.
template <class T>
void keep_used(std::vector<T>& details, const std::vector<uint32_t*>& uses) {
  std::vector<uint32_t> place(details.size(), kNoIndex);
  std::vector<T> kept;
  for (uint32_t* use : uses) {
    if (*use == kNoIndex) continue;
    uint32_t& at = place[*use];
    if (at == kNoIndex) {
      at = static_cast<uint32_t>(kept.size());
      kept.push_back(details[*use]);
    }
    *use = at;
  }
  details = std::move(kept);
}

template <class T>
std::vector<T> chosen(const std::vector<T>& column, const std::vector<uint32_t>& rows) {
  std::vector<T> out;
  out.reserve(rows.size());
  for (uint32_t row : rows) out.push_back(column[row]);
  return out;
}

/// `out` has its rows, lanes and flows; its details are still those of the whole table.
void take_details(EventTable& out, const EventTable& table) {
  std::vector<uint32_t*> gpu, ops, syncs, collectives;
  for (uint32_t row = 0; row < out.size(); ++row) {
    const EventKind kind = out.kind[row];
    if (is_gpu_work(kind)) gpu.push_back(&out.detail[row]);
    if (kind == EventKind::kCpuOp || kind == EventKind::kAnnotation) ops.push_back(&out.detail[row]);
    if (kind == EventKind::kSync) syncs.push_back(&out.detail[row]);
  }
  out.gpu = table.gpu, out.ops = table.ops, out.syncs = table.syncs, out.collectives = table.collectives;
  keep_used(out.gpu, gpu);
  keep_used(out.ops, ops);
  keep_used(out.syncs, syncs);
  for (GpuDetail& detail : out.gpu) collectives.push_back(&detail.collective);
  for (OpDetail& detail : out.ops) collectives.push_back(&detail.collective);
  keep_used(out.collectives, collectives);
}

EventTable table_of(const EventTable& table, const std::vector<uint32_t>& rows, const std::vector<bool>& own_lane) {
  EventTable out;
  out.names = table.names;
  out.ts_ns = chosen(table.ts_ns, rows), out.dur_ns = chosen(table.dur_ns, rows);
  out.name = chosen(table.name, rows), out.lane = chosen(table.lane, rows), out.kind = chosen(table.kind, rows);
  out.correlation = chosen(table.correlation, rows), out.external_id = chosen(table.external_id, rows);
  out.detail = chosen(table.detail, rows);
  std::vector<uint32_t> place(table.lanes.size(), kNoIndex);
  for (size_t i = 0; i < table.lanes.size(); ++i) {
    if (!own_lane[i]) continue;
    place[i] = static_cast<uint32_t>(out.lanes.size());
    out.lanes.push_back(table.lanes[i]);
  }
  for (uint32_t& lane : out.lane) lane = place[lane];
  for (FlowEnd flow : table.fwdbwd) {
    if (!own_lane[flow.lane]) continue;
    flow.lane = place[flow.lane];
    out.fwdbwd.push_back(flow);
  }
  take_details(out, table);
  return out;
}

/// What the file says of itself; what was counted over the whole file stays with part `home`.
void set_info(std::vector<EventTable>& tables, const std::vector<Part>& parts, size_t home, TraceInfo info) {
  std::set<int32_t> numbers;
  for (const Part& part : parts) {
    if (part.rank) numbers.insert(*part.rank);
  }
  const bool numbered = numbers.size() == parts.size();
  uint64_t others = 0;
  for (size_t i = 0; i < tables.size(); ++i) others += i == home ? 0 : tables[i].size();
  for (size_t i = 0; i < tables.size(); ++i) {
    TraceInfo& own = tables[i].info;
    own = info;
    own.rank = numbered ? *parts[i].rank : -1;
    own.rank_source = TraceInfo::RankSource::kProcess;
    own.events = i == home ? info.events - std::min(info.events, others) : tables[i].size();
    if (i == home) continue;
    own.decoded_bytes = own.left_out_python = own.left_out_flows = own.left_out_other = 0;
    own.truncated = false;
    own.issues.clear();
  }
}

}  // namespace

std::vector<EventTable> split_ranks(EventTable table) {
  const std::vector<bool> working = working_lanes(table);
  std::vector<Part> parts;
  if (!has_one_process(table, working)) {
    parts = parts_by_label(table, working);
    if (parts.size() < 2) parts = parts_by_launches(table);
  }
  std::vector<EventTable> out;
  if (parts.size() < 2) {
    out.push_back(std::move(table));
    return out;
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    if (a.device != b.device) return a.device < b.device;
    return a.label.size() != b.label.size() ? a.label.size() < b.label.size() : a.label < b.label;
  });
  // Processes of nobody (data loaders, the profiler's own) stay with the first.
  std::map<NameId, size_t> part_of_process;
  for (size_t i = 0; i < parts.size(); ++i) {
    for (NameId process : parts[i].processes) part_of_process[process] = i;
  }
  std::vector<size_t> part_of_lane;
  for (const Lane& lane : table.lanes) {
    const auto found = part_of_process.find(lane.pid_text);
    part_of_lane.push_back(found == part_of_process.end() ? 0 : found->second);
  }
  std::vector<std::vector<uint32_t>> rows(parts.size());
  for (uint32_t row = 0; row < table.size(); ++row) rows[part_of_lane[table.lane[row]]].push_back(row);
  for (size_t i = 0; i < parts.size(); ++i) {
    std::vector<bool> own;
    for (size_t part : part_of_lane) own.push_back(part == i);
    out.push_back(table_of(table, rows[i], own));
  }
  // Where reading stopped is said of the rank whose event was the last.
  const size_t home = table.size() == 0 ? 0 : part_of_lane[table.lane.back()];
  set_info(out, parts, home, std::move(table.info));
  return out;
}

}  // namespace lumos
