#include "lumos/whatif/times/spread.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "lumos/sim/overlap.h"
#include "lumos/trace/table/nesting.h"
#include "lumos/whatif/times/launching_operator.h"

namespace lumos {

namespace {

constexpr size_t kLeastRepeats = 3;  // two say next to nothing about a deviation

/// Tasks that do equal work.
using Groups = std::vector<std::vector<uint32_t>>;

double log_of(int64_t ns) { return std::log(static_cast<double>(ns)); }

class SpreadFit {
 public:
  explicit SpreadFit(const LinkedJob& job) : job_(job), graph_(job.linked.graph) {
    const size_t tasks = graph_.size();
    out_.sigma.assign(tasks, 0);
    out_.centre.assign(tasks, 1);
    out_.rank_step.assign(tasks, kNoIndex);
  }

  Spread run() {
    find_rank_steps();
    const Groups kernels = kernel_groups();
    const std::vector<double> rank_shift = rank_shifts(kernels);
    out_.kernel_sigma = set_sigmas(kernels, rank_shift);
    out_.link_sigma = set_sigmas(transfer_groups(), {});
    for (uint32_t task = 0; task < graph_.size(); ++task) {
      if (out_.sigma[task] > 0 || graph_.duration_ns[task] <= 0) continue;
      if (is_compute_task(graph_.kind[task])) out_.sigma[task] = static_cast<float>(out_.kernel_sigma);
      if (graph_.kind[task] == TaskKind::kTransfer) out_.sigma[task] = static_cast<float>(out_.link_sigma);
    }
    return std::move(out_);
  }

 private:
  /// Numbers each step of each rank, and says which one a kernel's measured start lies in.
  void find_rank_steps() {
    for (const RankTasks& rank : graph_.ranks) {
      std::vector<int64_t> starts;
      for (const Step& step : rank.steps) starts.push_back(graph_.measured_start_ns[step.first_task]);
      for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
        if (!is_compute_task(graph_.kind[task])) continue;
        const auto after = std::upper_bound(starts.begin(), starts.end(), graph_.measured_start_ns[task]);
        if (after == starts.begin()) continue;
        out_.rank_step[task] = rank_steps_ + static_cast<uint32_t>(after - starts.begin()) - 1;
      }
      rank_steps_ += static_cast<uint32_t>(starts.size());
    }
  }

  Groups kernel_groups() const {
    Groups groups;
    for (const RankTasks& rank : graph_.ranks) {
      const EventTable& table = *rank.table;
      const Nesting nested = nesting(table);
      const std::vector<uint32_t> launched_by = launching_rows(graph_, rank);
      // Equal details share one index.
      std::map<std::tuple<NameId, uint32_t, uint32_t>, std::vector<uint32_t>> equal;
      for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
        const uint32_t row = graph_.event[task];
        if (!is_compute_task(graph_.kind[task]) || row == kNoIndex || graph_.duration_ns[task] <= 0) continue;
        const uint32_t op = first_around(nested, launched_by[task - rank.first_task],
                                         [&](uint32_t at) { return table.op_detail(at) != nullptr; });
        equal[{table.name[row], table.detail[row], op == kNoIndex ? kNoIndex : table.detail[op]}].push_back(task);
      }
      for (auto& [key, tasks] : equal) groups.push_back(std::move(tasks));
    }
    return groups;
  }

  Groups transfer_groups() const {
    std::map<std::tuple<uint32_t, CollectiveKind, int64_t>, std::vector<uint32_t>> equal;
    for (size_t k = 0; k < job_.matches.kernels.size(); ++k) {
      const uint32_t task = job_.linked.transfer_task[k];
      const CommKernel& kernel = job_.matches.kernels[k];
      if (task == kNoIndex || kernel.bytes < 0 || graph_.duration_ns[task] <= 0) continue;
      equal[{kernel.group, kernel.kind, kernel.bytes}].push_back(task);
    }
    Groups groups;
    for (auto& [key, tasks] : equal) groups.push_back(std::move(tasks));
    return groups;
  }

