// How a grid fills a GPU: how many of its blocks fit at once and in how many waves they run. From the launch
// configuration of a kernel row and the device properties of its trace; read by graph/ and report/.
#pragma once

#include "lumos/trace/table/event_table.h"

namespace lumos {

/// Blocks of the grid; 0 where the trace does not tell.
int64_t blocks_of(const GpuDetail& kernel);

/// Blocks of this kernel that one SM holds at once, by threads, registers and shared memory; at least 1. Limits that
/// the trace does not tell count as none.
int64_t blocks_per_sm(const GpuDetail& kernel, const DeviceProperties& device);

/// Waves that the grid takes; 0 where the trace tells neither grid nor number of SMs.
int64_t waves(const GpuDetail& kernel, const DeviceProperties& device);

}  // namespace lumos
