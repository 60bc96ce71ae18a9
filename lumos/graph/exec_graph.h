// The execution graph: tasks on processors and what each must wait for. Made by graph/rank/build (one rank),
// graph/job/link (many ranks) and program/lower/lower (predictions); read by sim/, whatif/ and report/. Immutable once
// made; edits copy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

/// What a task is. One event may become several tasks: a synchronise call is entered and returned from; a collective
/// kernel arrives and then transfers; an operator is cut into the pieces between its children.
enum class TaskKind : uint8_t {
  kHost,        ///< exclusive CPU time of an event, or untraced host time (event == kNoIndex)
  kCall,        ///< a runtime call: the exclusive CPU time of a launch, record, wait, enter of a synchronise ...
  kSyncReturn,  ///< the part of a synchronise call or blocking copy after the GPU is done
  kKernel,
  kMemcpy,
  kMemset,
  kArrive,      ///< a collective kernel begins on its stream (duration 0)
  kTransfer,    ///< from then to the kernel's end; linked ranks: the transfer after the last rank arrived
  kRendezvous,  ///< all members of a collective have arrived (duration 0, no processor)
  kGap,         ///< time on a stream that nothing in the trace explains: kept, and counted as unexplained
};

constexpr bool is_gpu_task(TaskKind kind) { return kind >= TaskKind::kKernel && kind <= TaskKind::kTransfer; }

/// Why a task waits for another.
enum class EdgeKind : uint8_t {
  kThread,       ///< program order of a CPU thread
  kInterThread,  ///< one thread waits for another
  kLaunch,       ///< launch call to GPU task
  kSync,         ///< GPU task to the return of a synchronise call
  kStream,       ///< order of a stream
  kInterStream,  ///< event record on one stream, wait on another
  kQueue,        ///< the launch queue is full: a launch waits for an earlier task to start
  kIssueOrder,   ///< one connection: kernels of all streams start in issue order
  kRendezvous,   ///< members of a collective
  kTransferOf,   ///< arrival to transfer of one collective kernel
  kFirstWave,    ///< room on the GPU: a part of the source's duration, so it scales with it
  kCount,
};

/// One dependency: the task may start once its source has ended (or started) and `lag_ns` have passed.
struct Edge {
  uint32_t source = 0;
  int32_t lag_ns = 0;
  EdgeKind kind = EdgeKind::kThread;
  bool from_start = false;       ///< counts from the source's start instead of its end
  bool recorded = true;          ///< read from the trace; else inferred
  uint8_t confidence_pct = 100;  ///< of an inferred edge
};
static_assert(sizeof(Edge) == 12);

/// A CPU thread or a GPU stream of one rank.
struct Processor {
  uint32_t rank_index = 0;  ///< index into ExecGraph::ranks
  uint32_t lane = 0;        ///< index into that rank's EventTable::lanes
  bool is_gpu = false;
};
inline constexpr uint32_t kNoProcessor = UINT32_MAX;

/// A number calibrated on the trace, e.g. the latency from a launch call's start to an idle stream's kernel.
struct Constant {
  std::string name;  ///< "launch:cudaLaunchKernel", "dispatch:stream 7", "return:cudaDeviceSynchronize"
  int64_t value_ns = 0;
  uint64_t samples = 0;  ///< 0: the built-in default, for want of evidence
};

/// A part of the measured run to read results from; in trace time of its rank.
struct Step {
  std::string name;                      ///< "ProfilerStep#4", or "trace" without steps
  uint32_t first_task = 0;               ///< the task whose start begins the step
  uint32_t next_task = kNoIndex;         ///< the task whose start ends it, if another step follows
  uint32_t last_task = kNoIndex;         ///< the host task that ends it, if none follows
  std::vector<uint32_t> last_gpu_tasks;  ///< the last task on each stream that the step launched
  bool chosen = true;
  std::string left_out_reason;  ///< of a step that is not chosen
};

/// The tasks of one rank inside a graph.
struct RankTasks {
  int32_t rank = 0;
  uint32_t first_task = 0;
  uint32_t end_task = 0;
  std::shared_ptr<const EventTable> table;
  std::vector<Step> steps;
  std::vector<Constant> constants;
  uint32_t dropped_edges = 0;  ///< inferred dependencies that would have closed a cycle
};

/// Tasks of a rank are contiguous and numbered so that edges within the rank go from lower to higher ids; `order` is a
/// topological order of all tasks where ranks depend on each other (empty: the numbering itself).
struct ExecGraph {
  std::vector<uint32_t> event;  ///< row of the rank's table, or kNoIndex
  std::vector<TaskKind> kind;
  std::vector<uint32_t> processor;  ///< or kNoProcessor
  std::vector<int64_t> duration_ns;
  std::vector<int64_t> measured_start_ns;  ///< for comparison only; nothing that simulates reads it
  std::vector<uint32_t>
      edge_begin;  ///< size() + 1: incoming edges of task t are edges[edge_begin[t] .. edge_begin[t+1])
  std::vector<Edge> edges;
  std::vector<uint32_t> order;

  std::vector<Processor> processors;
  std::vector<RankTasks> ranks;

  uint32_t size() const { return static_cast<uint32_t>(duration_ns.size()); }
};

}  // namespace lumos
