// Which stream was the current one of a thread at an event call. The trace does not say; launches around it and the
// operators that hold them do. Made from the host program and the contexts of its calls; read by stream_waits.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/host/call_context.h"
#include "lumos/graph/host/host_program.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// Streams index GpuProgram::stream_lane. `other` is the one that time may decide for; kNoIndex where there is no
/// doubt.
struct CurrentStream {
  uint32_t likely = kNoIndex;
  uint32_t other = kNoIndex;
};

class CurrentStreams {
 public:
  CurrentStreams(const EventTable& table, const HostProgram& host, const CallContexts& contexts);

  /// The current stream at a record or wait. Launches before and after it agree in most cases. Where they do not, the
  /// innermost operator around the call has switched already if it makes the launch after it; else the call is made on
  /// the thread's usual stream, as an operator leaves no other stream behind.
  CurrentStream at(uint32_t call) const;

  /// The stream that most launches are made on; of a thread that never uses it, the one of most of its own.
  uint32_t usual(uint32_t thread) const { return usual_[thread]; }

 private:
  bool holds(uint32_t op, uint32_t call) const;

  const EventTable& table_;
  const HostProgram& host_;
  const CallContexts& contexts_;
  std::vector<uint32_t> usual_;
};

}  // namespace lumos
