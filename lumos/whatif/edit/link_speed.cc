#include "lumos/whatif/edit/link_speed.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "lumos/whatif/times/group_members.h"

namespace lumos {

namespace {

/// Sums of a least-squares line of transfer time over bytes.
struct Line {
  double count = 0, x = 0, y = 0, xx = 0, xy = 0;
  double shortest = std::numeric_limits<double>::max();

  void add(double bytes, double ns) {
    ++count, x += bytes, y += ns, xx += bytes * bytes, xy += bytes * ns;
    shortest = std::min(shortest, ns);
  }
  /// Where the line meets zero bytes, within what the shortest transfer allows; 0 where sizes do not differ.
  double intercept() const {
    const double spread = count * xx - x * x;
    if (spread <= 1e-9 * count * xx) return 0;
    const double slope = (count * xy - x * y) / spread;
    return std::clamp((y - slope * x) / count, 0.0, shortest);
  }
};

}  // namespace

std::vector<int64_t> transfer_latency_ns(const LinkedJob& job) {
  const JobMatches& matches = job.matches;
  std::map<std::pair<uint32_t, CollectiveKind>, Line> lines;
  for (size_t k = 0; k < matches.kernels.size(); ++k) {
    const CommKernel& kernel = matches.kernels[k];
    if (kernel.bytes < 0 || job.linked.transfer_task[k] == kNoIndex) continue;
    lines[{kernel.group, kernel.kind}].add(static_cast<double>(kernel.bytes),
                                           static_cast<double>(job.transfers.transfer_ns[k]));
  }
  std::vector<int64_t> latency(matches.kernels.size(), 0);
  for (size_t k = 0; k < matches.kernels.size(); ++k) {
    const CommKernel& kernel = matches.kernels[k];
    const auto line = lines.find({kernel.group, kernel.kind});
    if (kernel.bytes >= 0 && line != lines.end()) latency[k] = std::llround(line->second.intercept());
  }
  return latency;
}

int64_t devices_per_node(const LinkedJob& job) {
  size_t most = 0;
  for (const RankTasks& rank : job.linked.graph.ranks) most = std::max(most, rank.table->info.devices.size());
  // One device is what a process sees that was given only its own.
  return most > 1 ? static_cast<int64_t>(most) : 0;
}

CrossingTransfers crosses(const LinkedJob& job, LinkTier tier, int64_t gpus_per_node) {
  const JobMatches& matches = job.matches;
  CrossingTransfers out;
  out.chosen.assign(matches.kernels.size(), false);
  for (size_t k = 0; k < matches.kernels.size(); ++k) {
    const CommKernel& kernel = matches.kernels[k];
    const std::vector<int32_t> ranks = known_members(job, kernel);
    const int64_t size = kernel.peer >= 0 ? 2
                         : kernel.group == kNoIndex
                             ? -1
                             : std::max<int64_t>(matches.groups[kernel.group].size, static_cast<int64_t>(ranks.size()));
    if (size == 1 || size == 0) continue;
    const bool across = size > gpus_per_node || (group_shape(ranks, gpus_per_node).nodes() > 1);
    if (!across && static_cast<int64_t>(ranks.size()) < std::max<int64_t>(size, 2)) {
      ++out.unknown;
      if (job.linked.transfer_task[k] != kNoIndex)
        out.unknown_ms += static_cast<double>(job.transfers.transfer_ns[k]) / 1e6;
      continue;
    }
    out.chosen[k] = across == (tier == LinkTier::kAcrossNodes);
  }
  return out;
}

}  // namespace lumos
