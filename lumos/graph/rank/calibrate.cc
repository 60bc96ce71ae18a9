#include <algorithm>
#include <cstdlib>
#include <map>

#include "lumos/graph/constants.h"
#include "lumos/graph/rank/rank_programs.h"

namespace lumos {

namespace {

constexpr int64_t kMicrosecondClockNs = 2000;
constexpr int64_t kNanosecondClockNs = 1000;

// A call this many times longer than the median of its name does more than launch.
constexpr int64_t kLateFactor = 5;

// A call that waits for nothing takes at most this many times the median of all calls.
constexpr int64_t kPlainCallFactor = 10;

// How far back a branch of a stream may look for what it follows.
constexpr uint32_t kFarthestBranch = 64;

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
    host_transfers();
    std::vector<Constant> constants = fitter_.fit();
    for (const auto& [name, copies] : copies_) fit_copies(name, copies, constants);
    return constants;
  }

 private:
  void host_transfers() {
    for (const HostTransfer& transfer : p_.host_transfers.transfers) {
      if (!transfer.thread_was_idle) continue;
      fitter_.add("enqueue", p_.table->ts_ns[transfer.row] - p_.table->ts_ns[transfer.enqueue_row]);
    }
  }

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
      if (previous_end(w) > launch || source_end_[w] > launch || p_.launches_late(work.call)) continue;
      fitter_.add(call_constant("launch:", *p_.table, p_.host.calls[work.call]), work.start_ns - launch);
      fitter_.add("launch", work.start_ns - launch);
    }
  }

  // From one work to the next of a stream, and from an event to its waiter, where the launch came early enough.
  void streams() {
    for (uint32_t w = 0; w < p_.gpu.work.size(); ++w) {
      const GpuWork& work = p_.gpu.work[w];
      if (work.call == kNoIndex || held_[w]) continue;
      const int64_t launched =
          p_.launch_ns(work) +
          launch_.value(call_constant("launch:", *p_.table, p_.host.calls[work.call]), kDefaultLaunchNs);
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
        if (p_.copies(sync)) {
          copies_[call_constant("", *p_.table, call)].push_back({copy_ns(sync), delay});
          continue;
        }
        fitter_.add(call_constant("return:", *p_.table, call), delay);
        fitter_.add("return", delay);
      } else if (p_.table->dur_ns[call.row] <= p_.longest_plain_call_ns) {
        fitter_.add(call_constant("call:", *p_.table, call), p_.table->dur_ns[call.row]);
      }
    }
  }

  struct Copy {
    int64_t copy_ns;
    int64_t delay_ns;
  };

  int64_t copy_ns(const SyncCall& sync) const {
    const GpuWork& work = p_.gpu.work[sync.targets[0]];
    return work.end_ns - work.start_ns;
  }

  // A blocking copy moves the last of its data through a staging buffer after the GPU is done: the call returns later
  // the longer the copy was. A straight line by least squares, so that the sum over the copies is right.
  static void fit_copies(const std::string& name, const std::vector<Copy>& copies, std::vector<Constant>& out) {
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (const Copy& c : copies) {
      const double x = static_cast<double>(c.copy_ns), y = static_cast<double>(c.delay_ns);
      n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
    }
    const double spread = n * sxx - sx * sx;
    const double slope = spread > 0 ? std::clamp((n * sxy - sx * sy) / spread, 0.0, 10.0) : 0;
    out.push_back({"return:" + name, static_cast<int64_t>((sy - slope * sx) / n), copies.size()});
    out.push_back({"return-per-ms:" + name, static_cast<int64_t>(slope * 1e6), copies.size()});
  }

  const RankPrograms& p_;
  std::map<std::string, std::vector<Copy>> copies_;
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
      out[w] = w - 1;
      if (gpu.work[w - 1].end_ns <= gpu.work[w].start_ns + tolerance_ns) continue;
      // Two works of one stream overlap. Either a kernel begins while the one before it drains (programmatic dependent
      // launch), or it is a branch of its own that follows an earlier work: whichever ended nearest to its start.
      int64_t nearest = gpu.work[w - 1].end_ns - gpu.work[w].start_ns;
      const uint32_t first = w - gpu.stream_begin[s] > kFarthestBranch ? w - kFarthestBranch : gpu.stream_begin[s];
      for (uint32_t v = w - 1; v-- > first;) {
        const int64_t distance = std::abs(gpu.work[w].start_ns - gpu.work[v].end_ns);
        if (distance >= nearest || gpu.work[v].end_ns > gpu.work[w].start_ns + tolerance_ns) continue;
        nearest = distance;
        out[w] = v;
      }
    }
  }
  return out;
}

std::vector<int64_t> usual_durations(const EventTable& table, const HostProgram& host) {
  std::map<NameId, std::vector<int64_t>> by_name;
  for (const HostCall& call : host.calls) by_name[table.name[call.row]].push_back(table.dur_ns[call.row]);
  std::map<NameId, int64_t> median;
  for (auto& [name, durations] : by_name) {
    std::nth_element(durations.begin(), durations.begin() + durations.size() / 2, durations.end());
    median[name] = durations[durations.size() / 2];
  }
  std::vector<int64_t> out;
  out.reserve(host.calls.size());
  for (const HostCall& call : host.calls) out.push_back(median[table.name[call.row]]);
  return out;
}

std::vector<bool> find_late_launches(const EventTable& table, const HostProgram& host, const GpuProgram& gpu,
                                     const std::vector<int64_t>& usual_ns) {
  std::vector<bool> out(host.calls.size(), false);
  for (size_t c = 0; c < host.calls.size(); ++c) {
    const uint32_t row = host.calls[c].row;
    if (gpu.by_call_begin[c] == gpu.by_call_begin[c + 1]) continue;
    const int64_t usual = std::max<int64_t>(usual_ns[c], 1000);
    const GpuWork& first = gpu.work[gpu.by_call[gpu.by_call_begin[c]]];
    out[c] = table.dur_ns[row] > kLateFactor * usual && first.start_ns >= table.end_ns(row) - 2 * usual;
  }
  return out;
}

int64_t longest_plain_call(const EventTable& table, const HostProgram& host) {
  std::vector<int64_t> durations;
  for (const HostCall& call : host.calls) durations.push_back(table.dur_ns[call.row]);
  if (durations.empty()) return 0;
  std::nth_element(durations.begin(), durations.begin() + durations.size() / 2, durations.end());
  return kPlainCallFactor * std::max<int64_t>(durations[durations.size() / 2], 1000);
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
