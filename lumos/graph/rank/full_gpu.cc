#include "lumos/graph/rank/full_gpu.h"

#include <algorithm>
#include <map>

#include "lumos/graph/constants.h"
#include "lumos/trace/table/occupancy.h"

namespace lumos {

namespace {

// Held less than this many launch latencies says nothing about the rule: readiness is not known any better.
constexpr int64_t kHeldFactor = 10;
// Waves are not equally long: the last blocks are placed within this part of the duration from where the rule says.
constexpr double kUnevenWaves = 0.08;
constexpr int64_t kToleranceFactor = 3;
// Fewer cases than this are chance; the rule holds when this many confirm it for each that contradicts it.
constexpr size_t kFewestCases = 8;
constexpr size_t kConfirmedPerContradicted = 9;

struct Case {
  FirstWave wave;
  int64_t start_ns = 0;   // of the waiting kernel, measured
  int64_t placed_ns = 0;  // when the running kernel's last blocks are placed, by the rule
  int64_t slack_ns = 0;
  bool telling = false;  // ready long before: the start shows whether the rule holds

  bool contradicts() const { return start_ns < placed_ns - slack_ns; }
  bool confirms() const { return telling && !contradicts() && start_ns <= placed_ns + slack_ns; }
};

struct Evidence {
  size_t confirmed = 0;
  size_t contradicted = 0;
};

class FullGpu {
 public:
  explicit FullGpu(const RankPrograms& programs) : p_(programs), device_(programs.table->info.devices[0]) {
    source_end_.assign(p_.gpu.work.size(), INT64_MIN);
    for (const StreamWait& wait : p_.stream_waits) {
      source_end_[wait.waiting] = std::max(source_end_[wait.waiting], p_.gpu.work[wait.source].end_ns);
    }
  }

  std::vector<FirstWave> run() {
    for (uint32_t w = 0; w < p_.gpu.work.size(); ++w) {
      if (!is_compute(w) || p_.gpu.work[w].call == kNoIndex || p_.gpu.work[w].in_graph) continue;
      for (uint32_t s = 0; s < p_.gpu.streams(); ++s) {
        if (s != p_.gpu.work[w].stream) look_at(w, s);
      }
    }
    // Kernels whose later blocks have nothing to do place them early: the rule is judged by the running kernel's name.
    std::map<NameId, Evidence> by_name;
    for (const Case& c : cases_) {
      Evidence& evidence = by_name[name_of(c.wave.running)];
      evidence.confirmed += c.confirms();
      evidence.contradicted += c.telling && c.contradicts();
    }
    Evidence all;
    for (const auto& [name, evidence] : by_name) {
      if (!believed(evidence)) continue;
      all.confirmed += evidence.confirmed;
      all.contradicted += evidence.contradicted;
    }
    std::vector<FirstWave> out;
    if (all.confirmed < kFewestCases || all.confirmed < kConfirmedPerContradicted * all.contradicted) return out;
    for (const Case& c : cases_) {
      if (!c.contradicts() && believed(by_name[name_of(c.wave.running)])) out.push_back(c.wave);
    }
    return out;
  }

 private:
  static bool believed(const Evidence& evidence) { return evidence.contradicted <= evidence.confirmed; }
  NameId name_of(uint32_t w) const { return p_.table->name[p_.gpu.work[w].row]; }
  bool is_compute(uint32_t w) const {
    return p_.table->kind[p_.gpu.work[w].row] == EventKind::kKernel && !p_.gpu.work[w].communication;
  }

  int64_t ready_ns(uint32_t w) const {
    const uint32_t before = p_.stream_predecessor[w];
    return std::max({p_.launch_ns(p_.gpu.work[w]) + kDefaultLaunchNs, source_end_[w],
                     before == kNoIndex ? INT64_MIN : p_.gpu.work[before].end_ns});
  }

  // The kernel of `stream` that was running, or about to, when work `w` became ready, if it fills the GPU repeatedly.
  void look_at(uint32_t w, uint32_t stream) {
    const GpuWork& waiting = p_.gpu.work[w];
    const int64_t ready = ready_ns(w);
    const auto begin = p_.gpu.work.begin() + p_.gpu.stream_begin[stream];
    const auto end = p_.gpu.work.begin() + p_.gpu.stream_begin[stream + 1];
    const auto it = std::partition_point(begin, end, [&](const GpuWork& x) {
      return x.start_ns <= ready + kDefaultLaunchNs && x.start_ns < waiting.start_ns;
    });
    if (it == begin) return;
    const uint32_t running = static_cast<uint32_t>(it - p_.gpu.work.begin()) - 1;
    const GpuWork& kernel = p_.gpu.work[running];
    const GpuDetail* detail = p_.table->gpu_detail(kernel.row);
    if (!is_compute(running) || detail == nullptr || kernel.end_ns <= ready) return;
    const int64_t count = waves(*detail, device_);
    if (count < 2) return;
    const int64_t duration = kernel.end_ns - kernel.start_ns;
    Case c;
    c.wave = {w, running, duration - duration / count};
    c.start_ns = waiting.start_ns;
    c.placed_ns = kernel.start_ns + c.wave.lag_ns;
    c.slack_ns = std::max(kToleranceFactor * p_.tolerance_ns,
                          static_cast<int64_t>(kUnevenWaves * static_cast<double>(duration)));
    c.telling = c.placed_ns - ready >= kHeldFactor * kDefaultLaunchNs;
    if (c.placed_ns > ready) cases_.push_back(c);
  }

  const RankPrograms& p_;
  const DeviceProperties& device_;
  std::vector<int64_t> source_end_;
  std::vector<Case> cases_;
};

}  // namespace

std::vector<FirstWave> find_full_gpu(const RankPrograms& programs) {
  if (programs.table->info.devices.empty() || programs.gpu.streams() < 2) return {};
  return FullGpu(programs).run();
}

}  // namespace lumos
