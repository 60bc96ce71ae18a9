#include "lumos/graph/host/host_program.h"

#include <algorithm>

namespace lumos {

namespace {

bool on_host(EventKind kind) {
  return kind == EventKind::kCpuOp || kind == EventKind::kAnnotation || kind == EventKind::kRuntime ||
         kind == EventKind::kModule || kind == EventKind::kOverhead;
}

// Outer events first where two begin together: annotations hold modules, modules hold operators, these hold calls.
int nesting_rank(EventKind kind) {
  switch (kind) {
    case EventKind::kAnnotation:
      return 0;
    case EventKind::kModule:
      return 1;
    case EventKind::kCpuOp:
      return 2;
    case EventKind::kRuntime:
      return 3;
    default:
      return 4;
  }
}

// Cuts the events of one thread, given in nesting order, into exclusive segments.
class ThreadCutter {
 public:
  ThreadCutter(const EventTable& table, HostProgram& out, uint32_t thread)
      : table_(table), out_(out), thread_(thread), now_(out.origin_ns) {}

  void add(uint32_t row) {
    const int64_t start = std::max(now_, table_.ts_ns[row]);
    close_until(table_.ts_ns[row]);
    emit(start);
    out_.parent[row] = open_.empty() ? kNoIndex : open_.back().row;
    open_.push_back({row, std::max(start, table_.end_ns(row)), true});
  }

  void finish() { close_until(INT64_MAX); }

 private:
  struct Open {
    uint32_t row;
    int64_t end_ns;
    bool untouched;  // no segment emitted yet
  };

  void close_until(int64_t time) {
    while (!open_.empty() && open_.back().end_ns <= time) {
      emit(open_.back().end_ns);
      const int64_t end = now_;
      open_.pop_back();
      if (!open_.empty()) open_.back().end_ns = std::max(open_.back().end_ns, end);
    }
  }

  // The segment from now to `until` belongs to the innermost open event. Empty ones are kept only where a call begins.
  void emit(int64_t until) {
    const uint32_t row = open_.empty() ? kNoIndex : open_.back().row;
    const bool first = !open_.empty() && open_.back().untouched;
    const bool call = first && table_.kind[row] == EventKind::kRuntime;
    if (until > now_ || call) {
      if (first) {
        out_.segment_of_row[row] = static_cast<uint32_t>(out_.segments.size());
        open_.back().untouched = false;
      }
      until = std::max(until, now_);
      out_.segments.push_back({row, thread_, now_, until, call});
      now_ = until;
    }
  }

  const EventTable& table_;
  HostProgram& out_;
  uint32_t thread_;
  int64_t now_;
  std::vector<Open> open_;
};

std::string lane_name(const EventTable& table, uint32_t lane) {
  const Lane& l = table.lanes[lane];
  std::string name = "thread " + std::string(table.text(l.tid_text));
  if (l.label != kNoName) name += " (" + std::string(table.text(l.label)) + ")";
  return name;
}

// A thread that only asks whether events are done holds nobody up; profiler bookkeeping alone is no program either.
bool only_polls(const EventTable& table, const std::vector<uint32_t>& rows) {
  for (uint32_t row : rows) {
    if (table.kind[row] == EventKind::kOverhead) continue;
    if (table.kind[row] != EventKind::kRuntime || call_kind(table.name_of(row)) != CallKind::kPoll) return false;
  }
  return true;
}

}  // namespace

HostProgram build_host_program(const EventTable& table) {
  HostProgram out;
  const uint32_t count = static_cast<uint32_t>(table.size());
  out.segment_of_row.assign(count, kNoIndex);
  out.parent.assign(count, kNoIndex);
  std::vector<std::vector<uint32_t>> by_lane(table.lanes.size());
  int64_t origin = count ? INT64_MAX : 0;
  for (uint32_t row = 0; row < count; ++row) {
    if (on_host(table.kind[row])) by_lane[table.lane[row]].push_back(row);
    if (on_host(table.kind[row]) || is_gpu_work(table.kind[row])) origin = std::min(origin, table.ts_ns[row]);
  }
  out.origin_ns = origin == INT64_MAX ? 0 : origin;
  out.segments.reserve(count + count / 2);
  std::vector<CallKind> kind_of_name(table.names->size());
  std::vector<bool> kind_known(table.names->size(), false);

  for (uint32_t lane = 0; lane < by_lane.size(); ++lane) {
    std::vector<uint32_t>& rows = by_lane[lane];
    if (rows.empty()) continue;
    if (only_polls(table, rows)) {
      out.left_out.push_back(lane_name(table, lane));
      continue;
    }
    std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
      if (table.ts_ns[a] != table.ts_ns[b]) return table.ts_ns[a] < table.ts_ns[b];
      if (table.dur_ns[a] != table.dur_ns[b]) return table.dur_ns[a] > table.dur_ns[b];
      const int ra = nesting_rank(table.kind[a]), rb = nesting_rank(table.kind[b]);
      return ra != rb ? ra < rb : a < b;
    });
    const uint32_t thread = static_cast<uint32_t>(out.threads.size());
    HostThread entry{lane, static_cast<uint32_t>(out.segments.size()), 0};
    ThreadCutter cutter(table, out, thread);
    for (uint32_t row : rows) {
      cutter.add(row);
      if (table.kind[row] == EventKind::kRuntime) {
        const uint32_t name = static_cast<uint32_t>(table.name[row]);
        if (!kind_known[name]) {
          kind_of_name[name] = call_kind(table.name_of(row));
          kind_known[name] = true;
        }
        out.calls.push_back({row, thread, kind_of_name[name]});
      }
    }
    cutter.finish();
    entry.end_segment = static_cast<uint32_t>(out.segments.size());
    out.threads.push_back(entry);
  }
  std::sort(out.calls.begin(), out.calls.end(), [&](const HostCall& a, const HostCall& b) {
    return table.ts_ns[a.row] != table.ts_ns[b.row] ? table.ts_ns[a.row] < table.ts_ns[b.row] : a.row < b.row;
  });
  return out;
}

}  // namespace lumos
