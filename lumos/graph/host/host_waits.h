// When the host waits: synchronise calls for GPU work, and threads for each other. Told by cuda_sync rows where
// present, else by what ended when the wait ended. Made from the host and GPU programs; read by graph/build.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/host/gpu_program.h"
#include "lumos/graph/host/host_program.h"

namespace lumos {

/// A call that returns only when some GPU work is done.
struct SyncCall {
  uint32_t call = 0;              ///< index into HostProgram::calls
  std::vector<uint32_t> targets;  ///< works that it waits for, at most one per stream
  bool waited = false;            ///< one of them was still running when the call began
  bool recorded = false;          ///< the meaning is told by the trace or by the call itself
};

/// All synchronising calls in call order, those with nothing to wait for included.
std::vector<SyncCall> find_sync_calls(const EventTable& table, const HostProgram& host, const GpuProgram& gpu,
                                      int64_t tolerance_ns, bool use_sync_rows);

/// `segment` of one thread resumes when `source` of another has ended: the time between is waiting, not work.
struct HandOff {
  uint32_t segment = 0;    ///< the idle segment that ends with the hand-off
  uint32_t source = 0;     ///< the last segment of the other thread before it fell idle
  int64_t latency_ns = 0;  ///< from the source's end to the segment's end
};

/// Hand-offs between threads, both ways (autograd and main, loaders ...). A pair of threads is believed when its waits
/// end soon after the other's work, relative to how long they waited; no absolute threshold. Threads of `left_out` (one
/// entry per thread, or empty) take no part: how others wait for them is known better.
std::vector<HandOff> find_hand_offs(const EventTable& table, const HostProgram& host,
                                    const std::vector<bool>& left_out = {});

}  // namespace lumos
