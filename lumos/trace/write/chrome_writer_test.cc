#include "lumos/trace/write/chrome_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "lumos/trace/kineto/reader.h"
#include "lumos/trace/kineto/test_files.h"
#include "lumos/trace/table/track_layout.h"
#include "lumos/trace/write/output_file.h"

namespace lumos {
namespace {

struct Maker {
  EventTable table;
  std::shared_ptr<NamePool> names = std::make_shared<NamePool>();

  uint32_t lane(bool is_gpu, int64_t pid, int64_t tid) {
    Lane lane;
    lane.is_gpu = is_gpu;
    lane.pid = pid;
    lane.tid = tid;
    lane.pid_text = names->intern(std::to_string(pid));
    lane.tid_text = names->intern(std::to_string(tid));
    table.lanes.push_back(lane);
    return static_cast<uint32_t>(table.lanes.size() - 1);
  }
  uint32_t row(EventKind kind, const std::string& name, uint32_t lane, int64_t ts_ns, int64_t dur_ns,
               int64_t correlation = -1) {
    table.kind.push_back(kind);
    table.name.push_back(names->intern(name));
    table.lane.push_back(lane);
    table.ts_ns.push_back(ts_ns);
    table.dur_ns.push_back(dur_ns);
    table.correlation.push_back(correlation);
    table.external_id.push_back(0);
    table.detail.push_back(kNoIndex);
    return static_cast<uint32_t>(table.size() - 1);
  }
  const EventTable& done() {
    table.names = names;
    return table;
  }
};

EventTable round_trip(const EventTable& table, const std::string& name) {
  const TempFolder folder;
  const std::string path = folder.path(name);
  const Status written = write_chrome_trace(table, path, {});
  EXPECT_TRUE(written) << written.error().message;
  Result<EventTable> back = read_trace(path, {});
  EXPECT_TRUE(back) << back.error().message;
  return back ? std::move(*back) : EventTable();
}

std::string text_or_empty(const EventTable& table, NameId id) { return std::string(table.text(id)); }

/// Everything a row says, for comparison between tables whose ids differ.
std::string described(const EventTable& table, size_t row) {
  const Lane& lane = table.lanes[table.lane[row]];
  std::ostringstream out;
  out << table.name_of(row) << '|' << static_cast<int>(table.kind[row]) << '|' << table.ts_ns[row] << '+'
      << table.dur_ns[row] << '|' << lane.is_gpu << ' ' << table.text(lane.pid_text) << ' ' << table.text(lane.tid_text)
      << '|' << table.correlation[row] << '|' << table.external_id[row];
  if (const GpuDetail* gpu = table.gpu_detail(row)) {
    out << "|gpu " << gpu->grid[0] << ' ' << gpu->grid[2] << ' ' << gpu->block[0] << ' ' << gpu->registers_per_thread
        << ' ' << gpu->shared_memory_bytes << ' ' << gpu->bytes << ' ' << gpu->occupancy_pct;
  }
  if (const OpDetail* op = table.op_detail(row)) {
    out << "|op " << text_or_empty(table, op->input_dims) << text_or_empty(table, op->input_types) << op->sequence
        << ' ' << op->fwd_thread << ' ' << text_or_empty(table, op->concrete_inputs);
  }
  if (const CollectiveDetail* c = table.collective_detail(row)) {
    out << "|coll " << text_or_empty(table, c->collective) << text_or_empty(table, c->dtype) << c->in_elements << ' '
        << text_or_empty(table, c->group_ranks) << text_or_empty(table, c->group_desc) << c->sequence << ' '
        << c->group_size << text_or_empty(table, c->in_split);
  }
  return out.str();
}

std::vector<std::string> described(const EventTable& table) {
  std::vector<std::string> rows;
  for (size_t row = 0; row < table.size(); ++row) rows.push_back(described(table, row));
  std::sort(rows.begin(), rows.end());
  return rows;
}

/// Slices of one pid and tid must be disjoint or nested.
void expect_no_overlap(const EventTable& table) {
  const Nesting nested = nesting(table);
  const TrackLayout layout = track_layout(table, nested);
  std::map<uint32_t, std::vector<int64_t>> open;
  for (uint32_t row : nested.order) {
    std::vector<int64_t>& ends = open[layout.track[row]];
    while (!ends.empty() && ends.back() <= table.ts_ns[row]) ends.pop_back();
    if (!ends.empty()) {
      EXPECT_LE(table.ts_ns[row] + layout.shown_ns[row], ends.back()) << described(table, row);
    }
    ends.push_back(table.ts_ns[row] + layout.shown_ns[row]);
  }
}

TEST(ChromeWriter, OurReaderReadsTheSameRowsBack) {
  Maker m;
  const uint32_t thread = m.lane(false, 4000, 4001);
  const uint32_t stream = m.lane(true, 0, 7);
  m.row(EventKind::kAnnotation, "ProfilerStep#1", thread, 0, 100000);
  const uint32_t op = m.row(EventKind::kCpuOp, "aten::mm \"quoted\\\"", thread, 1001, 5002);
  m.row(EventKind::kRuntime, "cudaLaunchKernel", thread, 2003, 1000, 17);
  const uint32_t kernel = m.row(EventKind::kKernel, "void gemm<float>(float*)", stream, 9007, 40009, 17);
  m.table.ops.resize(1);
  m.table.ops[0].input_dims = m.names->intern("[[2, 3], []]");
  m.table.ops[0].sequence = 12;
  m.table.detail[op] = 0;
  m.table.external_id[op] = 5;
  m.table.collectives.resize(1);
  m.table.collectives[0].collective = m.names->intern("allreduce");
  m.table.collectives[0].group_ranks = m.names->intern("[0, 1]");
  m.table.collectives[0].in_elements = 1024;
  m.table.gpu.resize(1);
  m.table.gpu[0].grid[0] = 8, m.table.gpu[0].grid[1] = m.table.gpu[0].grid[2] = 1;
  m.table.gpu[0].block[0] = 256, m.table.gpu[0].block[1] = m.table.gpu[0].block[2] = 1;
  m.table.gpu[0].collective = 0;
  m.table.detail[kernel] = 0;
  m.table.fwdbwd = {{3, 1001, thread, true}};
  m.table.info.rank = 2;
  m.table.info.world_size = 4;
  const EventTable& table = m.done();
  for (const char* name : {"back.json", "back.json.gz"}) {
    const EventTable back = round_trip(table, name);
    EXPECT_EQ(described(back), described(table));
    EXPECT_EQ(back.info.rank, 2);
    EXPECT_EQ(back.info.world_size, 4);
    ASSERT_EQ(back.fwdbwd.size(), 1u);
    EXPECT_EQ(back.fwdbwd[0].ts_ns, 1001);
  }
}

TEST(ChromeWriter, OverlapOnAStreamGetsATrackOfItsOwn) {
  Maker m;
  const uint32_t stream = m.lane(true, 0, 7);
  m.row(EventKind::kGpuAnnotation, "forward", stream, 0, 100);
  m.row(EventKind::kKernel, "a", stream, 10, 30);
  m.row(EventKind::kKernel, "b", stream, 20, 30);  // starts before a ends
  m.row(EventKind::kKernel, "c", stream, 50, 10);
  m.table.gpu.resize(1);
  m.table.detail = {kNoIndex, 0, 0, 0};
  const EventTable& table = m.done();
  const TrackLayout layout = track_layout(table, nesting(table));
  ASSERT_EQ(layout.tracks.size(), 2u);
  EXPECT_EQ(layout.track, (std::vector<uint32_t>{0, 0, 1, 0}));
  EXPECT_EQ(layout.tracks[1].name, "stream 7 (overlap 1)");
  EXPECT_EQ(layout.tracks[1].tid, "8");
  EXPECT_EQ(described(round_trip(table, "overlap.json")), described(table));  // args tell the stream
}

TEST(ChromeWriter, RoundingOfAThreadIsCutAndRealOverlapIsMoved) {
  Maker m;
  const uint32_t thread = m.lane(false, 1, 1);
  m.row(EventKind::kCpuOp, "parent", thread, 0, 10000);
  m.row(EventKind::kCpuOp, "rounded", thread, 5000, 5900);
  m.row(EventKind::kCpuOp, "other", thread, 9000, 90000);
  const EventTable& table = m.done();
  const TrackLayout layout = track_layout(table, nesting(table));
  EXPECT_EQ(layout.track, (std::vector<uint32_t>{0, 0, 1}));
  EXPECT_EQ(layout.shown_ns, (std::vector<int64_t>{10000, 5000, 90000}));
}

TEST(ChromeWriter, NoTrackHasOverlapsWhateverTheRows) {
  EXPECT_TRUE(rc::check([] {
    Maker m;
    m.lane(false, 1, 1);
    m.lane(true, 0, 7);
    constexpr EventKind kKinds[] = {EventKind::kCpuOp, EventKind::kKernel, EventKind::kGpuAnnotation};
    const auto count = *rc::gen::inRange(0, 30);
    for (int i = 0; i < count; ++i) {
      const EventKind kind = kKinds[*rc::gen::inRange(0, 3)];
      m.row(kind, "x", kind == EventKind::kCpuOp ? 0 : 1, *rc::gen::inRange(0, 9000), *rc::gen::inRange(0, 4000));
    }
    expect_no_overlap(m.done());
    RC_ASSERT(!testing::Test::HasFailure());
  }));
}

TEST(ChromeWriter, FlowsLeadFromEachLaunchToItsKernels) {
  Maker m;
  const uint32_t thread = m.lane(false, 1, 1);
  const uint32_t stream = m.lane(true, 0, 7);
  m.row(EventKind::kRuntime, "cudaGraphLaunch", thread, 0, 5, 9);
  m.row(EventKind::kRuntime, "cudaEventRecord", thread, 10, 5, 10);  // no GPU work: no flow
  m.row(EventKind::kKernel, "a", stream, 20, 5, 9);
  m.row(EventKind::kKernel, "b", stream, 30, 5, 9);
  const TempFolder folder;
  const std::string path = folder.path("flows.json");
  ASSERT_TRUE(write_chrome_trace(m.done(), path, {}));
  const std::string text = file_bytes(path);
  const auto count = [&](const std::string& part) {
    int found = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count(R"("ph":"s","cat":"ac2g")"), 2);
  EXPECT_EQ(count(R"("ph":"f","cat":"ac2g")"), 2);
}

TEST(ChromeWriter, AFileThatCannotBeWrittenIsAnError) {
  Maker m;
  const Status status = write_chrome_trace(m.done(), "/nonexistent/folder/out.json", {});
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("/nonexistent/folder/out.json"), std::string::npos);
  if (std::filesystem::exists("/dev/full")) {
    EXPECT_FALSE(write_chrome_trace(m.done(), "/dev/full", {}));
  }
}

TEST(ChromeWriter, RealTracesComeBackTheSame) {
  const char* data = std::getenv("LUMOS_DATA");
  const std::filesystem::path traces = std::filesystem::path(data != nullptr ? data : "../shared") / "traces";
  if (!std::filesystem::exists(traces)) GTEST_SKIP() << "no traces at " << traces << ": set LUMOS_DATA";
  for (const char* name : {"cuda-sync/simple-add.json.gz", "dlrm-8rank-v100/rank0.json.gz"}) {
    const Result<EventTable> table = read_trace((traces / name).string(), {});
    ASSERT_TRUE(table) << table.error().message;
    expect_no_overlap(*table);
    const EventTable back = round_trip(*table, "real.json.gz");
    EXPECT_EQ(back.size(), table->size());
    // Cut durations and the track of cuda_sync rows may differ: everything on streams must not.
    std::vector<std::string> before, after;
    for (size_t row = 0; row < table->size(); ++row) {
      if (is_gpu_work(table->kind[row])) before.push_back(described(*table, row));
    }
    for (size_t row = 0; row < back.size(); ++row) {
      if (is_gpu_work(back.kind[row])) after.push_back(described(back, row));
    }
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    EXPECT_EQ(before, after) << name;
  }
}

TEST(OutputFile, CompressesLongAndEmptyOutput) {
  const TempFolder folder;
  const std::string path = folder.path("long.txt.gz");
  for (size_t lines : {size_t{0}, size_t{200000}}) {
    Result<OutputFile> file = OutputFile::open(path);
    ASSERT_TRUE(file);
    std::string expected;
    for (size_t i = 0; i < lines; ++i) expected += std::to_string(i * i) + "\n";
    file->write(expected);
    ASSERT_TRUE(file->close());
    const std::string plain = folder.path("long.txt");
    ASSERT_EQ(std::system(("gzip -dc " + path + " > " + plain).c_str()), 0);
    EXPECT_EQ(file_bytes(plain), expected);
  }
}

}  // namespace
}  // namespace lumos
