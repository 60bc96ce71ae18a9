#include "lumos/program/measure/beside_transfers.h"

#include <algorithm>
#include <map>

#include "lumos/sim/overlap.h"

namespace lumos {
namespace {

// From the end of what a kernel waited for to its start, at most: after a longer gap it waited for something else.
constexpr int64_t kReadyNs = 10'000;

struct Kernel {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  double stretch = 1;  ///< new duration over the traced one
};

/// The kernels of the stream that computes most, by start.
std::vector<Kernel> compute_stream(const RankProgram& rank, const std::vector<int64_t>& durations_ns) {
  std::map<uint16_t, int64_t> busy_ns;
  for (const BlockTask& task : rank.tasks) {
    if (is_compute_task(task.kind) && task.event != kNoIndex) busy_ns[task.lane] += task.duration_ns;
  }
  const auto most = std::max_element(busy_ns.begin(), busy_ns.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<Kernel> kernels;
  for (size_t i = 0; most != busy_ns.end() && i < rank.tasks.size(); ++i) {
    const BlockTask& task = rank.tasks[i];
    if (!is_compute_task(task.kind) || task.event == kNoIndex || task.lane != most->first) continue;
    const auto traced = static_cast<double>(std::max<int64_t>(1, task.duration_ns));
    kernels.push_back(
        {rank.table->ts_ns[task.event], rank.table->end_ns(task.event), static_cast<double>(durations_ns[i]) / traced});
  }
  std::sort(kernels.begin(), kernels.end(), [](const Kernel& a, const Kernel& b) { return a.start_ns < b.start_ns; });
  return kernels;
}

}  // namespace

std::vector<BesideTransfer> beside_transfers(const RankProgram& rank, const RankTransfers& transfers,
                                             const std::vector<int64_t>& durations_ns) {
  const std::vector<Kernel> kernels = compute_stream(rank, durations_ns);
  std::vector<BesideTransfer> out;
  std::map<uint32_t, int64_t> last_end;  // by stream
  for (const Transfer& transfer : transfers.transfers) {
    BesideTransfer beside;
    const int64_t start = rank.table->ts_ns[transfer.row], end = rank.table->end_ns(transfer.row);
    auto kernel =
        std::partition_point(kernels.begin(), kernels.end(), [&](const Kernel& each) { return each.end_ns <= start; });
    const auto last = last_end.try_emplace(rank.table->lane[transfer.row], INT64_MIN / 2).first;
    const bool queued = start - last->second < kReadyNs;
    last->second = end;
    beside.when_ready = !queued && kernel != kernels.begin() && start - std::prev(kernel)->end_ns < kReadyNs;
    for (int64_t at = start; kernel != kernels.end() && kernel->start_ns < std::min(end, at + kReadyNs); ++kernel) {
      // Gaps between kernels stay as they are.
      const auto gap = static_cast<double>(std::max<int64_t>(0, kernel->start_ns - at));
      const auto busy = static_cast<double>(std::max<int64_t>(0, kernel->end_ns - std::max(kernel->start_ns, at)));
      beside.traced_ns += gap + busy;
      beside.changed_ns += gap + busy * kernel->stretch;
      at = std::max(at, kernel->end_ns);
    }
    out.push_back(beside);
  }
  return out;
}

}  // namespace lumos
