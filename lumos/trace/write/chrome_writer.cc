#include "lumos/trace/write/chrome_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "lumos/base/json_writer.h"
#include "lumos/trace/table/launch_flows.h"
#include "lumos/trace/table/nesting.h"
#include "lumos/trace/table/track_layout.h"
#include "lumos/trace/write/output_file.h"

namespace lumos {

namespace {

std::string_view category(EventKind kind) {
  switch (kind) {
    case EventKind::kCpuOp:
      return "cpu_op";
    case EventKind::kAnnotation:
      return "user_annotation";
    case EventKind::kGpuAnnotation:
      return "gpu_user_annotation";
    case EventKind::kRuntime:
      return "cuda_runtime";
    case EventKind::kKernel:
      return "kernel";
    case EventKind::kMemcpy:
      return "gpu_memcpy";
    case EventKind::kMemset:
      return "gpu_memset";
    case EventKind::kSync:
      return "cuda_sync";
    case EventKind::kModule:
      return "python_function";
    case EventKind::kOverhead:
      break;
  }
  return "overhead";
}

bool is_integer(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

void append_integer(std::string& out, int64_t value) {
  const fmt::format_int digits(value);
  out.append(digits.data(), digits.size());
}

/// Microseconds with three places, exact: a double would lose digits of absolute times.
void append_us(std::string& out, int64_t ns) {
  if (ns < 0) out += '-';
  const uint64_t size = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  fmt::format_to(std::back_inserter(out), "{}.{:03}", size / 1000, size % 1000);
}

/// A process or thread id: a number where the source had one, else its text.
void append_id(std::string& out, std::string_view text) {
  if (is_integer(text)) {
    out += text;
  } else {
    append_json_string(out, text);
  }
}

/// The members of one "args" object.
class Args {
 public:
  Args(std::string& out, const EventTable& table) : out_(out), table_(table) { out_ += ",\"args\":{"; }
  void close() { out_ += '}'; }

  void integer(std::string_view key, int64_t value) {
    begin(key);
    append_integer(out_, value);
  }
  /// Left out where `value` is the mark for "the trace is silent".
  void integer_unless(std::string_view key, int64_t value, int64_t silent) {
    if (value != silent) integer(key, value);
  }
  void number(std::string_view key, double value) {
    begin(key);
    append_json_number(out_, value, 6);
  }
  void text(std::string_view key, std::string_view value) {
    begin(key);
    append_json_string(out_, value);
  }
  void text(std::string_view key, NameId value) {
    if (value != kNoName) text(key, table_.text(value));
  }
  /// Text that is JSON already, as the reader kept it.
  void array(std::string_view key, NameId value) {
    if (value == kNoName) return;
    const std::string_view json = table_.text(value);
    if (!json.starts_with('[')) return text(key, json);
    begin(key);
    out_ += json;
  }
  void triple(std::string_view key, const int32_t (&sizes)[3]) {
    if (sizes[0] == 0) return;
    begin(key);
    fmt::format_to(std::back_inserter(out_), "[{}, {}, {}]", sizes[0], sizes[1], sizes[2]);
  }

 private:
  void begin(std::string_view key) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += '"';
    out_ += key;
    out_ += "\":";
  }

  std::string& out_;
  const EventTable& table_;
  bool first_ = true;
};

void add_collective(Args& args, const CollectiveDetail& c) {
  args.text("Collective name", c.collective);
  args.integer_unless("In msg nelems", c.in_elements, -1);
  args.integer_unless("Out msg nelems", c.out_elements, -1);
  args.text("In split size", c.in_split);
  args.text("Out split size", c.out_split);
  args.integer_unless("Group size", c.group_size, -1);
  args.text("dtype", c.dtype);
  args.text("Process Group Name", c.group_name);
  args.text("Process Group Description", c.group_desc);
  args.text("Process Group Ranks", c.group_ranks);
  args.integer_unless("Seq", c.sequence, -1);
  args.integer_unless("Src Rank", c.src_rank, -1);
  args.integer_unless("Dst Rank", c.dst_rank, -1);
}

void add_gpu(Args& args, const EventTable& table, uint32_t row) {
  const Lane& lane = table.lanes[table.lane[row]];
  args.integer_unless("device", lane.pid, -1);
  if (lane.tid >= 0) {
    args.integer("stream", lane.tid);
  } else {
    args.text("stream", lane.tid_text);
  }
  const GpuDetail* gpu = table.gpu_detail(row);
  if (gpu == nullptr) return;
  if (table.kind[row] == EventKind::kKernel) {
    args.integer("registers per thread", gpu->registers_per_thread);
    args.integer("shared memory", gpu->shared_memory_bytes);
    args.triple("grid", gpu->grid);
    args.triple("block", gpu->block);
  }
  if (gpu->occupancy_pct >= 0) args.number("est. achieved occupancy %", gpu->occupancy_pct);
  args.integer_unless("bytes", gpu->bytes, 0);
  args.integer_unless("graph node id", gpu->graph_node, -1);
}

void add_operator(Args& args, const OpDetail& op) {
  args.array("Input Dims", op.input_dims);
  args.array("Input type", op.input_types);
  args.array("Concrete Inputs", op.concrete_inputs);
  args.integer_unless("Fwd thread id", op.fwd_thread, -1);
  args.integer_unless("Sequence number", op.sequence, -1);
}

void add_sync(Args& args, const SyncDetail& sync) {
  args.integer("stream", sync.stream);
  args.integer("wait_on_stream", sync.wait_on_stream);
  args.integer("wait_on_cuda_event_record_corr_id", sync.wait_on_record_correlation);
  args.integer("wait_on_cuda_event_id", sync.wait_on_event);
}

void append_args(std::string& out, const EventTable& table, uint32_t row, bool critical) {
  Args args(out, table);
  if (critical) args.integer("critical", 1);
  args.integer_unless("External id", table.external_id[row], 0);
  args.integer_unless("correlation", table.correlation[row], -1);
  if (is_gpu_work(table.kind[row])) add_gpu(args, table, row);
  if (const OpDetail* op = table.op_detail(row)) add_operator(args, *op);
  if (const SyncDetail* sync = table.sync_detail(row)) add_sync(args, *sync);
  if (const CollectiveDetail* collective = table.collective_detail(row)) add_collective(args, *collective);
  args.close();
}

std::string header(const TraceInfo& info) {
  JsonWriter json;
  json.begin_object().member("schemaVersion", 1).key("deviceProperties").begin_array();
  for (size_t id = 0; id < info.devices.size(); ++id) {
    const DeviceProperties& device = info.devices[id];
    json.begin_object().member("id", static_cast<uint64_t>(id)).member("name", device.name);
    json.member("totalGlobalMem", device.memory_bytes).member("computeMajor", device.compute_major);
    json.member("computeMinor", device.compute_minor).member("warpSize", device.warp_size);
    json.member("maxThreadsPerMultiprocessor", device.max_threads_per_sm);
    json.member("regsPerMultiprocessor", device.registers_per_sm);
    json.member("sharedMemPerMultiprocessor", device.shared_memory_per_sm_bytes);
    json.member("numSms", device.num_sms).end_object();
  }
  json.end_array();
  if (info.rank >= 0) {
    json.key("distributedInfo").begin_object().member("backend", info.backend).member("rank", info.rank);
    if (info.world_size >= 0) json.member("world_size", info.world_size);
    json.member("pg_count", static_cast<uint64_t>(info.groups.size())).key("pg_config").begin_array();
    for (const ProcessGroup& group : info.groups) {
      json.begin_object().member("pg_name", group.name).member("pg_desc", group.description);
      if (group.size >= 0) json.member("pg_size", group.size);
      json.key("ranks").begin_array();
      for (int32_t rank : group.ranks) json.value(rank);
      json.end_array().end_object();
    }
    json.end_array().end_object();
  }
  if (!info.trace_name.empty()) json.member("traceName", info.trace_name);
  if (info.base_ns != 0) json.member("baseTimeNanoseconds", info.base_ns);
  json.member("displayTimeUnit", "ms").key("traceEvents").begin_array();
  return json.text();  // Left open: the events follow.
}

class Writer {
 public:
  Writer(const EventTable& table, OutputFile& file, TrackLayout layout, const ChromeOptions& options)
      : table_(table), file_(file), layout_(std::move(layout)), options_(options) {}

