#include "lumos/program/measure/host_lags.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "lumos/sim/overlap.h"

namespace lumos {
namespace {

/// The GPUs of a group do equal work: waiting that comes to more than this part of the work is for a host.
constexpr double kMostGpuWait = 0.5;

/// Below this part of all waiting, waits for hosts are those at the beginnings of passes, before the GPUs have enough
/// to do: they stay parts of the durations. The emulated sets that the GPU decides have at most a twentieth of it,
/// those that the host decides more than three quarters: anything between tells them apart.
constexpr double kHostsSetThePace = 0.25;

constexpr double kUnknown = INFINITY;

bool is_group(CommScope scope) { return scope == CommScope::kTensor || scope == CommScope::kData; }

PeerGroup group_of(CommScope scope) { return scope == CommScope::kData ? PeerGroup::kData : PeerGroup::kTensor; }

/// Of one rank, per transfer.
struct RankHosts {
  std::vector<double> launched_ns;  ///< when an idle GPU would have begun the kernel, or kUnknown
  std::vector<double> behind_ns;    ///< by how much the last of the tensor-parallel hosts is behind by then
  std::vector<double> work_ns;      ///< of data-parallel ones: of the replica's slowest host since the one before
  std::vector<double> lag_ns;       ///< of the other members behind this rank, or kUnknown
  std::vector<double> slower_ns;    ///< by how much more the slowest of the other members had to do than this one
};

class LagFinder {
 public:
  LagFinder(Program& program, std::vector<RankTransfers>& transfers) : program_(program), transfers_(transfers) {
    for (size_t r = 0; r < transfers.size(); ++r) {
      const size_t count = transfers[r].transfers.size();
      const std::vector<double> zeros(count, 0), unknown(count, kUnknown);
      hosts_.push_back({unknown, zeros, zeros, unknown, zeros});
      find_launches(r);
      unseen_hosts_.push_back(waits_for_unseen_hosts(r));
    }
  }

  /// Ranks of one replica first: a replica arrives at what it does with others when the last of its hosts does.
  void run() {
    for (PeerGroup group : {PeerGroup::kTensor, PeerGroup::kData}) {
      find_lags(group);
      // For all ranks alike: what is drawn from one must fit what is drawn from another.
      const bool keep = hosts_wait_share(group) >= kHostsSetThePace;
      for (size_t r = 0; r < transfers_.size(); ++r) {
        if (!keep) forget_lags(r, group);
        follow(r, group);
      }
    }
  }

 private:
  template <class Visit>
  void each_task(size_t r, const Visit& visit) {
    RankProgram& rank = program_.ranks[r];
    for (const Block& block : rank.blocks) {
      for (uint32_t t = block.task_begin; t < block.task_end; ++t) {
        BlockTask& task = rank.tasks[t];
        uint32_t index = kNoIndex;
        if (task.kind == TaskKind::kTransfer && task.event < transfers_[r].of_row.size())
          index = transfers_[r].of_row[task.event];
        if (index != kNoIndex && !is_group(transfers_[r].transfers[index].scope)) index = kNoIndex;
        visit(block, task, index);
      }
    }
  }

  void find_launches(size_t r) {
    const RankProgram& rank = program_.ranks[r];
    const LaunchList& list = rank.recovered.list;
    each_task(r, [&](const Block& block, const BlockTask& task, uint32_t index) {
      if (index == kNoIndex) return;
      const Launch& launch = list.launches[list.launch_of_row[task.event]];
      const BlockEdge* edge = launch_of_transfer(rank, block, task);
      if (launch.call != kNoIndex && edge != nullptr)
        hosts_[r].launched_ns[index] = static_cast<double>(launch.ts_ns + edge->lag_ns);
    });
  }

  /// Where the other members were not traced: whether what this rank waits for can be the work of equal GPUs.
  bool waits_for_unseen_hosts(size_t r) {
    double wait_ns = 0, compute_ns = 0;
    bool complete = false;
    each_task(r, [&](const Block&, const BlockTask& task, uint32_t index) {
      if (is_compute_task(task.kind)) compute_ns += static_cast<double>(task.duration_ns);
      if (index == kNoIndex) return;
      complete |= transfers_[r].transfers[index].complete;
      wait_ns += static_cast<double>(transfers_[r].transfers[index].wait_ns);
    });
    return !complete && wait_ns > kMostGpuWait * compute_ns;
  }

