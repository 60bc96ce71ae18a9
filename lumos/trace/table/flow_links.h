// Launches that a producer tells by flow events alone (Ascend): which call a GPU row began with. Made by
// trace/kineto/table_builder from the flows of a trace; what it finds becomes a correlation, so that all else knows one
// way.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

/// One end of a flow that may tie a call to what it launched.
struct FlowLink {
  int64_t id = 0;
  int64_t ts_ns = 0;
  NameId category = kNoName;  ///< ids count within it
  NameId pid_text = kNoName;  ///< as written in the file
  NameId tid_text = kNoName;
  bool is_start = false;
};

/// Ties each GPU row that has no call of its correlation to the runtime call within which a flow to it starts. Such a
/// call may do much else before, so the launch becomes a row of its own, named by the flow's category, from there to
/// the call's end. Lanes must have their texts. Returns how many flows were used. O(n log n) if there are flows, else
/// nothing.
uint64_t link_by_flows(std::vector<FlowLink> flows, EventTable& table);

}  // namespace lumos
