// Which collective a launch of a communication library runs. The kernel's own metadata says so where it has any, and
// NCCL's kernel names do for most; but one kernel serves point-to-point transfers and all-to-all, RCCL's serves
// everything, and what is launched together carries no metadata: then the rows around the launch tell. Read by
// program/launches.
#pragma once

#include <string_view>

#include "lumos/graph/host/collective.h"

namespace lumos {

/// What PyTorch writes around and before a communication kernel's launch.
struct CollectiveHint {
  CollectiveKind kind = CollectiveKind::kUnknown;
  bool coalesced = false;  ///< launches together what the calls before it asked for
  bool sends = false;
  bool receives = false;

  bool tells() const { return coalesced || kind != CollectiveKind::kUnknown; }
};

/// Of a row's name ("nccl:all_reduce", "c10d::send"); tells nothing for names of other things.
CollectiveHint hint_of_name(std::string_view row_name);

/// Of "Collective name", on a kernel or on record_param_comms.
CollectiveHint hint_of_metadata(std::string_view collective_name);

/// All that is known of one launch.
struct CollectiveContext {
  CollectiveHint metadata;     ///< on the kernel
  CollectiveHint around;       ///< of the innermost row around the launch that tells
  CollectiveHint asked;        ///< of the last call on the thread since it launched communication before
  bool has_metadata = false;   ///< the kernel names its collective, if only in words unknown here
  bool in_all_to_all = false;  ///< some row around the launch has all-to-all in its name
  std::string_view kernel_name;
};

/// The collective with the directions of a point-to-point transfer, as far as they are told.
CollectiveHint collective_of(const CollectiveContext& context);

}  // namespace lumos