  void run(const Nesting& nested) {
    out_ = header(table_.info);
    name_tracks();
    for (uint32_t row : nested.order) slice(row);
    flows();
    for (const CounterCurve& curve : options_.counters) counter(curve);
    out_ += "\n]}\n";
    flush(0);
  }

 private:
  void flush(size_t keep_below) {
    if (out_.size() <= keep_below) return;
    file_.write(out_);
    out_.clear();
  }

  void begin_event() {
    constexpr size_t kBufferBytes = 1 << 20;
    flush(kBufferBytes);
    out_ += first_ ? "\n{" : ",\n{";
    first_ = false;
  }

  void append_place(uint32_t track) {
    out_ += ",\"pid\":";
    append_id(out_, table_.text(table_.lanes[layout_.tracks[track].lane].pid_text));
    out_ += ",\"tid\":";
    append_id(out_, layout_.tracks[track].tid);
  }

  void metadata(uint32_t track, std::string_view what, std::string_view key, std::string_view value) {
    begin_event();
    fmt::format_to(std::back_inserter(out_), "\"ph\":\"M\",\"name\":\"{}\"", what);
    append_place(track);
    fmt::format_to(std::back_inserter(out_), ",\"args\":{{\"{}\":", key);
    append_json_string(out_, value);
    out_ += "}}";
  }

