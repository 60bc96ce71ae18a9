#include "lumos/graph/rank/first_wave.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lumos/graph/constants.h"
#include "lumos/trace/table/occupancy.h"

namespace lumos {

namespace {

// Fewer cases than this, or a spread wider than this part of the median, are no law of the machine.
constexpr size_t kFewestCases = 8;
constexpr double kWidestSpread = 0.5;

struct Case {
  FirstWave wave;
  double wave_ns = 0;  // duration of the running kernel over its waves
  double held_ns = 0;  // measured
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// The compute kernel of another stream that began between the event (`since`) and the waiter's readiness, if any.
uint32_t running_kernel(const RankPrograms& p, uint32_t source, int64_t since, int64_t ready) {
  const GpuWork& event = p.gpu.work[source];
  for (uint32_t w = source + 1; w < p.gpu.stream_begin[event.stream + 1] && p.gpu.work[w].start_ns < ready; ++w) {
    const GpuWork& work = p.gpu.work[w];
    const bool kernel = p.table->kind[work.row] == EventKind::kKernel && !work.communication;
    if (kernel && work.start_ns >= since && work.end_ns > ready) return w;
  }
  return kNoIndex;
}

std::vector<Case> find_cases(const RankPrograms& p) {
  std::vector<Case> cases;
  const DeviceProperties device = p.table->info.devices.empty() ? DeviceProperties{} : p.table->info.devices[0];
  for (size_t i = 0; i < p.stream_waits.size(); ++i) {
    const StreamWait& wait = p.stream_waits[i];
    const GpuWork& waiting = p.gpu.work[wait.waiting];
    const GpuWork& source = p.gpu.work[wait.source];
    if (!waiting.communication) continue;
    const int64_t ready = source.end_ns + kDefaultEventNs;
    const uint32_t before = p.stream_predecessor[wait.waiting];
    if (p.launch_ns(waiting) > source.end_ns) continue;
    if (before != kNoIndex && p.gpu.work[before].end_ns > source.end_ns) continue;
    const uint32_t running = running_kernel(p, wait.source, source.end_ns, ready);
    if (running == kNoIndex) continue;
    const GpuWork& kernel = p.gpu.work[running];
    const GpuDetail* detail = p.table->gpu_detail(kernel.row);
    const int64_t count = detail ? std::max<int64_t>(1, waves(*detail, device)) : 1;
    Case c;
    c.wave = {wait.waiting, running, 0};
    c.wave_ns = static_cast<double>(kernel.end_ns - kernel.start_ns) / static_cast<double>(count);
    c.held_ns = static_cast<double>(std::max<int64_t>(0, waiting.start_ns - kernel.start_ns));
    if (c.wave_ns > 0) cases.push_back(c);
  }
  return cases;
}

}  // namespace

FirstWaves find_first_waves(const RankPrograms& programs) {
  FirstWaves out;
  const std::vector<Case> cases = find_cases(programs);
  if (cases.size() < kFewestCases) return out;
  std::vector<double> shares;
  for (const Case& c : cases) shares.push_back(c.held_ns / c.wave_ns);
  const double share = median(shares);
  for (double& s : shares) s = s > share ? s - share : share - s;
  if (share <= 0 || median(shares) > kWidestSpread * share) return out;
  out.share = share;
  out.samples = cases.size();
  for (const Case& c : cases) {
    out.waits.push_back(c.wave);
    out.waits.back().lag_ns = static_cast<int64_t>(share * c.wave_ns);
  }
  return out;
}

namespace {

// Held less than this many launch latencies is noise.
constexpr int64_t kHeldFactor = 10;
// A pair must repeat, and agree on the part of the running kernel within this.
constexpr size_t kFewestPairs = 3;
constexpr double kWidestPart = 0.05;

struct Drain {
  FirstWave wave;
  double part = 0;  // of the running kernel's duration at which the waiting one began
};

// The kernel of another stream that was running both when `ready` and until near `start`, long before ready.
uint32_t kernel_across(const RankPrograms& p, uint32_t stream, int64_t ready, int64_t start) {
  const auto begin = p.gpu.work.begin() + p.gpu.stream_begin[stream];
  const auto end = p.gpu.work.begin() + p.gpu.stream_begin[stream + 1];
  const auto it = std::partition_point(begin, end, [&](const GpuWork& w) { return w.start_ns <= ready; });
  if (it == begin) return kNoIndex;
  const GpuWork& running = *(it - 1);
  const bool kernel = p.table->kind[running.row] == EventKind::kKernel && !running.communication;
  return kernel && running.end_ns + p.tolerance_ns >= start ? static_cast<uint32_t>(it - 1 - p.gpu.work.begin())
                                                            : kNoIndex;
}

}  // namespace

std::vector<FirstWave> find_drains(const RankPrograms& p) {
  std::vector<int64_t> source_end(p.gpu.work.size(), INT64_MIN);
  for (const StreamWait& wait : p.stream_waits) {
    source_end[wait.waiting] = std::max(source_end[wait.waiting], p.gpu.work[wait.source].end_ns);
  }
  std::map<std::pair<NameId, NameId>, std::vector<Drain>> pairs;
  std::map<std::pair<NameId, NameId>, size_t> met;
  for (uint32_t w = 0; w < p.gpu.work.size(); ++w) {
    const GpuWork& work = p.gpu.work[w];
    if (work.call == kNoIndex || work.communication || p.table->kind[work.row] != EventKind::kKernel) continue;
    const uint32_t before = p.stream_predecessor[w];
    const int64_t ready = std::max({p.launch_ns(work) + kDefaultLaunchNs, source_end[w],
                                    before == kNoIndex ? INT64_MIN : p.gpu.work[before].end_ns});
    for (uint32_t s = 0; s < p.gpu.streams(); ++s) {
      if (s == work.stream) continue;
      const uint32_t running = kernel_across(p, s, ready, ready);
      if (running == kNoIndex) continue;
      const auto key = std::pair(p.table->name[work.row], p.table->name[p.gpu.work[running].row]);
      ++met[key];
      const GpuWork& kernel = p.gpu.work[running];
      if (work.start_ns - ready < kHeldFactor * kDefaultLaunchNs || kernel.end_ns + p.tolerance_ns < work.start_ns)
        continue;
      const double part = static_cast<double>(work.start_ns - kernel.start_ns) /
                          static_cast<double>(std::max<int64_t>(1, kernel.end_ns - kernel.start_ns));
      pairs[key].push_back({{w, running, 0}, part});
    }
  }
  std::vector<FirstWave> out;
  for (auto& [key, drains] : pairs) {
    if (drains.size() < kFewestPairs || 2 * drains.size() < met[key]) continue;
    std::vector<double> parts;
    for (const Drain& d : drains) parts.push_back(d.part);
    const double part = median(parts);
    for (double& x : parts) x = x > part ? x - part : part - x;
    if (median(parts) > kWidestPart) continue;
    for (Drain& d : drains) {
      const GpuWork& kernel = p.gpu.work[d.wave.running];
      d.wave.lag_ns = static_cast<int64_t>(part * static_cast<double>(kernel.end_ns - kernel.start_ns));
      out.push_back(d.wave);
    }
  }
  return out;
}

}  // namespace lumos
