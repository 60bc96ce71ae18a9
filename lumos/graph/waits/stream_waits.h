// Dependencies between streams: event records on one stream and waits on another. Where cuda_sync rows say which event
// was meant they are read; elsewhere they are inferred from program order, rejected by time and voted over the
// repetitions of a call site. Made from the host and GPU programs; read by graph/build.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/host/gpu_program.h"
#include "lumos/graph/host/host_program.h"

namespace lumos {

/// `waiting` may not start before `source` has ended. Both index GpuProgram::work, on different streams.
struct StreamWait {
  uint32_t waiting = 0;
  uint32_t source = 0;
  bool recorded = false;       ///< told by cuda_sync rows
  uint8_t confidence_pct = 0;  ///< 100 where recorded
};

struct StreamWaitOptions {
  bool use_sync_rows = true;  ///< false: infer everything, to measure inference against what is recorded
};

/// At most one wait per (waiting, source stream), the latest; sorted by (waiting, source). Never contradicts time by
/// more than `tolerance_ns`, the rounding of the trace's clock.
std::vector<StreamWait> find_stream_waits(const EventTable& table, const HostProgram& host, const GpuProgram& gpu,
                                          int64_t tolerance_ns, const StreamWaitOptions& options);

}  // namespace lumos
