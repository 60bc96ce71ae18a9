// Why ranks wait for each other in collectives: because the host of one is behind and has not launched its part yet, or
// because its GPU still works. Waiting for a host is no time of its own: it ends when that host gets there, however
// long the kernels before took. So predictions carry how far the hosts are apart, and let the waiting emerge. Made for
// program/lower/plan; program/lower/lower puts the lags into the graph.
#pragma once

#include <array>
#include <vector>

#include "lumos/program/blocks/program.h"
#include "lumos/program/measure/transfers.h"

namespace lumos {

/// Moves waiting that began before the last host had launched from Transfer::wait_ns to host_wait_ns, for tensor- and
/// data-parallel transfers, and writes into the program's tasks by how much the hosts of the other members fall behind
/// (RankProgram::peer_lags). O(tasks + transfers log transfers).
void find_host_lags(Program& program, std::vector<RankTransfers>& transfers);

/// The launch that a communication kernel of `block` waits for before it arrives; nullptr where the trace has none.
const BlockEdge* launch_of_transfer(const RankProgram& rank, const Block& block, const BlockTask& transfer);

/// The arrival of a communication kernel of `block`; nullptr where the transfer has none.
const BlockTask* arrival_of_transfer(const RankProgram& rank, const Block& block, const BlockTask& transfer);

/// How far the hosts of a rank's peers are behind its own, followed through its tasks in order. Hosts that wait for the
/// GPU wait for what all of them launched, and are level then.
class HostLags {
 public:
  /// To be shown every task.
  void pass(TaskKind kind, int64_t duration_ns);

  /// What leads to a lag of `lag_ns` from the one before.
  PeerLag step_to(PeerGroup group, double lag_ns) const;

  void follow(const PeerLag& step);

  /// By how much the last of the other members' hosts is behind; 0: this rank's is the last. `growth`: how much farther
  /// apart the members are than the traced ones.
  double behind_ns(PeerGroup group, double growth = 1) const;

  /// Host work so far of the slowest among the ranks of this replica that share the rank's stage.
  double replica_work_ns() const;

 private:
  struct Level {
    double lag_ns = 0;
    double slower_ns = 0;
    int64_t host_work_ns = 0;  ///< since
  };

  std::array<Level, 2> levels_;
  int64_t host_work_ns_ = 0;
  double waited_ns_ = 0;  ///< for hosts of the replica, until they were last level
};

}  // namespace lumos