  double mean_log(const std::vector<uint32_t>& tasks) const {
    double sum = 0;
    for (uint32_t task : tasks) sum += log_of(graph_.duration_ns[task]);
    return sum / static_cast<double>(tasks.size());
  }

  /// How far each rank is from its own mean in each step, in logarithms, and out_.rank_sigma: the spread of that
  /// beyond what as many kernels on their own would show.
  std::vector<double> rank_shifts(const Groups& groups) {
    std::vector<double> weight(rank_steps_, 0), sum(rank_steps_, 0), noise(rank_steps_, 0);
    for (const std::vector<uint32_t>& tasks : groups) {
      if (tasks.size() < kLeastRepeats) continue;
      const double mean = mean_log(tasks);
      for (uint32_t task : tasks) {
        const uint32_t step = out_.rank_step[task];
        if (step == kNoIndex) continue;
        const double ns = static_cast<double>(graph_.duration_ns[task]), off = log_of(graph_.duration_ns[task]) - mean;
        weight[step] += ns;
        sum[step] += ns * off;
        noise[step] += ns * off * ns * off;
      }
    }
    double spread = 0, chance = 0, steps = 0;
    for (uint32_t step = 0; step < rank_steps_; ++step) {
      if (weight[step] <= 0) continue;
      sum[step] /= weight[step];
      spread += sum[step] * sum[step];
      chance += noise[step] / (weight[step] * weight[step]);
      ++steps;
    }
    // One step of each rank has nothing to be compared with.
    const bool told = rank_steps_ > graph_.ranks.size() && steps > 1;
    if (told) out_.rank_sigma = static_cast<float>(std::sqrt(std::max(0.0, (spread - chance) / (steps - 1))));
    return sum;
  }

  /// Sigmas and centres of groups with enough repetitions; the mean over their time.
  double set_sigmas(const Groups& groups, const std::vector<double>& rank_shift) {
    double variance_ns = 0, all_ns = 0;
    for (const std::vector<uint32_t>& tasks : groups) {
      if (tasks.size() < kLeastRepeats) continue;
      const double mean = mean_log(tasks);
      double squares = 0, total_ns = 0;
      for (uint32_t task : tasks) {
        const uint32_t step = out_.rank_step[task];
        const double shift = step == kNoIndex || rank_shift.empty() ? 0 : rank_shift[step];
        const double off = log_of(graph_.duration_ns[task]) - mean - shift;
        squares += off * off;
        total_ns += static_cast<double>(graph_.duration_ns[task]);
      }
      const double variance = squares / static_cast<double>(tasks.size() - 1);
      const double mean_ns = total_ns / static_cast<double>(tasks.size());
      for (uint32_t task : tasks) {
        out_.sigma[task] = static_cast<float>(std::sqrt(variance));
        out_.centre[task] = static_cast<float>(mean_ns / static_cast<double>(graph_.duration_ns[task]));
      }
      out_.fitted += tasks.size();
      variance_ns += variance * total_ns;
      all_ns += total_ns;
    }
    return all_ns > 0 ? std::sqrt(variance_ns / all_ns) : 0;
  }

  const LinkedJob& job_;
  const ExecGraph& graph_;
  Spread out_;
  uint32_t rank_steps_ = 0;
};

}  // namespace

Spread uniform_spread(const ExecGraph& graph, double sigma) {
  Spread spread;
  spread.sigma.assign(graph.size(), 0);
  spread.centre.assign(graph.size(), 1);
  spread.rank_step.assign(graph.size(), kNoIndex);
  spread.kernel_sigma = spread.link_sigma = sigma;
  for (uint32_t task = 0; task < graph.size(); ++task) {
    if (is_gpu_task(graph.kind[task])) spread.sigma[task] = static_cast<float>(sigma);
  }
  return spread;
}

Spread fit_spread(const LinkedJob& job) { return SpreadFit(job).run(); }

}  // namespace lumos
