#include "lumos/trace/perfetto_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace lumos {
namespace {

/// Any protobuf message, field by field, by the wire format alone: what the file really holds, whoever wrote it.
struct Message {
  std::multimap<uint32_t, uint64_t> numbers;   // varint and fixed fields
  std::multimap<uint32_t, std::string> bytes;  // strings and messages

  explicit Message(const std::string& data) {
    size_t at = 0;
    const auto varint = [&] {
      uint64_t value = 0;
      for (int shift = 0; at < data.size(); shift += 7) {
        const auto byte = static_cast<unsigned char>(data[at++]);
        value |= uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) break;
      }
      return value;
    };
    while (at < data.size()) {
      const uint64_t key = varint();
      const auto field = static_cast<uint32_t>(key >> 3);
      uint64_t fixed = 0;
      switch (key & 7) {
        case 0:
          numbers.emplace(field, varint());
          break;
        case 1:
          std::memcpy(&fixed, data.data() + at, 8);
          numbers.emplace(field, fixed);
          at += 8;
          break;
        case 2: {
          const size_t size = varint();
          expect_whole(at + size <= data.size());
          bytes.emplace(field, data.substr(at, size));
          at += size;
          break;
        }
        default:
          ADD_FAILURE() << "wire type " << (key & 7) << " at byte " << at;
          return;
      }
    }
  }

  uint64_t number(uint32_t field) const { return numbers.count(field) ? numbers.find(field)->second : 0; }
  std::string text(uint32_t field) const { return bytes.count(field) ? bytes.find(field)->second : ""; }
  Message message(uint32_t field) const { return Message(text(field)); }
  bool has(uint32_t field) const { return numbers.count(field) + bytes.count(field) > 0; }

 private:
  static void expect_whole(bool ok) { EXPECT_TRUE(ok) << "a field passes the end of its message"; }
};

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

std::vector<Message> packets_of(const std::vector<PerfettoRank>& ranks) {
  const auto path = std::filesystem::temp_directory_path() / (std::to_string(getpid()) + ".pftrace");
  const Status written = write_perfetto_trace(ranks, path.string());
  EXPECT_TRUE(written) << written.error().message;
  std::ifstream file(path, std::ios::binary);
  std::stringstream data;
  data << file.rdbuf();
  std::filesystem::remove(path);
  std::vector<Message> packets;
  const Message trace(data.str());
  for (auto [it, end] = trace.bytes.equal_range(1); it != end; ++it) packets.emplace_back(it->second);
  return packets;
}

TEST(PerfettoWriter, SlicesNestOnTheirTracksAndFlowsLeadToKernels) {
  const EventTable table = small_table();
  const std::vector<Message> packets = packets_of({{&table, "rank 0", {}}});
  std::map<uint64_t, std::string> names;
  std::map<uint64_t, std::string> tracks;
  std::vector<std::string> got;
  uint64_t flow_out = 0;
  uint64_t flow_in = 0;
  for (const Message& packet : packets) {
    EXPECT_EQ(packet.number(10), 1u);                                     // trusted_packet_sequence_id
    EXPECT_EQ(packet.number(13), &packet == &packets.front() ? 1u : 2u);  // sequence_flags
    const Message interned = packet.message(12);
    for (auto [it, end] = interned.bytes.equal_range(2); it != end; ++it) {
      const Message name(it->second);
      names[name.number(1)] = name.text(2);
    }
    if (packet.has(60)) tracks[packet.message(60).number(1)] = packet.message(60).text(2);
    if (!packet.has(11)) continue;
    const Message event = packet.message(11);
    const std::string what = event.number(9) == 1 ? "begin " + names[event.number(10)] : "end";
    got.push_back(std::to_string(packet.number(8)) + " " + tracks[event.number(11)] + " " + what);
    if (event.has(47)) flow_out = event.number(47);
    if (event.has(48)) flow_in = event.number(48);
  }
  // Times are moved so that none is negative.
  EXPECT_EQ(got, (std::vector<std::string>{"0 thread 4001 begin aten::mm", "500 thread 4001 begin cudaLaunchKernel",
                                           "600 thread 4001 end", "1000 thread 4001 end", "1200 stream 7 begin gemm",
                                           "1500 stream 7 end"}));
  EXPECT_NE(flow_out, 0u);
  EXPECT_EQ(flow_out, flow_in);
}

TEST(PerfettoWriter, RanksOfOneFileKeepTheirOwnProcessesAndTracks) {
  const EventTable table = small_table();
  const std::vector<Message> packets = packets_of({{&table, "rank 0", {}}, {&table, "rank 1", {}}});
  std::set<uint64_t> uuids;
  std::set<uint64_t> pids;
  std::set<std::string> groups;
  for (const Message& packet : packets) {
    if (!packet.has(60)) continue;
    const Message descriptor = packet.message(60);
    EXPECT_TRUE(uuids.insert(descriptor.number(1)).second);
    if (descriptor.has(3)) {
      EXPECT_TRUE(pids.insert(descriptor.message(3).number(1)).second);
    }
    if (descriptor.has(4)) {
      EXPECT_EQ(descriptor.message(4).number(2), 4001u);
    }
    if (!descriptor.has(5)) groups.insert(descriptor.text(2));
  }
  EXPECT_EQ(uuids.size(), 8u);
  EXPECT_EQ(groups,
            (std::set<std::string>{"rank 0 process 4000", "rank 0 GPU 0", "rank 1 process 4000", "rank 1 GPU 0"}));
}

TEST(PerfettoWriter, CountersAreDoubles) {
  const EventTable table = small_table();
  const std::vector<Message> packets = packets_of({{&table, "rank 0", {{"SM utilisation %", {{100, 62.5}}}}}});
  const Message event = packets.back().message(11);
  EXPECT_EQ(event.number(9), 4u);  // TYPE_COUNTER
  const uint64_t bits = event.number(44);
  double value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  EXPECT_EQ(value, 62.5);
  EXPECT_EQ(packets.back().number(8), 600u);
}

TEST(PerfettoWriter, NothingIsAnEmptyFile) { EXPECT_TRUE(packets_of({}).empty()); }

}  // namespace
}  // namespace lumos
