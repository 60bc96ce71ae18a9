// How long one kernel takes that does what several did: it reads what they read from outside and writes what they leave
// behind, each once; what one hands to the next stays in registers. Read by whatif/change.
#pragma once

#include <cstdint>
#include <vector>

namespace lumos {

/// One of the kernels, in their order. Bytes are 0 where no shapes were recorded.
struct FusedPart {
  int64_t duration_ns = 0;
  int64_t floor_ns = 0;  ///< of it: what a kernel takes with next to no work
  int64_t input_bytes = 0;
  int64_t output_bytes = 0;
};

/// Nanoseconds of the fused kernel: one fixed part, and of the rest the share of bytes that still move. At least as
/// long as the longest part, at most as long as all. Without the bytes of every part it takes as long as the longest:
/// what that one moved has to be moved still.
int64_t fused_ns(const std::vector<FusedPart>& parts);

}  // namespace lumos
