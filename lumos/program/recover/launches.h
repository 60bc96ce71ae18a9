// GPU work in the order in which the host launched it, with what the launching code tells: thread, enclosing operators,
// autograd sequence numbers. Made from an EventTable alone; read by program/recover.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/program/recover/unit_work.h"
#include "lumos/trace/table/event_table.h"
#include "lumos/trace/words/collective_kind.h"

namespace lumos {

/// One launch call and the GPU rows it owns, or GPU rows whose call is not in the trace.
struct Launch {
  int64_t ts_ns = 0;                  ///< start of the call; of the GPU row where there is no call
  uint32_t call = kNoIndex;           ///< row of the runtime call
  uint32_t gpu_row = kNoIndex;        ///< first GPU row
  uint32_t lane = kNoIndex;           ///< thread of the call
  uint32_t outer_op = kNoIndex;       ///< outermost enclosing operator
  uint32_t inner_op = kNoIndex;       ///< innermost enclosing operator
  uint32_t sequence_op = kNoIndex;    ///< innermost enclosing operator with an autograd sequence number
  uint32_t checkpoint_op = kNoIndex;  ///< enclosing backward of a checkpoint, which runs its forward again
  bool in_backward = false;           ///< the autograd engine is running it
  bool in_recompute = false;          ///< the forward run again, not yet the backward of it
  bool in_optimizer = false;
  bool is_communication = false;
  bool is_zeroing = false;  ///< sets memory to zero and does nothing else
  bool sends = false;       ///< of point-to-point transfers, where the trace tells
  bool receives = false;
  CollectiveKind collective = CollectiveKind::kUnknown;  ///< of communication
  UnitWork unit_work = UnitWork::kNone;                  ///< part in gathering or reducing a sharded unit
  bool gathers_ahead = false;  ///< of a unit that is used after other work; set by program/recover/units

  bool is_p2p() const { return is_communication && collective == CollectiveKind::kSendRecv; }
};

/// A forward operator that autograd numbered: its backward carries the same number.
struct NumberedOp {
  int64_t sequence = -1;
  uint32_t row = kNoIndex;
  uint32_t lane = kNoIndex;
  bool is_backward = false;
};

struct LaunchList {
  std::vector<Launch> launches;         ///< by ts_ns
  std::vector<uint32_t> launch_of_row;  ///< per table row: its launch, of calls and GPU rows; else kNoIndex
  std::vector<NumberedOp> numbered;     ///< by start
};

/// O(rows log rows).
LaunchList list_launches(const EventTable& table);

}  // namespace lumos
