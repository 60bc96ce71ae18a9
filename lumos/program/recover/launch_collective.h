// Which collective a launch of a communication library runs. The kernel's own metadata says so where it has any, and
// NCCL's kernel names do for most; but one kernel serves point-to-point transfers and all-to-all, RCCL's serves
// everything, and what is launched together carries no metadata: then the rows around the launch tell. Read by
// program/launches.
#pragma once

#include "lumos/trace/words/collective_kind.h"

namespace lumos {

/// All that is known of one launch.
struct CollectiveContext {
  CollectiveHint metadata;     ///< on the kernel
  CollectiveHint around;       ///< of the innermost row around the launch that tells
  CollectiveHint asked;        ///< of the last call on the thread since it launched communication before
  bool has_metadata = false;   ///< the kernel names its collective, if only in words unknown here
  bool in_all_to_all = false;  ///< some row around the launch has all-to-all in its name
  CollectiveKind by_kernel = CollectiveKind::kUnknown;  ///< by the kernel's name
};

/// The collective with the directions of a point-to-point transfer, as far as they are told.
CollectiveHint collective_of(const CollectiveContext& context);

}  // namespace lumos
