// All that one rank's graph is made from, gathered once: the host and GPU programs, the waits between streams and of
// the host. Made by graph/rank/build; read by its calibration and assembly.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/graph/host/gpu_program.h"
#include "lumos/graph/host/host_program.h"
#include "lumos/graph/host/host_transfers.h"
#include "lumos/graph/host/host_waits.h"
#include "lumos/graph/host/launch_queue.h"
#include "lumos/graph/waits/stream_waits.h"

namespace lumos {

/// `waiting` starts no earlier than `lag_ns` after the start of `running`: it waits for room on the GPU. Both index
/// GpuProgram::work.
struct FirstWave {
  uint32_t waiting = 0;
  uint32_t running = 0;
  int64_t lag_ns = 0;
};

/// `later` may not start before `earlier`, launched just before it on another stream. Both index GpuProgram::work.
struct IssueOrder {
  uint32_t later = 0;
  uint32_t earlier = 0;
};

struct RankPrograms {
  const EventTable* table = nullptr;
  HostProgram host;
  GpuProgram gpu;
  std::vector<StreamWait> stream_waits;
  std::vector<SyncCall> sync_calls;
  std::vector<HandOff> hand_offs;
  HostTransfers host_transfers;        ///< communication on CPU threads
  std::vector<FirstWave> first_waves;  ///< drains too
  LaunchQueue launch_queue;
  std::vector<IssueOrder> issue_order;       ///< empty unless all streams share one connection
  std::vector<uint32_t> stream_predecessor;  ///< of each work: the work it follows on its stream, or kNoIndex
  std::vector<int64_t> usual_call_ns;        ///< of each call: the median duration of its name
  int64_t longest_plain_call_ns = 0;         ///< a synchronise call beyond this has waited
  std::vector<bool> late_launch;             ///< of each call: see launches_late()
  int64_t tolerance_ns = 0;                  ///< rounding of the trace's clock

  /// A call that does much more than launch (loads a module, allocates, blocks) launches at its end, not its start.
  bool launches_late(uint32_t call) const { return late_launch[call]; }

  /// True for a copy that its own call waits for.
  bool copies(const SyncCall& sync) const {
    const CallKind kind = host.calls[sync.call].kind;
    return (kind == CallKind::kLaunch || kind == CallKind::kBlockingCopy) && sync.targets.size() == 1;
  }
  bool graph_launched(const GpuWork& work) const {
    return work.call != kNoIndex && host.calls[work.call].kind == CallKind::kGraphLaunch;
  }
  int64_t launch_ns(const GpuWork& work) const {
    return work.call == kNoIndex ? work.start_ns : table->ts_ns[host.calls[work.call].row];
  }
};

/// Timestamps in whole microseconds are off by up to two; finer ones by the GPU clock's own granularity.
int64_t clock_tolerance_ns(const EventTable& table);

/// For each work the one it follows: the last of its stream that had ended (within tolerance) when it began. Usually
/// the one before; works that really overlap (graph branches) follow an earlier one.
std::vector<uint32_t> find_stream_predecessors(const GpuProgram& gpu, int64_t tolerance_ns);

/// Calls much longer than the median of their name whose work began near their end, by HostProgram::calls.
std::vector<bool> find_late_launches(const EventTable& table, const HostProgram& host, const GpuProgram& gpu,
                                     const std::vector<int64_t>& usual_ns);

/// Median duration of each launching call's name, by HostProgram::calls; what a late launch's last part takes.
std::vector<int64_t> usual_durations(const EventTable& table, const HostProgram& host);

/// Ten times the median of all runtime calls: what a call that waits for nothing may take.
int64_t longest_plain_call(const EventTable& table, const HostProgram& host);

/// Fits the rank's constants: "launch:CALL", "dispatch:STREAM", "event", "return:CALL", "call:CALL".
std::vector<Constant> calibrate(const RankPrograms& programs);

std::string dispatch_constant(const EventTable& table, const GpuProgram& gpu, const GpuWork& work);
std::string call_constant(const char* prefix, const EventTable& table, const HostCall& call);

}  // namespace lumos
