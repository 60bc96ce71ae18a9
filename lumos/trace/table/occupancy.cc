#include "lumos/trace/table/occupancy.h"

#include <algorithm>

namespace lumos {

namespace {

int64_t product(const int32_t (&dims)[3]) {
  return static_cast<int64_t>(std::max(dims[0], 0)) * std::max(dims[1], 1) * std::max(dims[2], 1);
}

// Blocks that one SM holds at most, whatever their size: 32 on data-centre GPUs from Maxwell on; smaller parts hold 16
// or 24.
constexpr int64_t kMaxBlocksPerSm = 32;

}  // namespace

int64_t blocks_of(const GpuDetail& kernel) { return product(kernel.grid); }

int64_t blocks_per_sm(const GpuDetail& kernel, const DeviceProperties& device) {
  const int64_t threads = product(kernel.block);
  int64_t fit = INT64_MAX;
  if (threads > 0 && device.max_threads_per_sm > 0) fit = std::min<int64_t>(fit, device.max_threads_per_sm / threads);
  const int64_t registers = threads * kernel.registers_per_thread;
  if (registers > 0 && device.registers_per_sm > 0) fit = std::min<int64_t>(fit, device.registers_per_sm / registers);
  if (kernel.shared_memory_bytes > 0 && device.shared_memory_per_sm_bytes > 0) {
    fit = std::min<int64_t>(fit, device.shared_memory_per_sm_bytes / kernel.shared_memory_bytes);
  }
  return fit == INT64_MAX ? 1 : std::clamp<int64_t>(fit, 1, kMaxBlocksPerSm);
}

int64_t waves(const GpuDetail& kernel, const DeviceProperties& device) {
  const int64_t blocks = blocks_of(kernel);
  if (blocks == 0 || device.num_sms <= 0) return 0;
  const int64_t at_once = device.num_sms * blocks_per_sm(kernel, device);
  return (blocks + at_once - 1) / at_once;
}

}  // namespace lumos
