// What both writers make of every public trace that is small enough to be read in a test: the same timeline, and no
// track whose slices overlap without nesting.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <tuple>

#include "lumos/base/json_value.h"
#include "lumos/base/test_data.h"
#include "lumos/trace/kineto/reader.h"
#include "lumos/trace/kineto/test_files.h"
#include "lumos/trace/write/chrome_writer.h"
#include "lumos/trace/write/perfetto_writer.h"
#include "lumos/trace/write/test_perfetto.h"

namespace lumos {
namespace {

constexpr uintmax_t kLargestTrace = 200'000;  // compressed; the tests of all of them together then take seconds

std::vector<std::string> small_trace_files() {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_path("traces"), error)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".json.gz") && entry.file_size() <= kLargestTrace) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Start and length of GPU work by what it is, in order.
std::vector<std::tuple<std::string, int64_t, int64_t>> gpu_timeline(const EventTable& table, int64_t origin_ns) {
  std::vector<std::tuple<std::string, int64_t, int64_t>> rows;
  for (size_t row = 0; row < table.size(); ++row) {
    if (!is_gpu_work(table.kind[row])) continue;
    rows.emplace_back(table.name_of(row), table.ts_ns[row] - origin_ns, table.dur_ns[row]);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

struct Slice {
  int64_t start_ns;
  int64_t end_ns;
};

/// A number of microseconds, as exact as a double holds it: of clocks that count from 1970, to some 250 ns.
int64_t nanoseconds(const Value& value) {
  if (const int64_t* whole = value.get<int64_t>()) return 1000 * *whole;
  return std::llround(1000 * *value.get<double>());
}

/// The slices of a Chrome file by process and thread, as a viewer reads them.
std::map<std::string, std::vector<Slice>> chrome_tracks(const Value& root) {
  std::map<std::string, std::vector<Slice>> tracks;
  const auto text = [](const Value& value) {
    if (const int64_t* number = value.get<int64_t>()) return std::to_string(*number);
    return *value.get<std::string>();
  };
  for (const Value& event : *root.find("traceEvents")->get<Value::Array>()) {
    if (*event.find("ph")->get<std::string>() != "X") continue;
    const int64_t start_ns = nanoseconds(*event.find("ts"));
    tracks[text(*event.find("pid")) + " " + text(*event.find("tid"))].push_back(
        {start_ns, start_ns + nanoseconds(*event.find("dur"))});
  }
  return tracks;
}

void expect_nested(const std::string& track, std::vector<Slice> slices) {
  std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return std::tuple(a.start_ns, -a.end_ns) < std::tuple(b.start_ns, -b.end_ns);
  });
  std::vector<int64_t> open;
  for (const Slice& slice : slices) {
    while (!open.empty() && open.back() <= slice.start_ns) open.pop_back();
    const auto rounding_ns = static_cast<int64_t>(std::ldexp(static_cast<double>(slice.end_ns), -51));
    if (!open.empty() && slice.start_ns < open.back() - rounding_ns) {
      EXPECT_LE(slice.end_ns, open.back() + rounding_ns) << track << " at " << slice.start_ns;
    }
    open.push_back(slice.end_ns);
  }
}

TEST(WrittenTraces, ChromeFilesNestAndComeBackTheSame) {
  SKIP_WITHOUT_DATA(data_path("traces"));
  const TraceFolder folder;
  size_t seen = 0;
  for (const std::string& file : small_trace_files()) {
    SCOPED_TRACE(file);
    const Result<EventTable> table = read_trace(file, {});
    if (!table) continue;  // One of them is no trace at all.
    ++seen;
    const std::string path = folder.path("written.json");
    ASSERT_TRUE(write_chrome_trace(*table, path, {}));
    const Result<Value> root = parse_json(read_whole(path), path);
    ASSERT_TRUE(root) << root.error().message;
    size_t slices = 0;
    for (const auto& [track, list] : chrome_tracks(*root)) {
      slices += list.size();
      expect_nested(track, list);
    }
    EXPECT_GE(slices, table->size());
    const Result<EventTable> back = read_trace(path, {});
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->size(), table->size());
    EXPECT_EQ(gpu_timeline(*back, 0), gpu_timeline(*table, 0));
  }
  EXPECT_GT(seen, 20u);
}

TEST(WrittenTraces, PerfettoFilesKeepToThePublicDefinitionsAndHoldEveryRow) {
  SKIP_WITHOUT_DATA(data_path("traces"));
  const TraceFolder folder;
  for (const std::string& file : small_trace_files()) {
    SCOPED_TRACE(file);
    const Result<EventTable> table = read_trace(file, {});
    if (!table) continue;
    const std::string path = folder.path("written.pftrace");
    const PerfettoRank rank{&*table, "rank", {{"SM utilisation %", {{0, 1}, {5, 0}}}}};
    ASSERT_TRUE(write_perfetto_trace({rank}, path));
    const DecodedMessage trace(perfetto::kTrace, read_whole(path));
    const std::vector<DecodedSlice> slices = decoded_slices(trace);
    EXPECT_EQ(slices.size(), table->size());

    const int64_t origin_ns = std::min<int64_t>(0, *std::min_element(table->ts_ns.begin(), table->ts_ns.end()));
    std::vector<std::pair<int64_t, int64_t>> shown, rows;
    for (const DecodedSlice& slice : slices) {
      if (slice.category == "kernel" || slice.category == "copy" || slice.category == "fill") {
        shown.emplace_back(slice.start_ns, slice.length_ns);
      }
    }
    for (const auto& [name, start_ns, length_ns] : gpu_timeline(*table, origin_ns)) {
      rows.emplace_back(start_ns, length_ns);
    }
    std::sort(shown.begin(), shown.end());
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(shown, rows);
    if (HasFailure()) return;  // The next trace would say the same, thousands of times.
  }
}

}  // namespace
}  // namespace lumos