  void sort_index(uint32_t track, std::string_view what, int64_t index) {
    begin_event();
    fmt::format_to(std::back_inserter(out_), "\"ph\":\"M\",\"name\":\"{}\"", what);
    append_place(track);
    fmt::format_to(std::back_inserter(out_), ",\"args\":{{\"sort_index\":{}}}}}", index);
  }

  /// Threads above GPUs, tracks in the order of their numbers, extra tracks right below their own.
  void name_tracks() {
    constexpr int64_t kGpusBelow = 16'000'000;  // Above any process id, as Kineto does it.
    std::set<NameId> named;
    for (uint32_t t = 0; t < layout_.tracks.size(); ++t) {
      const Track& track = layout_.tracks[t];
      const Lane& lane = table_.lanes[track.lane];
      if (named.insert(lane.pid_text).second) {
        const std::string pid(table_.text(lane.pid_text));
        metadata(t, "process_name", "name", lane.is_gpu ? "GPU " + pid : "process " + pid);
        metadata(t, "process_labels", "labels", lane.is_gpu ? "GPU " + pid : "CPU");
        sort_index(t, "process_sort_index", lane.is_gpu ? kGpusBelow + lane.pid : lane.pid);
      }
      metadata(t, "thread_name", "name", track.name);
      const std::string_view tid = table_.text(lane.tid_text);
      if (track.tid != tid) metadata(t, kOverlapOf, "name", tid);
      constexpr int64_t kRoomForExtra = 64;
      sort_index(t, "thread_sort_index",
                 track.lane * kRoomForExtra + std::min<int64_t>(track.overflow, kRoomForExtra - 1));
    }
  }

  void slice(uint32_t row) {
    begin_event();
    out_ += "\"ph\":\"X\",\"cat\":\"";
    out_ += category(table_.kind[row]);
    out_ += "\",\"name\":";
    append_json_string(out_, table_.name_of(row));
    append_place(layout_.track[row]);
    out_ += ",\"ts\":";
    append_us(out_, table_.ts_ns[row]);
    out_ += ",\"dur\":";
    append_us(out_, layout_.shown_ns[row]);
    append_args(out_, table_, row, row < options_.critical.size() && options_.critical[row] != 0);
    out_ += '}';
  }

  void flows() {
    int64_t id = 0;
    if (options_.launch_flows) {
      for (const LaunchFlow& flow : launch_flows(table_)) {
        flow_end("ac2g", 's', ++id, table_.ts_ns[flow.call], layout_.track[flow.call]);
        flow_end("ac2g", 'f', id, table_.ts_ns[flow.work], layout_.track[flow.work]);
      }
    }
    for (const FlowEnd& end : table_.fwdbwd) {
      flow_end("fwdbwd", end.is_start ? 's' : 'f', end.id, end.ts_ns, end.lane);  // A lane's own track has its index.
    }
    for (const RowArrow& arrow : options_.arrows) {
      flow_end("critical_path", 's', ++id, arrow.from_ns, layout_.track[arrow.from_row], arrow.label);
      flow_end("critical_path", 'f', id, arrow.to_ns, layout_.track[arrow.to_row], arrow.label);
    }
  }

  void flow_end(std::string_view what, char phase, int64_t id, int64_t ts_ns, uint32_t track,
                std::string_view label = "") {
    begin_event();
    fmt::format_to(std::back_inserter(out_), "\"ph\":\"{}\",\"cat\":\"{}\",\"name\":\"{}\",\"id\":{}", phase, what,
                   what, id);
    append_place(track);
    out_ += ",\"ts\":";
    append_us(out_, ts_ns);
    if (phase == 'f') out_ += ",\"bp\":\"e\"";
    if (!label.empty()) {
      out_ += ",\"args\":{\"type\":";
      append_json_string(out_, label);
      out_ += '}';
    }
    out_ += '}';
  }

  void counter(const CounterCurve& curve) {
    if (table_.lanes.empty()) return;
    auto gpu = std::find_if(table_.lanes.begin(), table_.lanes.end(), [](const Lane& lane) { return lane.is_gpu; });
    const auto track = static_cast<uint32_t>(gpu == table_.lanes.end() ? 0 : gpu - table_.lanes.begin());
    for (const CounterCurve::Point& point : curve.points) {
      begin_event();
      out_ += "\"ph\":\"C\",\"name\":";
      append_json_string(out_, curve.name);
      append_place(track);
      out_ += ",\"ts\":";
      append_us(out_, point.ts_ns);
      out_ += ",\"args\":{\"value\":";
      append_json_number(out_, point.value, 3);
      out_ += "}}";
    }
  }

  const EventTable& table_;
  OutputFile& file_;
  const TrackLayout layout_;
  const ChromeOptions& options_;
  std::string out_;
  bool first_ = true;
};

}  // namespace

Status write_chrome_trace(const EventTable& table, const std::string& path, const ChromeOptions& options) {
  OutputFile file = TRY(OutputFile::open(path));
  const Nesting nested = nesting(table);
  Writer(table, file, track_layout(table, nested), options).run(nested);
  return file.close();
}

}  // namespace lumos
