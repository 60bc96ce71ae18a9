#include "lumos/program/forecast_table.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "lumos/base/result.h"
#include "lumos/trace/table/nesting.h"

namespace lumos {
namespace {

/// One row of a placed block: the event it repeats, and when.
struct Piece {
  uint32_t rank = 0;   ///< index into Program::ranks
  uint32_t event = 0;  ///< row of its table
  uint32_t block = 0;  ///< placed block
  uint16_t lane = kNoLane;
  uint32_t repeat = 0;  ///< communication that was put in has one event, however often a block runs it
  int64_t start_ns = std::numeric_limits<int64_t>::max();
  int64_t end_ns = std::numeric_limits<int64_t>::min();
};

class TableMaker {
 public:
  TableMaker(const Program& program, const ForecastRun& run, uint32_t rank_index)
      : program_(program), run_(run), rank_(run.graph.ranks[rank_index]), names_(std::make_shared<NamePool>()) {}

  EventTable make(int32_t world_size) {
    collect_pieces();
    cover_children();
    for (const Piece& piece : pieces_) add_row(piece);
    add_step();
    out_.names = names_;
    out_.info.rank = rank_.rank;
    out_.info.world_size = world_size;
    if (rank_.table) {
      out_.info.devices = rank_.table->info.devices;
      out_.info.backend = rank_.table->info.backend;
    }
    return std::move(out_);
  }

 private:
  const EventTable& source(uint32_t rank) const { return *program_.ranks[rank].table; }

  static bool is_step(const EventTable& table, uint32_t row) {
    return table.kind[row] == EventKind::kAnnotation && table.name_of(row).starts_with("ProfilerStep");
  }

  void collect_pieces() {
    for (uint32_t task = rank_.first_task; task < rank_.end_task; ++task) {
      const TaskOrigin& origin = run_.origins[task];
      if (origin.row == kNoIndex || origin.lane == kNoLane) continue;
      if (is_step(source(origin.rank), origin.row)) continue;
      auto [found, fresh] =
          index_.try_emplace({origin.block, origin.row, origin.lane}, static_cast<uint32_t>(pieces_.size()));
      if (fresh) pieces_.push_back({origin.rank, origin.row, origin.block, origin.lane});
      if (begins_again(run_.graph.kind[task], found->second)) {
        pieces_.push_back({origin.rank, origin.row, origin.block, origin.lane, pieces_[found->second].repeat + 1});
        found->second = static_cast<uint32_t>(pieces_.size() - 1);
        begun_.insert(found->second);
      }
      Piece& piece = pieces_[found->second];
      piece.start_ns = std::min(piece.start_ns, run_.timeline.start_ns[task]);
      piece.end_ns = std::max(piece.end_ns, run_.timeline.end_ns[task]);
    }
  }

  /// Whether a task begins another run of the event of `piece`: each has one arrival, or one call.
  bool begins_again(TaskKind kind, uint32_t piece) {
    return (kind == TaskKind::kArrive || kind == TaskKind::kCall) && !begun_.insert(piece).second;
  }

  /// What encloses others in the trace encloses them here: its own tasks leave their time out.
  void cover_children() {
    std::map<uint32_t, Nesting> nested;
    std::map<uint32_t, std::vector<uint32_t>> depth;
    for (const Piece& piece : pieces_) {
      if (nested.count(piece.rank)) continue;
      const Nesting& rows = nested.emplace(piece.rank, nesting(source(piece.rank))).first->second;
      std::vector<uint32_t>& depths = depth[piece.rank];
      depths.assign(rows.parent.size(), 0);
      for (uint32_t row : rows.order)
        if (rows.parent[row] != kNoIndex) depths[row] = depths[rows.parent[row]] + 1;
    }
    std::vector<uint32_t> deepest_first(pieces_.size());
    for (uint32_t i = 0; i < pieces_.size(); ++i) deepest_first[i] = i;
    std::stable_sort(deepest_first.begin(), deepest_first.end(), [&](uint32_t a, uint32_t b) {
      return depth[pieces_[a].rank][pieces_[a].event] > depth[pieces_[b].rank][pieces_[b].event];
    });
    for (uint32_t i : deepest_first) {
      const Piece& piece = pieces_[i];
      const std::vector<uint32_t>& parents = nested.at(piece.rank).parent;
      uint32_t parent = parents[piece.event];
      for (; parent != kNoIndex; parent = parents[parent]) {
        auto found = index_.find({piece.block, parent, piece.lane});
        if (found == index_.end()) continue;
        Piece& around = pieces_[found->second];
        around.start_ns = std::min(around.start_ns, piece.start_ns);
        around.end_ns = std::max(around.end_ns, piece.end_ns);
        break;
      }
    }
  }

  NameId name(const EventTable& from, NameId id) { return id == kNoName ? kNoName : names_->intern(from.text(id)); }

