#include <algorithm>

#include "lumos/graph/constants.h"
#include "lumos/graph/rank_programs.h"

namespace lumos {

namespace {

constexpr int64_t kMicrosecondClockNs = 2000;
constexpr int64_t kNanosecondClockNs = 1000;

// Latest end among the works that `work` was made to wait for on other streams; INT64_MIN without any.
std::vector<int64_t> latest_sources(const RankPrograms& p) {
  std::vector<int64_t> latest(p.gpu.work.size(), INT64_MIN);
  for (const StreamWait& wait : p.stream_waits) {
    latest[wait.waiting] = std::max(latest[wait.waiting], p.gpu.work[wait.source].end_ns);
  }
  return latest;
}

class Calibration {
 public:
  explicit Calibration(const RankPrograms& programs) : p_(programs), source_end_(latest_sources(programs)) {
    held_.assign(programs.gpu.work.size(), false);
    for (const FirstWave& wave : programs.first_waves) held_[wave.waiting] = true;
  }

  std::vector<Constant> run() {
    launches();
    const std::vector<Constant> launch = fitter_.fit();
    launch_ = ConstantTable(launch);
    streams();
    syncs();
    return fitter_.fit();
  }

 private:
  int64_t previous_end(uint32_t w) const {
    const uint32_t previous = p_.stream_predecessor[w];
    return previous == kNoIndex ? INT64_MIN : p_.gpu.work[previous].end_ns;
  }

  bool first_of_call(uint32_t w) const {
    const GpuWork& work = p_.gpu.work[w];
    return !work.in_graph || p_.gpu.by_call[p_.gpu.by_call_begin[work.call]] == w;
  }

  // From the start of a launch call to the work, where its stream was idle and nothing else held it.
  void launches() {
    for (uint32_t w = 0; w < p_.gpu.work.size(); ++w) {
      const GpuWork& work = p_.gpu.work[w];
      if (work.call == kNoIndex || !first_of_call(w)) continue;
      const int64_t launch = p_.launch_ns(work);
      if (previous_end(w) > launch || source_end_[w] > launch) continue;
      fitter_.add(call_constant("launch:", *p_.table, p_.host.calls[work.call]), work.start_ns - launch);
      fitter_.add("launch", work.start_ns - launch);
    }
  }

  // From one work to the next of a stream, and from an event to its waiter, where the launch came early enough.
  void streams() {
    for (uint32_t w = 0; w < p_.gpu.work.size(); ++w) {
      const GpuWork& work = p_.gpu.work[w];
      if (work.call == kNoIndex || held_[w]) continue;
      const int64_t launched = p_.launch_ns(work) + launch_.value(call_constant("launch:", *p_.table,
                                                                                p_.host.calls[work.call]),
                                                                  kDefaultLaunchNs);
      const int64_t previous = previous_end(w);
      if (previous > launched && previous >= source_end_[w]) {
        fitter_.add(dispatch_constant(*p_.table, p_.gpu, work), work.start_ns - previous);
        fitter_.add("dispatch", work.start_ns - previous);
      } else if (source_end_[w] > launched && source_end_[w] > previous) {
        fitter_.add("event", work.start_ns - source_end_[w]);
      }
    }
  }

  // From the end of the awaited work to the return of the call; the length of calls that had nothing to wait for.
  void syncs() {
    for (const SyncCall& sync : p_.sync_calls) {
      const HostCall& call = p_.host.calls[sync.call];
      if (sync.waited) {
        int64_t last = INT64_MIN;
        for (uint32_t target : sync.targets) last = std::max(last, p_.gpu.work[target].end_ns);
        const int64_t delay = p_.table->end_ns(call.row) - last;
        fitter_.add(call_constant("return:", *p_.table, call), delay);
        fitter_.add("return", delay);
      } else {
        fitter_.add(call_constant("call:", *p_.table, call), p_.table->dur_ns[call.row]);
      }
    }
  }

  const RankPrograms& p_;
  std::vector<int64_t> source_end_;
  std::vector<bool> held_;  // by a first wave: not the stream's own delay
  ConstantFitter fitter_;
  ConstantTable launch_{std::vector<Constant>{}};
};

}  // namespace

int64_t clock_tolerance_ns(const EventTable& table) {
  for (int64_t ts : table.ts_ns) {
    if (ts % 1000 != 0) return kNanosecondClockNs;
  }
  return kMicrosecondClockNs;
}

std::vector<uint32_t> find_stream_predecessors(const GpuProgram& gpu, int64_t tolerance_ns) {
  std::vector<uint32_t> out(gpu.work.size(), kNoIndex);
  for (uint32_t s = 0; s < gpu.streams(); ++s) {
    for (uint32_t w = gpu.stream_begin[s] + 1; w < gpu.stream_begin[s + 1]; ++w) {
      // Programmatic dependent launch lets a kernel begin while the one before it drains: it still follows that one. Only
      // one that runs for most of its own time beside its predecessor is a branch of its own.
      uint32_t before = w - 1;
      const int64_t own = gpu.work[w].end_ns - gpu.work[w].start_ns;
      auto overlap = [&](uint32_t v) { return gpu.work[v].end_ns - gpu.work[w].start_ns; };
      while (before > gpu.stream_begin[s] && overlap(before) > tolerance_ns && 2 * overlap(before) > own) --before;
      out[w] = overlap(before) > tolerance_ns && 2 * overlap(before) > own ? kNoIndex : before;
    }
  }
  return out;
}

std::vector<Constant> calibrate(const RankPrograms& programs) { return Calibration(programs).run(); }

std::string dispatch_constant(const EventTable& table, const GpuProgram& gpu, const GpuWork& work) {
  if (work.in_graph) return "dispatch:graph";
  return "dispatch:stream " + std::string(table.text(table.lanes[gpu.stream_lane[work.stream]].tid_text));
}

std::string call_constant(const char* prefix, const EventTable& table, const HostCall& call) {
  return prefix + std::string(table.name_of(call.row));
}

}  // namespace lumos
