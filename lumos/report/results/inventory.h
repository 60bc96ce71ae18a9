// What is in the trace of one rank: steps, threads, streams, collectives, metadata, what the reader repaired or left
// out. Read off the event table alone, before any graph. Made for `lumos inspect` and the HTML report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/report/figures/collective_use.h"
#include "lumos/report/figures/odd_times.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// A ProfilerStep annotation as it was recorded.
struct StepMark {
  std::string name;
  int64_t start_ns = 0;  ///< from the first event of the trace
  int64_t length_ns = 0;
};

/// A CPU thread and what happened on it.
struct ThreadUse {
  std::string label;  ///< "thread 4242", with its name where the trace has one
  uint64_t events = 0;
  uint64_t calls = 0;       ///< runtime and driver calls among them
  uint64_t launches = 0;    ///< GPU rows that calls of this thread launched
  int64_t busy_ns = 0;      ///< time covered by at least one event
  bool polls_only = false;  ///< asks the GPU and does nothing else: holds nobody up
};

/// A GPU stream and what ran on it.
struct StreamUse {
  std::string label;  ///< "stream 7", with its device where there are several
  uint64_t kernels = 0;
  uint64_t copies = 0;       ///< copies and fills
  uint64_t collectives = 0;  ///< communication kernels among the kernels
  int64_t busy_ns = 0;
};

/// How much of the metadata that good results need is there. Each pair: how many have it, of how many.
struct Coverage {
  uint64_t operators = 0;
  uint64_t operators_with_shapes = 0;
  uint64_t gpu_rows = 0;
  uint64_t gpu_rows_with_launch = 0;
  uint64_t waits = 0;           ///< calls that make a stream wait for an event
  uint64_t records = 0;         ///< calls that record an event
  uint64_t synchronises = 0;    ///< calls in which the host waits for the GPU
  uint64_t sync_rows = 0;       ///< cuda_sync rows
  uint64_t resolved_waits = 0;  ///< those of a stream wait that name the record
  uint64_t collective_kernels = 0;
  uint64_t collective_kernels_with_metadata = 0;
  uint64_t graph_launches = 0;
  uint64_t forward_backward_flows = 0;
};

struct RankInventory {
  const TraceInfo* info = nullptr;  ///< of the table, which must outlive this
  uint64_t events_kept = 0;
  int64_t span_ns = 0;                     ///< first start to last end
  std::vector<StepMark> steps;             ///< by start
  std::vector<ThreadUse> threads;          ///< most events first
  std::vector<StreamUse> streams;          ///< busiest first
  std::vector<CollectiveUse> collectives;  ///< longest total first
  Coverage coverage;
  OddTimes odd;
};

/// O(n log n) in the rows of the table.
RankInventory take_inventory(const EventTable& table);

}  // namespace lumos