  void find_lags(PeerGroup group) {
    std::map<uint32_t, std::vector<std::pair<size_t, uint32_t>>> meetings;
    for (size_t r = 0; r < transfers_.size(); ++r) {
      for (uint32_t i = 0; i < transfers_[r].transfers.size(); ++i) {
        const Transfer& transfer = transfers_[r].transfers[i];
        if (!is_group(transfer.scope) || group_of(transfer.scope) != group) continue;
        if (transfer.matched) meetings[transfer.meeting].emplace_back(r, i);
      }
    }
    for (const auto& [number, members] : meetings) find_lags_of(members);
    for (size_t r = 0; r < transfers_.size(); ++r) {
      for (uint32_t i = 0; unseen_hosts_[r] && i < transfers_[r].transfers.size(); ++i) {
        const Transfer& transfer = transfers_[r].transfers[i];
        if (transfer.complete || !is_of(r, i, group)) continue;
        // The last host launched when bytes began to move.
        const double unseen_ns = end_ns(r, i) - static_cast<double>(transfer.transfer_ns) - ready_ns(r, i);
        double& lag_ns = hosts_[r].lag_ns[i];
        lag_ns = lag_ns == kUnknown ? unseen_ns : std::max(lag_ns, unseen_ns);
      }
    }
  }

  /// All members of a collective end together: how long before that each was ready tells how far their hosts are apart,
  /// whatever their clocks show.
  void find_lags_of(const std::vector<std::pair<size_t, uint32_t>>& members) {
    for (auto [r, i] : members) {
      double last_other_ns = kUnknown, most_work_ns = 0;
      for (auto [other, j] : members) {
        if (other == r) continue;
        last_other_ns = std::min(last_other_ns, end_ns(other, j) - ready_ns(other, j));
        most_work_ns = std::max(most_work_ns, hosts_[other].work_ns[j]);
      }
      hosts_[r].slower_ns[i] = most_work_ns - hosts_[r].work_ns[i];
      const double before_end_ns = end_ns(r, i) - ready_ns(r, i);
      if (std::isfinite(before_end_ns) && std::isfinite(last_other_ns))
        hosts_[r].lag_ns[i] = before_end_ns - last_other_ns;
    }
  }

  bool is_of(size_t r, uint32_t i, PeerGroup group) const {
    const CommScope scope = transfers_[r].transfers[i].scope;
    return is_group(scope) && group_of(scope) == group;
  }

  /// When the last host of a transfer's members had launched; kUnknown where its lag is.
  double last_ready_ns(size_t r, uint32_t i) const { return ready_ns(r, i) + std::max(0.0, hosts_[r].lag_ns[i]); }

  /// Of all waiting in groups of this kind, the part before the last host had launched.
  double hosts_wait_share(PeerGroup group) const {
    double hosts_ns = 0, all_ns = 0;
    for (size_t r = 0; r < transfers_.size(); ++r) {
      for (uint32_t i = 0; i < transfers_[r].transfers.size(); ++i) {
        if (!is_of(r, i, group) || !std::isfinite(last_ready_ns(r, i))) continue;
        const Transfer& transfer = transfers_[r].transfers[i];
        const auto wait_ns = static_cast<double>(transfer.wait_ns);
        const auto arrived_ns = static_cast<double>(program_.ranks[r].table->ts_ns[transfer.row]);
        hosts_ns += std::clamp(last_ready_ns(r, i) - arrived_ns, 0.0, wait_ns);
        all_ns += wait_ns;
      }
    }
    return all_ns > 0 ? hosts_ns / all_ns : 0;
  }

  void forget_lags(size_t r, PeerGroup group) {
    for (uint32_t i = 0; i < transfers_[r].transfers.size(); ++i)
      if (is_of(r, i, group)) hosts_[r].lag_ns[i] = kUnknown;
  }

  double end_ns(size_t r, uint32_t i) const {
    return static_cast<double>(program_.ranks[r].table->end_ns(transfers_[r].transfers[i].row));
  }
  double ready_ns(size_t r, uint32_t i) const { return hosts_[r].launched_ns[i] + hosts_[r].behind_ns[i]; }

