// The communication kernels of one rank, summed by process group and kind: how often, how many bytes, how long.
// Part of the inventory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

struct CollectiveUse {
  std::string group;  ///< "default_pg (0)"; "" where the trace does not tell
  std::string kind;   ///< as the metadata calls it ("allreduce"), else as the kernel's name does ("AllReduce")
  int32_t group_size = -1;
  uint64_t count = 0;
  int64_t bytes = 0;        ///< the larger of the input and output buffers, summed where known
  uint64_t with_bytes = 0;  ///< how many tell their bytes
  int64_t total_ns = 0;     ///< waiting for other ranks included
};

/// Longest total first. O(rows).
std::vector<CollectiveUse> collective_uses(const EventTable& table);

}  // namespace lumos
