#include "lumos/graph/waits/communicators.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "lumos/graph/host/collective.h"

namespace lumos {

namespace {

// Works that time contradicts more often than this are of several communicators after all.
constexpr uint64_t kContradictionShare = 20;

// Fewer turns than this may be chance where no name says that streams share a communicator.
constexpr uint64_t kFewestTurns = 3;

// A work that began this soon after another ended may have waited for it.
constexpr int64_t kBindingNs = 6000;

// A work and the one before it, in the order of launches.
struct Turn {
  uint32_t later;
  uint32_t earlier;
};

struct Turns {
  uint64_t all = 0;
  uint64_t contradicted = 0;
  uint64_t binding = 0;
};

bool contradicted(const GpuProgram& gpu, const Turn& turn, int64_t tolerance_ns) {
  return gpu.work[turn.earlier].end_ns > gpu.work[turn.later].start_ns + tolerance_ns;
}

// The later one began just when the earlier ended, though launched before, and its own stream was idle.
bool binding(const EventTable& table, const HostProgram& host, const GpuProgram& gpu, const Turn& turn) {
  const GpuWork& later = gpu.work[turn.later];
  const int64_t end = gpu.work[turn.earlier].end_ns;
  if (end <= table.ts_ns[host.calls[later.call].row] || end + kBindingNs < later.start_ns) return false;
  return turn.later == gpu.stream_begin[later.stream] || gpu.work[turn.later - 1].end_ns < end;
}

class CommunicatorFinder {
 public:
  CommunicatorFinder(const EventTable& table, const HostProgram& host, const GpuProgram& gpu,
                     const CallContexts& contexts, int64_t tolerance_ns)
      : table_(table),
        host_(host),
        gpu_(gpu),
        contexts_(contexts),
        tolerance_ns_(tolerance_ns),
        shared_(gpu.streams()) {
    for (uint32_t s = 0; s < gpu.streams(); ++s) shared_[s] = s;
  }

  std::vector<uint32_t> run() {
    collect();
    unite_streams();
    std::map<Key, std::vector<Turn>> by_communicator;
    std::map<Key, uint32_t> latest;
    for (uint32_t w : works_) {
      const Key key = key_of(w);
      const auto [it, fresh] = latest.try_emplace(key, w);
      const uint32_t before = std::exchange(it->second, w);
      if (!fresh && gpu_.work[before].stream != gpu_.work[w].stream) by_communicator[key].push_back({w, before});
    }
    std::vector<uint32_t> out(gpu_.work.size(), kNoIndex);
    for (const auto& [key, turns] : by_communicator) {
      const auto wrong = std::count_if(turns.begin(), turns.end(),
                                       [&](const Turn& turn) { return contradicted(gpu_, turn, tolerance_ns_); });
      if (static_cast<uint64_t>(wrong) * kContradictionShare > turns.size()) continue;
      for (const Turn& turn : turns) out[turn.later] = turn.earlier;
    }
    return out;
  }

 private:
  // Device, group name, and where there is none the first of the streams that share a communicator.
  using Key = std::tuple<NameId, NameId, uint32_t>;

  void collect() {
    for (uint32_t c = 0; c < host_.calls.size(); ++c) {
      for (uint32_t i = gpu_.by_call_begin[c]; i < gpu_.by_call_begin[c + 1]; ++i) {
        const uint32_t w = gpu_.by_call[i];
        if (gpu_.work[w].communication && !point_to_point(w)) works_.push_back(w);
      }
    }
  }

  bool point_to_point(uint32_t w) const {
    const uint32_t row = gpu_.work[w].row;
    const CollectiveDetail* detail = table_.collective_detail(row);
    const CollectiveKind kind = detail != nullptr && detail->collective != kNoName
                                    ? kind_of_metadata(table_.text(detail->collective))
                                    : kind_of_kernel_name(table_.name_of(row));
    return kind == CollectiveKind::kSendRecv || kind == CollectiveKind::kUnknown;
  }

  NameId group_of(uint32_t w) const {
    const CollectiveDetail* detail = table_.collective_detail(gpu_.work[w].row);
    return detail == nullptr ? kNoName : detail->group_name;
  }

  Key key_of(uint32_t w) const {
    const GpuWork& work = gpu_.work[w];
    const NameId group = group_of(w);
    return {table_.lanes[gpu_.stream_lane[work.stream]].pid_text, group,
            group == kNoName ? shared_root(work.stream) : kNoIndex};
  }

  uint32_t shared_root(uint32_t stream) const {
    while (shared_[stream] != stream) stream = shared_[stream];
    return stream;
  }

  // Streams of collectives without a group's name: one communicator where they never run at once and some waited.
  void unite_streams() {
    std::map<std::pair<uint32_t, uint32_t>, Turns> pairs;
    std::vector<uint32_t> latest(gpu_.streams(), kNoIndex);  // by stream: index into works_
    for (uint32_t i = 0; i < works_.size(); ++i) {
      const uint32_t stream = gpu_.work[works_[i]].stream;
      if (group_of(works_[i]) != kNoName) continue;
      for (uint32_t other = 0; other < latest.size(); ++other) {
        if (other == stream || latest[other] == kNoIndex) continue;
        if (contexts_.communication_stream[stream] && contexts_.communication_stream[other]) continue;
        if (latest[stream] != kNoIndex && latest[other] < latest[stream]) continue;  // had its turn already
        Turns& turns = pairs[{std::min(stream, other), std::max(stream, other)}];
        const Turn turn{works_[i], works_[latest[other]]};
        ++turns.all;
        turns.contradicted += contradicted(gpu_, turn, tolerance_ns_);
        turns.binding += binding(table_, host_, gpu_, turn);
      }
      latest[stream] = i;
    }
    for (const auto& [pair, turns] : pairs) {
      if (turns.binding < kFewestTurns || turns.contradicted * kContradictionShare > turns.all) continue;
      const uint32_t a = shared_root(pair.first), b = shared_root(pair.second);
      shared_[std::max(a, b)] = std::min(a, b);
    }
  }

  const EventTable& table_;
  const HostProgram& host_;
  const GpuProgram& gpu_;
  const CallContexts& contexts_;
  int64_t tolerance_ns_;
  std::vector<uint32_t> works_;   // collectives in the order of their launches
  std::vector<uint32_t> shared_;  // by stream: towards the first of those that share its communicator
};

}  // namespace

std::vector<uint32_t> find_communicator_order(const EventTable& table, const HostProgram& host, const GpuProgram& gpu,
                                              const CallContexts& contexts, int64_t tolerance_ns) {
  return CommunicatorFinder(table, host, gpu, contexts, tolerance_ns).run();
}

}  // namespace lumos
