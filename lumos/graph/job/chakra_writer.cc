#include "lumos/graph/job/chakra_writer.h"

#include <algorithm>
#include <filesystem>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include "lumos/base/file.h"
#include "lumos/base/json_writer.h"

namespace lumos {

namespace {

using protozero::pbf_writer;

// Field numbers and values of et_def.proto, by message.
namespace metadata {
constexpr protozero::pbf_tag_type kVersion = 1;
}
namespace node {
constexpr protozero::pbf_tag_type kId = 1, kName = 2, kType = 3, kDataDependencies = 5, kStartMicros = 6,
                                  kDurationMicros = 7, kAttribute = 10;
constexpr int32_t kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7;  // NodeType
}  // namespace node
namespace attribute {
constexpr protozero::pbf_tag_type kName = 1, kInt64 = 7, kBool = 27, kString = 29;
}
constexpr const char* kSchemaVersion = "0.0.4";

/// CollectiveCommType; -1 for what is none.
int64_t collective_type(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 0;
    case CollectiveKind::kReduce:
      return 1;
    case CollectiveKind::kAllGather:
      return 2;
    case CollectiveKind::kBroadcast:
      return 5;
    case CollectiveKind::kAllToAll:
      return 6;
    case CollectiveKind::kReduceScatter:
      return 7;
    case CollectiveKind::kBarrier:
      return 9;
    case CollectiveKind::kSendRecv:
    case CollectiveKind::kUnknown:
      break;
  }
  return -1;
}

void add_attribute(pbf_writer& out, const char* name, protozero::pbf_tag_type kind, int64_t value) {
  pbf_writer attribute(out, node::kAttribute);
  attribute.add_string(attribute::kName, name);
  if (kind == attribute::kBool) {
    attribute.add_bool(kind, value != 0);
  } else {
    attribute.add_int64(kind, value);
  }
}

void add_attribute(pbf_writer& out, const char* name, const std::string& value) {
  pbf_writer attribute(out, node::kAttribute);
  attribute.add_string(attribute::kName, name);
  attribute.add_string(attribute::kString, value);
}

void append_message(std::string& out, const std::string& message) {
  protozero::write_varint(std::back_inserter(out), message.size());
  out += message;
}

/// Microseconds are coarse: a node lasts from the rounded start to the rounded end of its processor's work so far, so
/// that what is lost at one node is made up at the next.
class Rounding {
 public:
  explicit Rounding(size_t processors) : reached_ns_(processors, 0) {}
  uint64_t duration_us(uint32_t processor, int64_t duration_ns) {
    if (processor == kNoProcessor) return static_cast<uint64_t>((duration_ns + 500) / 1000);
    int64_t& reached = reached_ns_[processor];
    const int64_t before = (reached + 500) / 1000;
    reached += duration_ns;
    return static_cast<uint64_t>((reached + 500) / 1000 - before);
  }

 private:
  std::vector<int64_t> reached_ns_;
};

class RankWriter {
 public:
  RankWriter(const LinkedJob& job, uint32_t rank_index)
      : job_(job),
        graph_(job.linked.graph),
        rank_(graph_.ranks[rank_index]),
        kernel_of_row_(rank_.table->size(), kNoIndex),
        node_of_task_(rank_.end_task - rank_.first_task),
        rounding_(graph_.processors.size()) {
    const JobMatches& matches = job.matches;
    if (rank_index + 1 < matches.rank_begin.size()) {
      for (uint32_t k = matches.rank_begin[rank_index]; k < matches.rank_begin[rank_index + 1]; ++k) {
        kernel_of_row_[matches.kernels[k].row] = k;
      }
    }
    merge_arrivals();
  }

  std::string run() {
    std::string version;
    pbf_writer(version).add_string(metadata::kVersion, kSchemaVersion);
    append_message(out_, version);
    for (uint32_t task = rank_.first_task; task < rank_.end_task; ++task) {
      if (node_of(task) == task) write_node(task);
    }
    return std::move(out_);
  }

 private:
  uint32_t& node_of(uint32_t task) { return node_of_task_[task - rank_.first_task]; }

  /// A collective is one node: what waits for its arrival or its transfer waits for the node, which is the transfer's.
  void merge_arrivals() {
    for (uint32_t task = rank_.first_task; task < rank_.end_task; ++task) node_of(task) = task;
    for (uint32_t task = rank_.first_task; task < rank_.end_task; ++task) {
      if (graph_.kind[task] != TaskKind::kTransfer) continue;
      for (uint32_t e = graph_.edge_begin[task]; e < graph_.edge_begin[task + 1]; ++e) {
        if (graph_.edges[e].kind == EdgeKind::kTransferOf) node_of(graph_.edges[e].source) = task;
      }
    }
  }

  /// The tasks of this rank that `task` waits for to end. Waits for other ranks are the reader's to simulate.
  void collect_sources(uint32_t task, uint32_t node, std::vector<uint32_t>& sources) {
    for (uint32_t e = graph_.edge_begin[task]; e < graph_.edge_begin[task + 1]; ++e) {
      const Edge& edge = graph_.edges[e];
      const bool own = edge.source >= rank_.first_task && edge.source < rank_.end_task;
      if (!own || edge.kind == EdgeKind::kRendezvous) continue;
      if (edge.kind == EdgeKind::kTransferOf) {
        collect_sources(edge.source, node, sources);
      } else if (!edge.from_start || edge.kind == EdgeKind::kLaunch) {
        // A launch lasts about as long as its latency; other waits for a start have no counterpart.
        if (node_of(edge.source) < node) sources.push_back(node_of(edge.source) - rank_.first_task);
      }
    }
  }

