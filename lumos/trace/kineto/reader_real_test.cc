// The reader on real traces: as they are, in any blocks, cut anywhere.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "lumos/base/test_data.h"
#include "lumos/trace/kineto/byte_source.h"
#include "lumos/trace/kineto/reader.h"
#include "lumos/trace/kineto/test_files.h"

namespace lumos {
namespace {

bool is_same_table(const EventTable& a, const EventTable& b) {
  if (a.names->size() != b.names->size() || a.lanes.size() != b.lanes.size()) return false;
  for (uint32_t i = 0; i < a.names->size(); ++i) {
    if (a.text(NameId{i}) != b.text(NameId{i})) return false;
  }
  return a.ts_ns == b.ts_ns && a.dur_ns == b.dur_ns && a.name == b.name && a.lane == b.lane && a.kind == b.kind &&
         a.correlation == b.correlation && a.external_id == b.external_id && a.fwdbwd.size() == b.fwdbwd.size() &&
         a.info.events == b.info.events && a.info.left_out_python == b.info.left_out_python;
}

std::string decoded(const std::string& path) {
  auto source = ByteSource::open(path);
  std::string text(64 << 20, '\0');
  text.resize(source->read(text.data(), text.size()).value_or(0));
  return text;
}

TEST(ReaderOnRealTraces, TheTableIsTheSameForAnyBlockSizeAndThreadCount) {
  std::string path = data_path("traces/resnet-ddp-a100/rank0.json.gz");
  SKIP_WITHOUT_DATA(path);
  ReadOptions options;
  options.threads = 1;
  EventTable whole = *read_trace(path, options);
  EXPECT_GT(whole.size(), 20000u);
  for (int threads : {1, 2, 5}) {
    for (size_t block_bytes : {1000, 50'000, 4 << 20}) {
      options.threads = threads;
      options.block_bytes = block_bytes;
      EXPECT_TRUE(is_same_table(*read_trace(path, options), whole)) << threads << " threads, blocks of " << block_bytes;
    }
  }
}

TEST(ReaderOnRealTraces, CutAnywhereTheyKeepEveryWholeEvent) {
  std::string path = data_path("traces/llama-tp2-rtx4090/rank0.json.gz");
  SKIP_WITHOUT_DATA(path);
  std::string text = decoded(path);
  size_t array_begin = text.find('[', text.find("\"traceEvents\""));
  // In this file an event's closing brace stands alone on its line, indented by two.
  auto whole_events = [&](size_t cut) {
    uint64_t count = 0;
    for (size_t at = text.find("\n  }", array_begin); at != std::string::npos && at + 4 <= cut;
         at = text.find("\n  }", at + 1)) {
      ++count;
    }
    return count;
  };
  uint64_t all = read_trace_bytes(text, "test.json", {})->info.events;
  ASSERT_EQ(whole_events(text.rfind(']', text.rfind("traceName"))), all);
  std::mt19937 random(17);
  ReadOptions options;
  options.threads = 1;
  for (int i = 0; i < 200; ++i) {
    size_t cut = random() % text.size();
    auto table = read_trace_bytes(std::string_view(text).substr(0, cut), "cut.json", options);
    if (cut <= array_begin) {
      EXPECT_FALSE(table);
      continue;
    }
    ASSERT_TRUE(table) << cut << ": " << table.error().message;
    EXPECT_EQ(table->info.events, std::min(all, whole_events(cut))) << cut;
    EXPECT_TRUE(table->info.truncated);
    EXPECT_EQ(table->info.skipped(), 0u) << cut;
  }
}

TEST(ReaderOnRealTraces, CutAsGzipTheyKeepEveryWholeEventThatDecodes) {
  std::string path = data_path("traces/llama-tp2-rtx4090/rank0.json.gz");
  SKIP_WITHOUT_DATA(path);
  std::string packed = file_bytes(path);
  ReadOptions options;
  options.threads = 1;
  std::mt19937 random(18);
  for (int i = 0; i < 200; ++i) {
    std::string_view cut = std::string_view(packed).substr(0, random() % packed.size());
    auto table = read_trace_bytes(cut, "cut.json.gz", options);
    auto source = ByteSource::of_memory(cut);
    std::string text(2 << 20, '\0');
    text.resize(source ? source->read(text.data(), text.size()).value_or(0) : 0);
    auto plain = read_trace_bytes(text, "cut.json", options);
    ASSERT_EQ(table.has_value(), plain.has_value()) << cut.size();
    if (table) {
      EXPECT_EQ(table->info.events, plain->info.events) << cut.size();
    }
  }
}

TEST(ReaderOnRealTraces, EveryOddFileGivesATableOrOneClearMessage) {
  std::string folder = data_path("traces/odd");
  SKIP_WITHOUT_DATA(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    auto table = read_trace(entry.path().string(), {});
    if (table) {
      EXPECT_GT(table->size(), 0u) << entry.path();
      EXPECT_EQ(table->info.skipped(), 0u) << entry.path();
    } else {
      EXPECT_EQ(table.error().kind, ErrorKind::kUnreadable);
      EXPECT_NE(table.error().message.find(entry.path().string()), std::string::npos);
      EXPECT_EQ(table.error().message.find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace lumos
