// What a rank's GPU computes beside each transfer until something has to wait for it, in the trace and in a changed
// job. Made from a rank's program and its new durations; read by program/retime.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/program/blocks/program.h"
#include "lumos/program/measure/transfers.h"

namespace lumos {

/// From a communication kernel's start to the end of the last kernel that began on the compute stream before it ended,
/// or before that stream stood still.
struct BesideTransfer {
  double traced_ns = 0;     ///< 0: nothing ran beside it
  double changed_ns = 0;    ///< the same with the new durations of these kernels
  bool when_ready = false;  ///< it began when a kernel had ended, not when the transfer before it had
};

/// Per transfer. `durations_ns` are those of the rank's tasks in the changed job. The compute stream is the one with
/// most compute. O(tasks log tasks).
std::vector<BesideTransfer> beside_transfers(const RankProgram& rank, const RankTransfers& transfers,
                                             const std::vector<int64_t>& durations_ns);

}  // namespace lumos
