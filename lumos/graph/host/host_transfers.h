// Communication that runs on CPU threads of its own, as gloo does: which threads these are, which call put each
// operation into their queue, and where the program waited for them. Made from an event table and its host program;
// read by graph/rank/build, which makes them arrivals and transfers like those of a GPU stream, and by graph/match.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lumos/graph/host/host_program.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// One operation, in the order in which they began.
struct HostTransfer {
  uint32_t row = 0;
  uint32_t segment = kNoIndex;      ///< its first segment
  uint32_t enqueue_row = kNoIndex;  ///< the operator that put it into the queue; kNoIndex: not in the trace
  bool thread_was_idle = false;     ///< then the time since the operator's start is what handing over takes
};

/// `segment` of a program's thread is a wait for operations that it had put into the queue.
struct HostTransferWait {
  uint32_t segment = 0;
  std::vector<uint32_t> transfers;  ///< indexes of all that are waited for; the last one to end comes last
  int64_t latency_ns = 0;           ///< from that end to the segment's end
};

struct HostTransfers {
  std::vector<bool> is_transfer_thread;  ///< per thread of the host program
  std::vector<HostTransfer> transfers;
  std::vector<HostTransferWait> waits;
};

/// Lanes on which nothing but communication runs. One entry per lane; false for streams.
std::vector<bool> transfer_lanes(const EventTable& table);

/// O(n log n). Queues are first in, first out: the k-th operation of a kind belongs to the k-th call of that kind.
HostTransfers find_host_transfers(const EventTable& table, const HostProgram& host);

/// Bytes that the operation of `row` moves, by the tensors of the call that put it into its queue (kNoIndex: not
/// known): the thread's own row may name what lies in their place when it runs. -1 where nothing tells.
int64_t transfer_bytes(const EventTable& table, uint32_t row, uint32_t enqueue_row);

/// Bytes of the tensors that an operator's "Input Dims" and "Input type" tell, -1 where they tell none:
/// "[[2,3],[]]", "[\"float\",\"\"]" is 24.
int64_t input_bytes(std::string_view dims, std::string_view types);

}  // namespace lumos
