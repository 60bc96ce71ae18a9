// What kind of work a kernel does, told by its name. For tables that people read and for comparing traces whose kernels
// have other names (another GPU, another library) but do the same work.
#pragma once

#include <cstdint>
#include <string_view>

#include "lumos/trace/table/event_table.h"

namespace lumos {

enum class KernelFamily : uint8_t {
  kGemm,
  kConvolution,
  kAttention,
  kNorm,
  kSoftmax,
  kEmbedding,  ///< lookups and indexing
  kOptimizer,
  kReduction,
  kElementwise,
  kSort,  ///< sorting, scanning, top-k, routing
  kCopy,  ///< memcpy rows
  kFill,  ///< memset rows
  kCommunication,
  kOther,
};

std::string_view family_name(KernelFamily family);

/// The family of a kernel by name alone; kOther for what no pattern knows.
KernelFamily kernel_family(std::string_view name);

/// The family of a GPU row, collective metadata and kind of row included.
KernelFamily row_family(const EventTable& table, size_t row);

}  // namespace lumos
