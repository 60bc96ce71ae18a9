#include "lumos/sim/interference.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "lumos/sim/overlap.h"
#include "lumos/sim/simulate.h"

namespace lumos {

namespace {

// Passes of the fixed point: overlap changes durations by a few percent, and those the overlap by less.
constexpr int kPasses = 4;
// A group must repeat this often to say anything.
constexpr size_t kFewestRepeats = 4;
// Less evidence than this many samples is chance.
constexpr uint64_t kFewestSamples = 32;
// While both run neither can stop the other: a slow-down beyond fourfold is a misfit.
constexpr double kLargestCoefficient = 0.75;

// Tasks that do equal work: one kernel in one launch configuration, or one collective of one size, on one rank.
struct Work {
  uint32_t rank;
  uint32_t name;
  uint64_t size;
  uint32_t task;
  LoadClass load;
  uint32_t place = 0;
  auto group() const { return std::tie(rank, name, size, place); }
};

// A hash of what makes two works of one name equal: unsigned, since it may wrap.
uint64_t size_of(const EventTable& table, uint32_t row) {
  uint64_t size = 0;
  auto mix = [&](int64_t value) { size = size * 65599 + static_cast<uint64_t>(value); };
  if (const CollectiveDetail* c = table.collective_detail(row)) {
    mix(c->in_elements);
    mix(c->out_elements);
    return size;
  }
  const GpuDetail* d = table.gpu_detail(row);
  if (!d) return 0;
  mix(d->bytes);
  for (int32_t g : d->grid) mix(g);
  for (int32_t b : d->block) mix(b);
  return size;
}

std::vector<Work> collect(const ExecGraph& graph, const std::vector<uint32_t>& place = {}) {
  std::vector<Work> out;
  for (uint32_t r = 0; r < graph.ranks.size(); ++r) {
    const RankTasks& rank = graph.ranks[r];
    for (uint32_t t = rank.first_task; t < rank.end_task; ++t) {
      const bool counts = is_compute_task(graph.kind[t]) || graph.kind[t] == TaskKind::kTransfer;
      const uint32_t row = graph.event[t];
      if (!counts || row == kNoIndex) continue;
      out.push_back({r, static_cast<uint32_t>(rank.table->name[row]), size_of(*rank.table, row), t,
                     load_class(*rank.table, row, graph.kind[t]), row < place.size() ? place[row] : 0});
    }
  }
  return out;
}

// Two readings of the same tasks. Durations that vary for reasons of their own change the overlap of a task that is
// covered throughout, which looks like a slow-down in the first, and the share of one that is covered for a while,
// which looks like a speed-up in the second.
struct Sums {
  double xx = 0, xy = 0;              // duration by overlap
  double pp = 0, pu = 0, p_mean = 0;  // 1 / duration by the share of it that is overlapped; p_mean weighted by pp
  uint64_t samples = 0;
};

// The smaller of both readings: without an effect at least one of them is about 0.
double coefficient(const Sums& sums) {
  // Shares that hardly vary say nothing.
  constexpr double kLeastShareSpread = 0.03;
  const auto samples = static_cast<double>(sums.samples);
  if (sums.samples < kFewestSamples || sums.xx <= 0) return 0;
  if (sums.pp < samples * kLeastShareSpread * kLeastShareSpread || sums.pu >= 0) return 0;
  // d = w / (1 - c p), so 1 / d falls with p by c / (1 - c mean p) of its mean.
  const double slope = sums.pu / sums.pp;
  const double by_share = -slope / (1 - slope * sums.p_mean / sums.pp);
  return std::clamp(std::min(sums.xy / sums.xx, by_share), 0.0, kLargestCoefficient);
}

// One group's deviations from its mean, in parts of its mean duration so that long kernels do not outweigh all others.
void add_group(const ExecGraph& graph, const std::vector<int64_t>& overlap, const Work* begin, const Work* end,
               Sums& sums) {
  const double count = static_cast<double>(end - begin);
  const auto duration = [&](const Work* w) { return std::max(1.0, static_cast<double>(graph.duration_ns[w->task])); };
  const auto share = [&](const Work* w) { return static_cast<double>(overlap[w->task]) / duration(w); };
  double mean_x = 0, mean_y = 0, mean_p = 0, mean_u = 0;
  for (const Work* w = begin; w != end; ++w) {
    mean_x += static_cast<double>(overlap[w->task]) / count;
    mean_y += duration(w) / count;
    mean_p += share(w) / count;
    mean_u += 1 / duration(w) / count;
  }
  if (mean_x <= 0) return;
  double pp = 0;
  for (const Work* w = begin; w != end; ++w) {
    const double x = (static_cast<double>(overlap[w->task]) - mean_x) / mean_y, y = (duration(w) - mean_y) / mean_y;
    const double p = share(w) - mean_p, u = (1 / duration(w) - mean_u) / mean_u;
    sums.xx += x * x;
    sums.xy += x * y;
    sums.pu += p * u;
    pp += p * p;
    ++sums.samples;
  }
  sums.pp += pp;
  sums.p_mean += pp * mean_p;
}

}  // namespace

LoadClass load_class(const EventTable& table, uint32_t row, TaskKind kind) {
  if (kind == TaskKind::kTransfer) return LoadClass::kTransfer;
  if (kind != TaskKind::kKernel) return LoadClass::kMemory;
  const KernelFamily family = table.kernel_meaning(row).family;
  const bool matrix =
      family == KernelFamily::kGemm || family == KernelFamily::kAttention || family == KernelFamily::kConvolution;
  return matrix ? LoadClass::kMatrix : LoadClass::kMemory;
}

Interference fit_interference(const ExecGraph& graph, const Timeline& timeline, const std::vector<uint32_t>& place) {
  const std::vector<int64_t> overlap = overlaps(graph, timeline);
  std::vector<Work> works = collect(graph, place);
  std::sort(works.begin(), works.end(), [](const Work& a, const Work& b) {
    return a.group() != b.group() ? a.group() < b.group() : a.task < b.task;
  });
  std::array<Sums, static_cast<size_t>(LoadClass::kCount)> sums;
  for (size_t i = 0; i < works.size();) {
    size_t j = i;
    while (j < works.size() && works[j].group() == works[i].group()) ++j;
    if (j - i >= kFewestRepeats) {
      add_group(graph, overlap, &works[i], &works[i] + (j - i), sums[static_cast<size_t>(works[i].load)]);
    }
    i = j;
  }
  Interference out;
  for (size_t c = 0; c < sums.size(); ++c) {
    out.samples[c] = sums[c].samples;
    out.longer_per_overlap[c] = coefficient(sums[c]);
  }
  return out;
}

Timeline simulate_with_interference(const ExecGraph& base, const Timeline& base_timeline, ExecGraph& changed,
                                    const Interference& interference) {
  Timeline timeline = simulate(changed);
  const std::vector<int64_t> before = overlaps(base, base_timeline);
  const std::vector<Work> works = collect(base);
  const std::vector<int64_t> asked = changed.duration_ns;
  for (int pass = 0; pass < kPasses; ++pass) {
    const std::vector<int64_t> now = overlaps(changed, timeline);
    for (const Work& w : works) {
      const double coefficient = interference.longer_per_overlap[static_cast<size_t>(w.load)];
      if (coefficient <= 0 || (before[w.task] == 0 && now[w.task] == 0) || base.duration_ns[w.task] <= 0) continue;
      // The change scales the work itself, and with it what its measured overlap had added.
      const double scale = static_cast<double>(asked[w.task]) / static_cast<double>(base.duration_ns[w.task]);
      const double extra =
          coefficient * (static_cast<double>(now[w.task]) - scale * static_cast<double>(before[w.task]));
      changed.duration_ns[w.task] = std::max<int64_t>(0, asked[w.task] + std::llround(extra));
    }
    timeline = simulate(changed);
  }
  return timeline;
}

Timeline simulate_with_loads(ExecGraph& graph, const std::vector<TaskLoad>& loads, const Interference& interference) {
  constexpr int kLoadPasses = 2;
  Timeline timeline = simulate(graph);
  if (std::all_of(interference.longer_per_overlap.begin(), interference.longer_per_overlap.end(),
                  [](double coefficient) { return coefficient <= 0; }))
    return timeline;
  const std::vector<int64_t> asked = graph.duration_ns;
  for (int pass = 0; pass < kLoadPasses; ++pass) {
    Timeline moving = timeline;  // a transfer that waits does not move anything
    for (uint32_t task = 0; task < graph.size(); ++task)
      if (loads[task].load == LoadClass::kTransfer)
        moving.start_ns[task] = std::min(moving.end_ns[task], moving.start_ns[task] + loads[task].waiting_ns);
    const std::vector<int64_t> now = overlaps(graph, moving);
    for (uint32_t task = 0; task < graph.size(); ++task) {
      if (loads[task].load == LoadClass::kCount) continue;
      const double coefficient = interference.longer_per_overlap[static_cast<size_t>(loads[task].load)];
      const auto extra = static_cast<double>(now[task] - loads[task].contained_ns);
      graph.duration_ns[task] = std::max<int64_t>(asked[task] / 2, asked[task] + std::llround(coefficient * extra));
    }
    simulate_into(graph, timeline);
  }
  return timeline;
}

}  // namespace lumos
