#include "lumos/trace/write/perfetto_writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "lumos/trace/kineto/test_files.h"
#include "lumos/trace/write/test_perfetto.h"

namespace lumos {
namespace {

EventTable small_table() {
  EventTable table;
  auto names = std::make_shared<NamePool>();
  const auto lane = [&](bool is_gpu, int64_t pid, int64_t tid) {
    Lane lane;
    lane.is_gpu = is_gpu;
    lane.pid = pid;
    lane.tid = tid;
    lane.pid_text = names->intern(std::to_string(pid));
    lane.tid_text = names->intern(std::to_string(tid));
    table.lanes.push_back(lane);
  };
  lane(false, 4000, 4001);
  lane(true, 0, 7);
  const auto row = [&](EventKind kind, const char* name, uint32_t lane, int64_t ts, int64_t dur, int64_t correlation) {
    table.kind.push_back(kind);
    table.name.push_back(names->intern(name));
    table.lane.push_back(lane);
    table.ts_ns.push_back(ts);
    table.dur_ns.push_back(dur);
    table.correlation.push_back(correlation);
    table.external_id.push_back(0);
    table.detail.push_back(kNoIndex);
  };
  row(EventKind::kCpuOp, "aten::mm", 0, -500, 1000, -1);
  row(EventKind::kRuntime, "cudaLaunchKernel", 0, 0, 100, 17);
  row(EventKind::kKernel, "void gemm<float>(float*)", 1, 700, 300, 17);
  table.names = names;
  return table;
}

DecodedMessage written(const std::vector<PerfettoRank>& ranks) {
  const TempFolder folder;
  const std::string path = folder.path("trace.pftrace");
  const Status written = write_perfetto_trace(ranks, path);
  EXPECT_TRUE(written) << written.error().message;
  return DecodedMessage(perfetto::kTrace, file_bytes(path));
}

TEST(PerfettoWriter, SlicesNestOnTheirTracksAndFlowsLeadToKernels) {
  const EventTable table = small_table();
  const DecodedMessage trace = written({{&table, "rank 0", {}}});
  std::map<uint64_t, std::string> tracks;
  uint64_t flow_out = 0;
  uint64_t flow_in = 0;
  const std::vector<DecodedMessage>& packets = trace.messages("packet");
  for (const DecodedMessage& packet : packets) {
    const bool first = &packet == &packets.front();
    EXPECT_EQ(packet.number("trusted_packet_sequence_id"), 1u);
    EXPECT_EQ(packet.number("sequence_flags"),
              first ? perfetto::kSeqIncrementalStateCleared : perfetto::kSeqNeedsIncrementalState);
    for (const DecodedMessage& track : packet.messages("track_descriptor")) {
      tracks[track.number("uuid")] = track.text("name");
    }
    for (const DecodedMessage& event : packet.messages("track_event")) {
      if (event.has("flow_ids")) flow_out = event.number("flow_ids");
      if (event.has("terminating_flow_ids")) flow_in = event.number("terminating_flow_ids");
    }
  }
  std::vector<std::string> got;
  for (const DecodedSlice& slice : decoded_slices(trace)) {
    got.push_back(fmt::format("{}+{} {}: {} {}", slice.start_ns, slice.length_ns, tracks[slice.track], slice.category,
                              slice.name));
  }
  // Times are moved so that none is negative.
  EXPECT_EQ(got, (std::vector<std::string>{"0+1000 thread 4001: operator aten::mm",
                                           "500+100 thread 4001: runtime cudaLaunchKernel",
                                           "1200+300 stream 7: kernel gemm"}));
  EXPECT_NE(flow_out, 0u);
  EXPECT_EQ(flow_out, flow_in);
}

TEST(PerfettoWriter, RanksOfOneFileKeepTheirOwnProcessesAndTracks) {
  const EventTable table = small_table();
  const DecodedMessage trace = written({{&table, "rank 0", {}}, {&table, "rank 1", {}}});
  std::set<uint64_t> uuids;
  std::set<uint64_t> pids;
  std::set<std::string> groups;
  for (const DecodedMessage& packet : trace.messages("packet")) {
    for (const DecodedMessage& track : packet.messages("track_descriptor")) {
      EXPECT_TRUE(uuids.insert(track.number("uuid")).second);
      for (const DecodedMessage& process : track.messages("process")) {
        EXPECT_TRUE(pids.insert(process.number("pid")).second);
      }
      for (const DecodedMessage& thread : track.messages("thread")) EXPECT_EQ(thread.number("tid"), 4001u);
      if (!track.has("parent_uuid")) groups.insert(track.text("name"));
    }
  }
  EXPECT_EQ(uuids.size(), 8u);
  EXPECT_EQ(groups,
            (std::set<std::string>{"rank 0 process 4000", "rank 0 GPU 0", "rank 1 process 4000", "rank 1 GPU 0"}));
}

TEST(PerfettoWriter, CountersAreDoublesOnATrackOfTheirOwn) {
  const EventTable table = small_table();
  const DecodedMessage trace = written({{&table, "rank 0", {{"SM utilisation %", {{100, 62.5}}}}}});
  const DecodedMessage& packet = trace.messages("packet").back();
  const DecodedMessage event = packet.message("track_event");
  EXPECT_EQ(event.number("type"), perfetto::kTypeCounter);
  EXPECT_EQ(event.real("double_counter_value"), 62.5);
  EXPECT_EQ(packet.number("timestamp"), 600u);
  uint64_t counter = 0;
  for (const DecodedMessage& each : trace.messages("packet")) {
    const DecodedMessage track = each.message("track_descriptor");
    if (track.has("counter")) counter = track.number("uuid");
  }
  EXPECT_EQ(event.number("track_uuid"), counter);
}

TEST(PerfettoWriter, NothingIsAnEmptyFile) { EXPECT_TRUE(written({}).messages("packet").empty()); }

}  // namespace
}  // namespace lumos
