// Where a runtime call stands in its thread's program: what was launched before and after it, and inside which
// collective operation it was made. Made from the host and GPU programs; read by the inference of stream waits.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/host/gpu_program.h"
#include "lumos/graph/host/host_program.h"

namespace lumos {

/// Indexes into HostProgram::calls or kNoIndex. A *communication launch* is one on a communication stream; all others
/// are made on the current stream of their thread.
struct CallContext {
  uint32_t previous_launch = kNoIndex;
  uint32_t next_launch = kNoIndex;
  uint32_t previous_compute_launch = kNoIndex;
  uint32_t next_compute_launch = kNoIndex;
  uint32_t previous_event_call = kNoIndex;  ///< record or wait directly before, no launch between
  uint32_t collective_scope = kNoIndex;     ///< row of the outermost enclosing collective operation
};

struct CallContexts {
  std::vector<CallContext> of_call;  ///< parallel to HostProgram::calls
  /// Streams of a process group: they carry communication only, or nearly, and are brought in by each collective. A
  /// stream of the program on which collectives are run (synchronous ones of newer PyTorch) is none.
  std::vector<bool> communication_stream;
  bool pair_behind_collectives = false;  ///< NCCL records and waits behind each kernel for itself
  std::vector<uint32_t> launch_stream;   ///< parallel to calls: stream of what the call launched, or kNoIndex

  bool launches_communication(uint32_t call) const {
    return call != kNoIndex && launch_stream[call] != kNoIndex && communication_stream[launch_stream[call]];
  }
};

CallContexts find_call_contexts(const EventTable& table, const HostProgram& host, const GpuProgram& gpu);

}  // namespace lumos
