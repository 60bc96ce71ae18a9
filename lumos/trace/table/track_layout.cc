#include "lumos/trace/table/track_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace lumos {

namespace {

// The profiler rounds starts and ends to the microsecond on their own, so a child may outlast its parent by one.
constexpr int64_t kRoundingNs = 1000;

struct OpenSlice {
  int64_t end_ns;
  bool encloses;
};

/// Numbers for extra tracks, unused by the process so far.
class FreeTids {
 public:
  explicit FreeTids(const EventTable& table) {
    for (const Lane& lane : table.lanes) {
      int64_t& next = next_[lane.pid_text];
      next = std::max(next, lane.tid + 1);
    }
  }
  std::string take(const Lane& lane) { return std::to_string(next_[lane.pid_text]++); }

 private:
  std::map<NameId, int64_t> next_;
};

std::string lane_name(const EventTable& table, const Lane& lane) {
  if (lane.label != kNoName) return std::string(table.text(lane.label));
  return fmt::format("{} {}", lane.is_gpu ? "stream" : "thread", table.text(lane.tid_text));
}

class Layout {
 public:
  Layout(const EventTable& table, const Nesting& nested) : table_(table), nested_(nested), free_tids_(table) {
    result_.track.resize(table.size());
    result_.shown_ns = table.dur_ns;
    tracks_of_lane_.resize(table.lanes.size());
    std::set<std::pair<NameId, NameId>> taken;
    for (uint32_t l = 0; l < table.lanes.size(); ++l) {
      const Lane& lane = table.lanes[l];
      // A thread and a stream of the same numbers are two lanes of one pid and tid: the later one gets another.
      const bool fresh = taken.insert({lane.pid_text, lane.tid_text}).second;
      add_track(l, 0, fresh ? std::string(table.text(lane.tid_text)) : free_tids_.take(lane), lane_name(table, lane));
    }
  }

  TrackLayout run() {
    for (uint32_t row : nested_.order) place(row);
    return std::move(result_);
  }

 private:
  void add_track(uint32_t lane, uint32_t overflow, std::string tid, std::string name) {
    tracks_of_lane_[lane].push_back(static_cast<uint32_t>(result_.tracks.size()));
    result_.tracks.push_back({lane, overflow, std::move(tid), std::move(name)});
    open_.emplace_back();
  }

  void place(uint32_t row) {
    const uint32_t lane = table_.lane[row];
    for (uint32_t track : tracks_of_lane_[lane]) {
      if (fits(row, open_[track])) return put(row, track);
    }
    const auto overflow = static_cast<uint32_t>(tracks_of_lane_[lane].size());
    add_track(lane, overflow, free_tids_.take(table_.lanes[lane]),
              fmt::format("{} (overlap {})", lane_name(table_, table_.lanes[lane]), overflow));
    put(row, tracks_of_lane_[lane].back());
  }

  bool fits(uint32_t row, std::vector<OpenSlice>& open) const {
    while (!open.empty() && open.back().end_ns <= table_.ts_ns[row]) open.pop_back();
    if (open.empty()) return true;
    const int64_t slack_ns = table_.lanes[table_.lane[row]].is_gpu ? 0 : kRoundingNs;
    return open.back().encloses && table_.end_ns(row) <= open.back().end_ns + slack_ns;
  }

  void put(uint32_t row, uint32_t track) {
    std::vector<OpenSlice>& open = open_[track];
    int64_t end_ns = table_.end_ns(row);
    if (!open.empty()) end_ns = std::min(end_ns, open.back().end_ns);
    open.push_back({end_ns, !is_gpu_work(table_.kind[row])});
    result_.track[row] = track;
    result_.shown_ns[row] = end_ns - table_.ts_ns[row];
  }

  const EventTable& table_;
  const Nesting& nested_;
  FreeTids free_tids_;
  TrackLayout result_;
  std::vector<std::vector<uint32_t>> tracks_of_lane_;
  std::vector<std::vector<OpenSlice>> open_;  // Per track, outermost first.
};

}  // namespace

TrackLayout track_layout(const EventTable& table, const Nesting& nested) { return Layout(table, nested).run(); }

}  // namespace lumos
