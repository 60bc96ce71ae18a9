// The events of one rank as columns: what the reader makes of a trace file, and what a simulated run becomes again.
// Made by trace/kineto/reader and by report/replayed table code; read by graph/, report/ and the trace writers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lumos/base/names.h"

namespace lumos {

/// What an event is, whatever vocabulary its producer used for the category.
enum class EventKind : uint8_t {
  kCpuOp,          ///< operator on a CPU thread (cpu_op, Operator)
  kAnnotation,     ///< user_annotation on a CPU thread, ProfilerStep among them
  kGpuAnnotation,  ///< gpu_user_annotation: a projection of an annotation, not work
  kRuntime,        ///< runtime or driver call (cuda_runtime, cuda_driver, hip*, xpu_runtime, mtia_runtime ...)
  kKernel,         ///< kernel on a GPU stream
  kMemcpy,         ///< copy on a GPU stream
  kMemset,         ///< fill on a GPU stream
  kSync,           ///< cuda_sync row: tells what a wait or synchronise meant; no work
  kModule,         ///< python_function row of an nn.Module call, kept as structure
  kOverhead,       ///< the profiler's own work ("overhead")
};

/// True for rows that occupy a GPU stream.
constexpr bool is_gpu_work(EventKind kind) {
  return kind == EventKind::kKernel || kind == EventKind::kMemcpy || kind == EventKind::kMemset;
}

inline constexpr uint32_t kNoIndex = UINT32_MAX;

/// A CPU thread or a GPU stream: where events happen. Numbers are -1 where the file has text.
struct Lane {
  bool is_gpu = false;
  NameId pid_text = kNoName;  ///< as written in the file
  NameId tid_text = kNoName;
  int64_t pid = -1;          ///< process of a thread; device of a stream
  int64_t tid = -1;          ///< thread id; stream id of a stream
  NameId label = kNoName;    ///< thread_name metadata, if any
  NameId process = kNoName;  ///< process_name metadata, if any
};

/// Kernel, copy and fill details (args of GPU rows). -1 or 0 where the file is silent.
struct GpuDetail {
  int32_t grid[3] = {0, 0, 0};
  int32_t block[3] = {0, 0, 0};
  int32_t registers_per_thread = 0;
  int32_t shared_memory_bytes = 0;
  int64_t bytes = 0;               ///< copies and fills
  int64_t graph_node = -1;         ///< "graph node id" of newest traces
  uint32_t collective = kNoIndex;  ///< index into EventTable::collectives
  float occupancy_pct = -1;        ///< "est. achieved occupancy %"

  bool operator==(const GpuDetail&) const = default;
};

/// Operator details (args of cpu_op rows, and of annotations that have any: gloo's operations are such). Texts are the
/// raw JSON arrays, interned.
struct OpDetail {
  NameId input_dims = kNoName;
  NameId input_types = kNoName;
  NameId concrete_inputs = kNoName;
  int32_t fwd_thread = -1;
  int64_t sequence = -1;           ///< "Sequence number"
  uint32_t collective = kNoIndex;  ///< record_param_comms