  void add_row(const Piece& piece) {
    const EventTable& from = source(piece.rank);
    push(names_->intern(from.name_of(piece.event)), lane_of(piece), from.kind[piece.event], piece.start_ns,
         piece.end_ns - piece.start_ns);
    const int64_t correlation = from.correlation[piece.event];
    if (correlation > 0) out_.correlation.back() = number_of({piece.rank, piece.block, piece.repeat, correlation});
    const uint32_t external = from.external_id[piece.event];
    if (external > 0)
      out_.external_id.back() =
          static_cast<uint32_t>(number_of({piece.rank, piece.block, piece.repeat, -int64_t{external}}));
    if (is_gpu_work(from.kind[piece.event])) add_gpu_detail(from, piece.event);
  }

  void push(NameId name, uint32_t lane, EventKind kind, int64_t ts_ns, int64_t dur_ns) {
    out_.ts_ns.push_back(ts_ns);
    out_.dur_ns.push_back(dur_ns);
    out_.name.push_back(name);
    out_.lane.push_back(lane);
    out_.kind.push_back(kind);
    out_.correlation.push_back(-1);
    out_.external_id.push_back(0);
    out_.detail.push_back(kNoIndex);
  }

  /// Correlations and external ids of each placed block are its own.
  int64_t number_of(const std::tuple<uint32_t, uint32_t, uint32_t, int64_t>& key) {
    return numbers_.try_emplace(key, static_cast<int64_t>(numbers_.size()) + 1).first->second;
  }

  void add_gpu_detail(const EventTable& from, uint32_t event) {
    const GpuDetail* detail = from.gpu_detail(event);
    if (!detail) return;
    auto [found, fresh] = details_.try_emplace({&from, detail}, static_cast<uint32_t>(out_.gpu.size()));
    if (fresh) {
      GpuDetail copy = *detail;
      if (detail->collective != kNoIndex) {
        CollectiveDetail collective;
        const CollectiveDetail& like = from.collectives[detail->collective];
        collective.collective = name(from, like.collective);
        collective.dtype = name(from, like.dtype);
        collective.group_name = name(from, like.group_name);
        collective.group_desc = name(from, like.group_desc);
        copy.collective = static_cast<uint32_t>(out_.collectives.size());
        out_.collectives.push_back(collective);
      }
      out_.gpu.push_back(copy);
    }
    out_.detail.back() = found->second;
  }

  uint32_t lane_of(const Piece& piece) {
    auto [found, fresh] = lanes_.try_emplace(piece.lane, static_cast<uint32_t>(out_.lanes.size()));
    if (!fresh) return found->second;
    const LaneKey key = program_.lanes[piece.lane];
    const EventTable& from = source(piece.rank);
    Lane lane = from.lanes[from.lane[piece.event]];
    if (key.is_gpu)
      for (const Lane& like : from.lanes)
        if (like.is_gpu && like.tid == key.number) lane = like;
    lane.pid_text = name(from, lane.pid_text);
    lane.tid_text = name(from, lane.tid_text);
    lane.label = name(from, lane.label);
    lane.process = name(from, lane.process);
    // Blocks come from several ranks, but what runs them here is one process on one device.
    const auto alike = std::find_if(out_.lanes.begin(), out_.lanes.end(),
                                    [&](const Lane& other) { return other.is_gpu == lane.is_gpu; });
    if (alike != out_.lanes.end()) {
      lane.pid = alike->pid;
      lane.pid_text = alike->pid_text;
      lane.process = alike->process;
    }
    out_.lanes.push_back(lane);
    if (!key.is_gpu && key.number == 0) main_lane_ = found->second;
    return found->second;
  }

  void add_step() {
    if (rank_.steps.empty() || out_.size() == 0) return;
    const Step& step = rank_.steps.front();
    const int64_t begin = run_.timeline.start_ns[step.first_task];
    int64_t end = step.last_task == kNoIndex ? begin : run_.timeline.end_ns[step.last_task];
    for (uint32_t task : step.last_gpu_tasks) end = std::max(end, run_.timeline.end_ns[task]);
    push(names_->intern("ProfilerStep#0"), main_lane_, EventKind::kAnnotation, begin, end - begin);
  }

  const Program& program_;
  const ForecastRun& run_;
  const RankTasks& rank_;
  std::shared_ptr<NamePool> names_;
  EventTable out_;
  std::vector<Piece> pieces_;
  std::set<uint32_t> begun_;                                            ///< pieces whose arrival or call has come
  std::map<std::tuple<uint32_t, uint32_t, uint16_t>, uint32_t> index_;  ///< the last piece of each
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, int64_t>, int64_t> numbers_;
  std::map<std::pair<const EventTable*, const GpuDetail*>, uint32_t> details_;
  std::map<uint16_t, uint32_t> lanes_;
  uint32_t main_lane_ = 0;
};

}  // namespace

EventTable forecast_table(const Program& program, const ForecastRun& run, uint32_t rank_index, int32_t world_size) {
  CHECK(rank_index < run.graph.ranks.size());
  return TableMaker(program, run, rank_index).make(world_size);
}

}  // namespace lumos
