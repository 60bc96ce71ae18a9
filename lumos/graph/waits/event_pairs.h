// Records that the next call of their thread waits for: a pair, or a row of pairs, or a fork where several waits follow
// one record. Made from the host program and the contexts of its calls; read by graph/waits/stream_waits.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/host/call_context.h"
#include "lumos/graph/host/host_program.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// In EventPairs::fork: a wait after the first of its row.
inline constexpr uint32_t kForkMember = UINT32_MAX;

/// By index of HostProgram::calls.
struct EventPairs {
  std::vector<bool> followed;  ///< a record with a wait right after it in the same operator
  std::vector<uint32_t> fork;  ///< of the first wait after a record how many follow, itself included; 0 elsewhere
  std::vector<uint32_t>
      records;  ///< there too: how many records are among them. 1 in a fork, as many as waits in pairs
};

/// Where the trace has no records at all (`has_records` false), waits with nothing between them share one.
EventPairs find_event_pairs(const EventTable& table, const HostProgram& host, const CallContexts& contexts,
                            bool has_records);

/// Both calls were made by the same operator, or both by none.
inline bool same_operator(const HostProgram& host, uint32_t a, uint32_t b) {
  return host.parent[host.calls[a].row] == host.parent[host.calls[b].row];
}

}  // namespace lumos
