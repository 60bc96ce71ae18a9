// Streams by what a trace calls them: a number that counts per device. Used where cuda_sync rows name streams, and for
// which device a stream is of.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <vector>

#include "lumos/graph/host/gpu_program.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

class StreamIds {
 public:
  StreamIds(const EventTable& table, const GpuProgram& gpu);

  /// The stream `id` of `device` (the process of its lane, as the file writes it), or the only one of another device
  /// that has this number; kNoIndex: none.
  uint32_t find(NameId device, int64_t id) const;
  NameId device_of(uint32_t stream) const { return device_of_[stream]; }

 private:
  static uint64_t key(NameId device, int64_t id) {
    return static_cast<uint64_t>(id) * 0x9E3779B97F4A7C15ull ^ static_cast<uint32_t>(device);
  }

  std::vector<NameId> device_of_;
  tsl::robin_map<uint64_t, uint32_t> of_device_;
  tsl::robin_map<int64_t, uint32_t> only_;  // kNoIndex: of several devices
};

}  // namespace lumos
