// Works of one NCCL communicator on several streams. The library makes each wait for the one launched before it, with
// events of its own that no trace shows as such: gathers and reductions of a sharded job share a communicator, each on
// a stream of the program. Made from the host and GPU programs; read by graph/waits/stream_waits.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/host/call_context.h"
#include "lumos/graph/host/gpu_program.h"
#include "lumos/graph/host/host_program.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// For each of GpuProgram::work the work of its communicator that was launched just before it, where that is on another
/// stream; else kNoIndex. A communicator is a process group by name; where groups are not named, streams of the program
/// whose collectives take turns with others' and are seen to wait for them (a process group's own stream is one
/// communicator anyway). Point-to-point has communicators of its own and is left out.
std::vector<uint32_t> find_communicator_order(const EventTable& table, const HostProgram& host, const GpuProgram& gpu,
                                              const CallContexts& contexts, int64_t tolerance_ns);

}  // namespace lumos
