#include "lumos/report/results/stragglers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "lumos/base/parallel.h"
#include "lumos/report/figures/job_step.h"
#include "lumos/report/figures/steps.h"
#include "lumos/sim/overlap.h"
#include "lumos/sim/simulate.h"
#include "lumos/whatif/gains/peers.h"

namespace lumos {

namespace {

double ms_of(int64_t ns) { return static_cast<double>(ns) / 1e6; }

/// Which communication kernels lie in a chosen step of their rank, and how many steps there are.
struct Chosen {
  std::vector<bool> kernel;
  double steps = 0;  ///< mean over the ranks
};

Chosen chosen_kernels(const LinkedJob& job) {
  const ExecGraph& graph = job.linked.graph;
  Chosen out;
  out.kernel.assign(job.matches.kernels.size(), false);
  for (size_t r = 0; r < graph.ranks.size(); ++r) {
    const RankTasks& rank = graph.ranks[r];
    const std::vector<uint32_t> steps = chosen_steps(rank);
    out.steps += static_cast<double>(steps.size()) / static_cast<double>(graph.ranks.size());
    for (uint32_t step : steps) {
      const Window window = measured_window(graph, rank, rank.steps[step]);
      for (uint32_t k = job.matches.rank_begin[r]; k < job.matches.rank_begin[r + 1]; ++k) {
        const int64_t start_ns = rank.table->ts_ns[job.matches.kernels[k].row];
        if (start_ns >= window.start_ns && start_ns < window.end_ns) out.kernel[k] = true;
      }
    }
  }
  return out;
}

class ArrivalTable {
 public:
  ArrivalTable(const LinkedJob& job, const Chosen& chosen) : job_(job), chosen_(chosen) {}

  void fill(Stragglers& out) {
    const JobMatches& matches = job_.matches;
    for (size_t m = 0; m < matches.size(); ++m) add_match(matches.members_of(m));
    for (uint32_t k = 0; k < matches.kernels.size(); ++k) {
      if (!chosen_.kernel[k] || job_.transfers.hidden_ns[k] == 0) continue;
      arrivals(matches.kernels[k]).missing_wait_ms += per_step(job_.transfers.hidden_ns[k]);
    }
    for (auto& [index, group] : groups_) {
      if (group.collectives == 0) continue;
      StragglerGroup row = group;
      for (auto& [rank, member] : members_[index]) {
        member.last_share = static_cast<double>(member.last) / static_cast<double>(group.collectives);
        row.members.push_back(member);
      }
      out.groups.push_back(std::move(row));
    }
    std::stable_sort(out.groups.begin(), out.groups.end(),
                     [](const StragglerGroup& a, const StragglerGroup& b) { return waits_of(a) > waits_of(b); });
    for (const auto& [ranks, wait_ms] : pairs_) out.pairs.push_back({ranks.first, ranks.second, wait_ms});
    std::stable_sort(out.pairs.begin(), out.pairs.end(),
                     [](const WaitPair& a, const WaitPair& b) { return a.wait_ms > b.wait_ms; });
  }

 private:
  static double waits_of(const StragglerGroup& group) {
    double sum = 0;
    for (const GroupArrivals& member : group.members) sum += member.own_wait_ms;
    return sum;
  }

  double per_step(int64_t ns) const { return chosen_.steps > 0 ? ms_of(ns) / chosen_.steps : 0; }
  int32_t rank_of(const CommKernel& kernel) const { return job_.linked.graph.ranks[kernel.rank_index].rank; }

  StragglerGroup& group_of(uint32_t index) {
    auto [it, fresh] = groups_.try_emplace(index);
    if (fresh) {
      const CommGroup& group = job_.matches.groups[index];
      it->second.group = group.description.empty() ? group.name : group.name + " " + group.description;
      it->second.size = group.size;
    }
    return it->second;
  }
  GroupArrivals& arrivals(const CommKernel& kernel) {
    group_of(kernel.group);
    GroupArrivals& member = members_[kernel.group][rank_of(kernel)];
    member.rank = rank_of(kernel);
    return member;
  }

  void add_match(std::span<const uint32_t> members) {
    const JobMatches& matches = job_.matches;
    if (!chosen_.kernel[members[0]]) return;
    uint32_t last = members[0];
    for (uint32_t k : members) {
      if (matches.start_of(k) > matches.start_of(last)) last = k;
    }
    ++group_of(matches.kernels[last].group).collectives;
    ++arrivals(matches.kernels[last]).last;
    for (uint32_t k : members) {
      if (k == last) continue;
      const double wait_ms = per_step(job_.transfers.wait_ns[k]);
      arrivals(matches.kernels[k]).own_wait_ms += wait_ms;
      arrivals(matches.kernels[last]).others_wait_ms += wait_ms;
      if (wait_ms > 0) pairs_[{rank_of(matches.kernels[k]), rank_of(matches.kernels[last])}] += wait_ms;
    }
  }

  const LinkedJob& job_;
  const Chosen& chosen_;
  std::map<uint32_t, StragglerGroup> groups_;
  std::map<uint32_t, std::map<int32_t, GroupArrivals>> members_;
  std::map<std::pair<int32_t, int32_t>, double> pairs_;
};

double step_without(const ExecGraph& graph, const RankTasks& rank, double slowdown) {
  ExecGraph faster = graph;
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    if (!is_compute_task(graph.kind[task])) continue;
    faster.duration_ns[task] = std::llround(static_cast<double>(graph.duration_ns[task]) / slowdown);
  }
  return simulated_step_ms(faster, simulate(faster));
}

}  // namespace

Stragglers find_stragglers(const LinkedJob& job, int threads) {
  const ExecGraph& graph = job.linked.graph;
  Stragglers out;
  const Chosen chosen = chosen_kernels(job);
  ArrivalTable(job, chosen).fill(out);
  out.step_ms = simulated_step_ms(graph, simulate(graph));
  const std::vector<double> slow = kernel_slowdowns(graph, threads);
  for (size_t r = 0; r < graph.ranks.size(); ++r) {
    StragglerRank rank;
    rank.rank = graph.ranks[r].rank;
    rank.slowdown = slow[r];
    for (const StragglerGroup& group : out.groups) {
      for (const GroupArrivals& member : group.members) {
        if (member.rank == rank.rank) rank.others_wait_ms += member.others_wait_ms;
      }
    }
    // One after the other: a copy of the graph for every rank at once would not fit.
    if (slow[r] > kNotableSlowdown) rank.gain_ms = out.step_ms - step_without(graph, graph.ranks[r], slow[r]);
    out.ranks.push_back(rank);
  }
  std::stable_sort(out.ranks.begin(), out.ranks.end(), [](const StragglerRank& a, const StragglerRank& b) {
    return std::pair(a.gain_ms, a.others_wait_ms) > std::pair(b.gain_ms, b.others_wait_ms);
  });
  return out;
}

}  // namespace lumos