  /// The gap that a stream leaves before a task is time of the task: the format has no lags.
  int64_t duration_ns(uint32_t task) const {
    int64_t gap_ns = 0;
    for (uint32_t e = graph_.edge_begin[task]; e < graph_.edge_begin[task + 1]; ++e) {
      if (graph_.edges[e].kind == EdgeKind::kStream && !graph_.edges[e].from_start) {
        gap_ns = std::max<int64_t>(gap_ns, graph_.edges[e].lag_ns);
      }
    }
    return graph_.duration_ns[task] + gap_ns;
  }

  void write_node(uint32_t task) {
    const uint32_t row = graph_.event[task];
    const bool on_gpu = is_gpu_task(graph_.kind[task]);
    const uint32_t kernel = row == kNoIndex || !on_gpu ? kNoIndex : kernel_of_row_[row];
    std::vector<uint32_t> sources;
    collect_sources(task, task, sources);
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());

    std::string message;
    pbf_writer out(message);
    out.add_uint64(node::kId, task - rank_.first_task);
    out.add_string(node::kName, row == kNoIndex ? "untraced" : std::string(rank_.table->name_of(row)));
    out.add_enum(node::kType, kernel == kNoIndex ? node::kCompute : type_of(kernel));
    out.add_packed_uint64(node::kDataDependencies, sources.begin(), sources.end());
    out.add_uint64(node::kStartMicros,
                   static_cast<uint64_t>(std::max<int64_t>(0, graph_.measured_start_ns[task]) / 1000));
    out.add_uint64(node::kDurationMicros, rounding_.duration_us(graph_.processor[task], duration_ns(task)));
    add_attribute(out, "is_cpu_op", attribute::kBool, on_gpu ? 0 : 1);
    if (graph_.processor[task] != kNoProcessor) {
      const Lane& lane = rank_.table->lanes[graph_.processors[graph_.processor[task]].lane];
      add_attribute(out, on_gpu ? "stream" : "tid", attribute::kInt64, lane.tid);
    }
    if (kernel != kNoIndex) add_communication(out, kernel);
    append_message(out_, message);
  }

  /// Only what says whom it is about can be simulated; the rest stays a kernel of its measured length.
  int32_t type_of(uint32_t kernel_index) const {
    const CommKernel& kernel = job_.matches.kernels[kernel_index];
    if (kernel.bytes < 0 || kernel.group == kNoIndex) return node::kCompute;
    if (collective_type(kernel.kind) >= 0) return node::kCollective;
    if (kernel.kind != CollectiveKind::kSendRecv || kernel.peer < 0) return node::kCompute;
    const CollectiveDetail* detail = rank_.table->collective_detail(kernel.row);
    const std::string_view name = detail == nullptr ? "" : rank_.table->text(detail->collective);
    if (name == "send") return node::kSend;
    return name == "recv" ? node::kReceive : node::kCompute;
  }

  void add_communication(pbf_writer& out, uint32_t kernel_index) const {
    const CommKernel& kernel = job_.matches.kernels[kernel_index];
    const int32_t type = type_of(kernel_index);
    if (type == node::kCompute) return;
    add_attribute(out, "comm_size", attribute::kInt64, kernel.bytes);
    if (type == node::kCollective) {
      add_attribute(out, "comm_type", attribute::kInt64, collective_type(kernel.kind));
      add_attribute(out, "pg_name", std::to_string(kernel.group));
      return;
    }
    const bool sends = type == node::kSend;
    add_attribute(out, "comm_src", attribute::kInt64, sends ? rank_.rank : kernel.peer);
    add_attribute(out, "comm_dst", attribute::kInt64, sends ? kernel.peer : rank_.rank);
    // Both ends of a transfer carry the same tag: the number of their match where there is one.
    const int64_t tag = kernel.match != kNoIndex ? int64_t{kernel.match} : std::max<int64_t>(0, kernel.sequence);
    add_attribute(out, "comm_tag", attribute::kInt64, tag);
  }

  const LinkedJob& job_;
  const ExecGraph& graph_;
  const RankTasks& rank_;
  std::vector<uint32_t> kernel_of_row_;
  std::vector<uint32_t> node_of_task_;
  Rounding rounding_;
  std::string out_;
};

std::string groups_json(const JobMatches& matches) {
  JsonWriter json(JsonWriter::Style::kPretty);
  json.begin_object();
  for (size_t g = 0; g < matches.groups.size(); ++g) {
    if (matches.groups[g].ranks.empty()) continue;
    json.key(std::to_string(g)).begin_array(JsonWriter::Layout::kInline);
    for (int32_t rank : matches.groups[g].ranks) json.value(rank);
    json.end_array();
  }
  json.end_object();
  return json.text() + "\n";
}

}  // namespace

std::string chakra_trace(const LinkedJob& job, uint32_t rank_index) { return RankWriter(job, rank_index).run(); }

Result<std::vector<std::string>> write_chakra_traces(const LinkedJob& job, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorKind::kFailed, "{}: cannot make this folder: {}", folder, error.message());
  std::vector<std::string> files;
  for (uint32_t r = 0; r < job.linked.graph.ranks.size(); ++r) {
    files.push_back(fmt::format("{}/trace.{}.et", folder, job.linked.graph.ranks[r].rank));
    TRY_STATUS(write_file(files.back(), chakra_trace(job, r)));
  }
  files.push_back(folder + "/comm_groups.json");
  TRY_STATUS(write_file(files.back(), groups_json(job.matches)));
  return files;
}

}  // namespace lumos