  bool operator==(const OpDetail&) const = default;
};

/// Collective metadata, on kernels and on record_param_comms.
struct CollectiveDetail {
  NameId collective = kNoName;  ///< "allreduce", "_allgather_base", "send" ...
  NameId dtype = kNoName;
  NameId group_name = kNoName;   ///< "Process Group Name"
  NameId group_desc = kNoName;   ///< "Process Group Description"
  NameId group_ranks = kNoName;  ///< "Process Group Ranks" as text; may be cut with "..."
  NameId in_split = kNoName;
  NameId out_split = kNoName;
  int64_t in_elements = -1;
  int64_t out_elements = -1;
  int64_t sequence = -1;  ///< "Seq"
  int32_t group_size = -1;
  int32_t src_rank = -1;
  int32_t dst_rank = -1;
};

/// What a cuda_sync row says. Values are -1 where unresolved.
struct SyncDetail {
  int64_t stream = -1;
  int64_t wait_on_stream = -1;
  int64_t wait_on_record_correlation = -1;  ///< "wait_on_cuda_event_record_corr_id"
  int64_t wait_on_event = -1;
};

/// One end of a fwdbwd flow: a forward operator (start) and its backward (finish) share an id.
struct FlowEnd {
  int64_t id = 0;
  int64_t ts_ns = 0;
  uint32_t lane = 0;
  bool is_start = false;
};

struct ProcessGroup {
  std::string name;
  std::string description;
  int32_t size = -1;
  std::vector<int32_t> ranks;  ///< empty where the file does not list them
};

struct DeviceProperties {
  std::string name;
  int64_t memory_bytes = 0;
  int32_t num_sms = 0;
  int32_t compute_major = 0;
  int32_t compute_minor = 0;
  int32_t warp_size = 0;
  int32_t max_threads_per_sm = 0;
  int32_t registers_per_sm = 0;
  int32_t shared_memory_per_sm_bytes = 0;
};

/// A kind of thing that was repaired or skipped, with where it first happened.
struct ReadIssue {
  std::string reason;
  uint64_t count = 0;
  uint64_t first_byte = 0;  ///< offset in the decoded stream
  bool repaired = false;    ///< else skipped
};

/// What the file says besides its events.
struct TraceInfo {
  std::string file;
  int32_t rank = -1;  ///< -1: unknown
  enum class RankSource : uint8_t {
    kUnknown,
    kDistributedInfo,
    kFileName,
    kRegex,
    kProcess
  } rank_source = RankSource::kUnknown;
  int32_t world_size = -1;
  std::string backend;
  std::string trace_name;
  std::vector<ProcessGroup> groups;
  std::vector<DeviceProperties> devices;
  int64_t base_ns = 0;  ///< baseTimeNanoseconds
  uint64_t decoded_bytes = 0;
  uint64_t events = 0;           ///< rows of traceEvents seen, all phases
  uint64_t left_out_python = 0;  ///< python_function rows, not needed
  uint64_t left_out_flows = 0;   ///< launch flows: correlation says the same
  uint64_t left_out_other = 0;   ///< metadata, counters, markers and unknown categories
  bool truncated = false;
  std::vector<ReadIssue> issues;

  uint64_t repaired() const;
  uint64_t skipped() const;
};

/// Events of one rank. All columns have the same length; rows are in file order. Times are nanoseconds on the trace's
/// own clock (already relative to the file's base). 64 bytes a row are the budget, details included.
struct EventTable {
  std::vector<int64_t> ts_ns;
  std::vector<int64_t> dur_ns;
  std::vector<NameId> name;
  std::vector<uint32_t> lane;  ///< index into lanes
  std::vector<EventKind> kind;
  std::vector<int64_t> correlation;   ///< -1: none. GPU rows, runtime calls, cuda_sync rows
  std::vector<uint32_t> external_id;  ///< 0: none
  std::vector<uint32_t> detail;       ///< index into gpu, ops or syncs, by kind; kNoIndex: none. Equal rows share one

  std::vector<Lane> lanes;
  std::vector<GpuDetail> gpu;
  std::vector<OpDetail> ops;
  std::vector<SyncDetail> syncs;
  std::vector<CollectiveDetail> collectives;
  std::vector<FlowEnd> fwdbwd;

  TraceInfo info;
  std::shared_ptr<const NamePool> names;

  size_t size() const { return ts_ns.size(); }
  int64_t end_ns(size_t row) const { return ts_ns[row] + dur_ns[row]; }
  std::string_view text(NameId id) const { return names->text(id); }
  std::string_view name_of(size_t row) const { return names->text(name[row]); }
  const GpuDetail* gpu_detail(size_t row) const;
  const OpDetail* op_detail(size_t row) const;
  const SyncDetail* sync_detail(size_t row) const;
  /// Collective metadata of a kernel or record_param_comms row, or nullptr.
  const CollectiveDetail* collective_detail(size_t row) const;
};

}  // namespace lumos