  /// Writes the steps from lag to lag of one group, and what waiting they explain.
  void follow(size_t r, PeerGroup group) {
    RankProgram& rank = program_.ranks[r];
    HostLags lags;
    double met_at_ns = 0;
    each_task(r, [&](const Block&, BlockTask& task, uint32_t index) {
      lags.pass(task.kind, task.duration_ns);
      if (index == kNoIndex) return;
      Transfer& transfer = transfers_[r].transfers[index];
      const PeerGroup own = group_of(transfer.scope);
      if (own == group && std::isfinite(hosts_[r].lag_ns[index])) {
        task.peer_lag = static_cast<uint32_t>(rank.peer_lags.size());
        rank.peer_lags.push_back(lags.step_to(group, hosts_[r].lag_ns[index]));
        rank.peer_lags.back().slower_ns = static_cast<int64_t>(hosts_[r].slower_ns[index]);
      }
      if (task.peer_lag != kNoIndex) lags.follow(rank.peer_lags[task.peer_lag]);
      if (own == PeerGroup::kData) {
        hosts_[r].behind_ns[index] = lags.behind_ns(PeerGroup::kTensor);
        hosts_[r].work_ns[index] = lags.replica_work_ns() - met_at_ns;
        met_at_ns = lags.replica_work_ns();
      }
      const double last_host_ns = last_ready_ns(r, index);
      if (own == group && std::isfinite(last_host_ns)) {
        const double arrived_ns = static_cast<double>(rank.table->ts_ns[transfer.row]);
        const auto waited_ns = std::min(static_cast<int64_t>(last_host_ns - arrived_ns), transfer.wait_ns);
        if (waited_ns <= 0) return;
        rank.peer_lags[task.peer_lag].gpu_tail_ns = transfer.wait_ns - waited_ns;
        transfer.host_wait_ns = std::exchange(transfer.wait_ns, 0);
      }
    });
  }

  Program& program_;
  std::vector<RankTransfers>& transfers_;
  std::vector<RankHosts> hosts_;
  std::vector<bool> unseen_hosts_;
};

}  // namespace

void find_host_lags(Program& program, std::vector<RankTransfers>& transfers) { LagFinder(program, transfers).run(); }

const BlockEdge* launch_of_transfer(const RankProgram& rank, const Block& block, const BlockTask& transfer) {
  const BlockTask* arrival = arrival_of_transfer(rank, block, transfer);
  if (arrival == nullptr) return nullptr;
  for (uint32_t l = arrival->edge_begin; l < arrival->edge_end; ++l)
    if (rank.edges[l].kind == EdgeKind::kLaunch) return &rank.edges[l];
  return nullptr;
}

const BlockTask* arrival_of_transfer(const RankProgram& rank, const Block& block, const BlockTask& transfer) {
  for (uint32_t e = transfer.edge_begin; e < transfer.edge_end; ++e) {
    if (rank.edges[e].kind == EdgeKind::kTransferOf && rank.edges[e].local >= 0)
      return &rank.tasks[block.task_begin + static_cast<uint32_t>(rank.edges[e].local)];
  }
  return nullptr;
}

void HostLags::pass(TaskKind kind, int64_t duration_ns) {
  if (kind == TaskKind::kSyncReturn) {
    waited_ns_ += behind_ns(PeerGroup::kTensor);
    levels_ = {};
  }
  if (kind != TaskKind::kHost && kind != TaskKind::kCall) return;
  host_work_ns_ += duration_ns;
  for (Level& level : levels_) level.host_work_ns += duration_ns;
}

PeerLag HostLags::step_to(PeerGroup group, double lag_ns) const {
  const Level& level = levels_[static_cast<size_t>(group)];
  return {group, static_cast<int64_t>(lag_ns - level.lag_ns), level.host_work_ns, 0, 0};
}

void HostLags::follow(const PeerLag& step) {
  Level& level = levels_[static_cast<size_t>(step.group)];
  // Replicas meet rarely: how far they fall apart on the way grows with it. Within a replica there is always the same
  // work between two meetings.
  const bool grows = step.group == PeerGroup::kData && step.host_work_ns > 0;
  const double more = grows ? static_cast<double>(level.host_work_ns) / static_cast<double>(step.host_work_ns) : 1;
  level = {level.lag_ns + more * static_cast<double>(step.step_ns), more * static_cast<double>(step.slower_ns), 0};
}

double HostLags::behind_ns(PeerGroup group, double growth) const {
  const Level& level = levels_[static_cast<size_t>(group)];
  const double lag_ns = std::max(0.0, level.lag_ns);
  if (group == PeerGroup::kTensor) return growth * lag_ns;
  // A replica that has been held up by the others still is ahead of them by what fits between two meetings. More
  // members hold it up by more only as far as they are slower.
  return lag_ns + (growth - 1) * std::clamp(level.slower_ns, 0.0, lag_ns);
}

double HostLags::replica_work_ns() const {
  return static_cast<double>(host_work_ns_) + waited_ns_ + behind_ns(PeerGroup::kTensor);
}

}  // namespace lumos
