#include "lumos/base/json_writer.h"
#include "lumos/report/results/advice.h"
#include "lumos/report/text/inventory_render.h"

namespace lumos {

namespace {

double to_ms(int64_t ns) { return static_cast<double>(ns) / 1e6; }

std::string_view source_name(TraceInfo::RankSource source) {
  constexpr std::string_view kNames[] = {"order", "distributed_info", "file_name", "regex", "process"};
  return kNames[static_cast<size_t>(source)];
}

void write_devices(JsonWriter& json, const TraceInfo& info) {
  json.key("devices").begin_array();
  for (const DeviceProperties& device : info.devices) {
    json.begin_object().member("name", device.name).member("sms", device.num_sms);
    json.member("memory_bytes", device.memory_bytes).end_object();
  }
  json.end_array();
}

void write_groups(JsonWriter& json, const TraceInfo& info) {
  json.key("groups").begin_array();
  for (const ProcessGroup& group : info.groups) {
    json.begin_object().member("name", group.name).member("description", group.description);
    json.member("size", group.size).key("ranks").begin_array();
    for (int32_t rank : group.ranks) json.value(rank);
    json.end_array().end_object();
  }
  json.end_array();
}

void write_events(JsonWriter& json, const RankInventory& rank) {
  const TraceInfo& info = *rank.info;
  json.key("events").begin_object().member("seen", info.events).member("kept", rank.events_kept);
  json.member("python_frames", info.left_out_python).member("flows", info.left_out_flows);
  json.member("others", info.left_out_other).end_object();
}

void write_steps(JsonWriter& json, const RankInventory& rank) {
  json.key("steps").begin_array();
  for (const StepMark& step : rank.steps) {
    json.begin_object().member("name", step.name).member("start_ms", to_ms(step.start_ns));
    json.member("annotated_ms", to_ms(step.length_ns)).end_object();
  }
  json.end_array();
}

void write_lanes(JsonWriter& json, const RankInventory& rank) {
  json.key("threads").begin_array();
  for (const ThreadUse& thread : rank.threads) {
    json.begin_object().member("name", thread.label).member("events", thread.events).member("calls", thread.calls);
    json.member("launched", thread.launches).member("busy_ms", to_ms(thread.busy_ns));
    json.member("polls_only", thread.polls_only).end_object();
  }
  json.end_array().key("streams").begin_array();
  for (const StreamUse& stream : rank.streams) {
    json.begin_object().member("name", stream.label).member("kernels", stream.kernels);
    json.member("copies", stream.copies).member("communication", stream.collectives);
    json.member("busy_ms", to_ms(stream.busy_ns)).end_object();
  }
  json.end_array();
}

void write_collectives(JsonWriter& json, const RankInventory& rank) {
  json.key("collectives").begin_array();
  for (const CollectiveUse& use : rank.collectives) {
    json.begin_object().member("kind", use.kind).member("group", use.group).member("group_size", use.group_size);
    json.member("count", use.count).member("with_bytes", use.with_bytes).member("bytes", use.bytes);
    json.member("total_ms", to_ms(use.total_ns)).end_object();
  }
  json.end_array();
}

void write_coverage(JsonWriter& json, const Coverage& c) {
  json.key("metadata").begin_object();
  json.member("operators", c.operators).member("operators_with_shapes", c.operators_with_shapes);
  json.member("gpu_rows", c.gpu_rows).member("gpu_rows_with_launch", c.gpu_rows_with_launch);
  json.member("graph_launches", c.graph_launches).member("synchronises", c.synchronises);
  json.member("event_records", c.records).member("stream_waits", c.waits);
  json.member("stream_waits_resolved", c.resolved_waits).member("cuda_sync_rows", c.sync_rows);
  json.member("communication_kernels", c.collective_kernels);
  json.member("communication_kernels_with_metadata", c.collective_kernels_with_metadata);
  json.member("forward_backward_flows", c.forward_backward_flows).end_object();
}

void write_constants(JsonWriter& json, const std::vector<Constant>& constants) {
  json.key("constants").begin_object();
  for (const Constant& constant : constants) {
    json.key(constant.name).begin_object();
    json.key("us").value(static_cast<double>(constant.value_ns) / 1e3, 3).member("samples", constant.samples);
    json.end_object();
  }
  json.end_object();
}

void write_judgement(JsonWriter& json, const RankInventory& rank) {
  json.key("issues").begin_array();
  for (const ReadIssue& issue : rank.info->issues) {
    json.begin_object().member("reason", issue.reason).member("count", issue.count);
    json.member("first_byte", issue.first_byte).member("repaired", issue.repaired).end_object();
  }
  json.end_array().member("truncated", rank.info->truncated).key("advice").begin_array();
  for (const Advice& each : advice_for(rank)) {
    json.begin_object().member("finding", each.finding).member("effect", each.effect);
    json.member("remedy", each.remedy).end_object();
  }
  json.end_array();
}

void write_rank(JsonWriter& json, const InspectedRank& inspected) {
  const RankInventory& rank = inspected.inventory;
  const TraceInfo& info = *rank.info;
  json.begin_object().member("rank", info.rank).member("file", info.file);
  json.member("rank_source", source_name(info.rank_source)).member("world_size", info.world_size);
  json.member("backend", info.backend).member("span_ms", to_ms(rank.span_ns));
  write_devices(json, info);
  write_groups(json, info);
  write_events(json, rank);
  write_steps(json, rank);
  write_lanes(json, rank);
  write_collectives(json, rank);
  write_coverage(json, rank.coverage);
  write_constants(json, inspected.constants);
  write_judgement(json, rank);
  json.end_object();
}

}  // namespace

std::string inventory_json(const std::vector<InspectedRank>& ranks, const std::vector<UnreadFile>& unread) {
  JsonWriter json;
  json.begin_object().member("schema", "lumos.inspect.v1").key("ranks").begin_array();
  uint64_t events = 0, repaired = 0, skipped = 0, bytes = 0;
  for (const InspectedRank& rank : ranks) {
    write_rank(json, rank);
    const TraceInfo& info = *rank.inventory.info;
    events += info.events;
    repaired += info.repaired();
    skipped += info.skipped();
    bytes += info.decoded_bytes;
  }
  json.end_array().key("unread").begin_array();
  for (const UnreadFile& file : unread) {
    json.begin_object().member("file", file.file).member("message", file.message).end_object();
  }
  json.end_array().key("input").begin_object().member("events", events).member("repaired", repaired);
  json.member("skipped", skipped).member("bytes", bytes).end_object().end_object();
  return json.text();
}

}  // namespace lumos
