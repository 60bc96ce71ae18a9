#include "lumos/trace/table/flow_links.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lumos/base/test_data.h"
#include "lumos/trace/kineto/reader.h"
#include "lumos/trace/sets/trace_warnings.h"
#include "lumos/trace/table/launch_flows.h"

namespace lumos {
namespace {

EventTable read(const std::string& events) {
  auto table = read_trace_bytes("[" + events + "]", "test.json", {});
  EXPECT_TRUE(table) << (table ? "" : table.error().message);
  return table ? std::move(*table) : EventTable{};
}

// A producer without categories: a call of the host, a task of the device.
std::string call(int tid, int ts, int dur, int connection) {
  return R"({"ph":"X","name":"aclnnAdd","pid":50,"tid":)" + std::to_string(tid) + R"(,"ts":)" + std::to_string(ts) +
         R"(,"dur":)" + std::to_string(dur) + R"(,"args":{"Mode":"ACL_NN","connection_id":)" +
         std::to_string(connection) + "}},";
}
std::string task(int tid, int stream, int ts, int connection) {
  return R"({"ph":"X","name":"Add","pid":800,"tid":)" + std::to_string(tid) + R"(,"ts":)" + std::to_string(ts) +
         R"(,"dur":3,"args":{"Task Type":"AI_CORE","Stream Id":)" + std::to_string(stream) + R"(,"connection_id":)" +
         std::to_string(connection) + "}},";
}
std::string flow(const char* category, char phase, int id, int pid, int tid, int ts) {
  return std::string(R"({"ph":")") + phase + R"(","cat":")" + category + R"(","name":"x","id":)" + std::to_string(id) +
         R"(,"pid":)" + std::to_string(pid) + R"(,"tid":)" + std::to_string(tid) + R"(,"ts":)" + std::to_string(ts) +
         "},";
}
std::string metadata() { return R"({"ph":"M","name":"process_name","pid":50,"args":{"name":"CANN"}})"; }

// Of each GPU row, in file order: the start of its launch, or -1.
std::vector<int64_t> launch_starts(const EventTable& table) {
  std::vector<int64_t> starts;
  const std::vector<LaunchFlow> flows = launch_flows(table);
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (!is_gpu_work(table.kind[row])) continue;
    int64_t start = -1;
    for (const LaunchFlow& flow : flows) {
      if (flow.work == row) start = table.ts_ns[flow.call];
    }
    starts.push_back(start);
  }
  return starts;
}

TEST(FlowLinks, AFlowTiesATaskToTheCallAroundItsStart) {
  const EventTable t = read(call(7, 100, 50, 9) + task(3, 3, 160, 8) + flow("HostToDevice", 's', 1, 50, 7, 120) +
                            flow("HostToDevice", 'f', 1, 800, 3, 160) + metadata());
  ASSERT_EQ(launch_starts(t), std::vector<int64_t>{120'000});
  const uint32_t launch = launch_flows(t)[0].call;
  EXPECT_EQ(t.kind[launch], EventKind::kRuntime);
  EXPECT_EQ(t.name_of(launch), "HostToDevice");
  EXPECT_EQ(t.end_ns(launch), 150'000);
  EXPECT_EQ(t.lane[launch], t.lane[0]);
  EXPECT_EQ(t.info.left_out_flows, 0u);
}

TEST(FlowLinks, ACallThatBeginsWithTheFlowIsTheLaunch) {
  const EventTable t =
      read(call(7, 100, 50, 9) + call(7, 120, 10, 11) + task(3, 3, 160, 8) + flow("HostToDevice", 's', 1, 50, 7, 120) +
           flow("HostToDevice", 'f', 1, 800, 3, 160) + metadata());
  EXPECT_EQ(t.size(), 3u);
  EXPECT_EQ(launch_starts(t), std::vector<int64_t>{120'000});
}

// The launch that a flow stands for is no event of the file, so a file does not break off behind it.
TEST(FlowLinks, ACutIsToldByTheLastEventOfTheFile) {
  std::string text = "[" + call(7, 100, 50, 9) + flow("HostToDevice", 's', 1, 50, 7, 120) +
                     flow("HostToDevice", 'f', 1, 800, 3, 160) + task(3, 3, 160, 8);
  text += R"({"ph":"X","name":"cut he)";
  auto t = read_trace_bytes(text, "cut.json", {});
  ASSERT_TRUE(t) << t.error().message;
  ASSERT_EQ(launch_starts(*t), std::vector<int64_t>{120'000});
  ASSERT_TRUE(t->info.truncated);
  const EventTable* const tables[] = {&*t};
  const std::vector<std::string> warnings = trace_warnings(tables);
  ASSERT_FALSE(warnings.empty());
  EXPECT_NE(warnings[0].find("after 'Add' at 0.060 ms"), std::string::npos) << warnings[0];
}

// Every order of the events in the file, ids that are used in two categories, a stream that is not its thread, and
// several tasks of one call.
TEST(FlowLinks, OrderAndIdsOfOtherCategoriesDoNotMatter) {
  const std::vector<std::string> events = {
      call(7, 100, 50, 9),
      call(8, 100, 50, 9),
      task(3, 30, 160, 8),
      task(3, 30, 170, 8),
      flow("HostToDevice", 's', 1, 50, 7, 120),
      flow("HostToDevice", 'f', 1, 800, 3, 160),
      flow("HostToDevice", 's', 2, 50, 7, 130),
      flow("HostToDevice", 'f', 2, 800, 3, 170),
      flow("other", 's', 1, 1, 1, 90),
      flow("other", 'f', 1, 800, 3, 160),
  };
  for (size_t shift = 0; shift < events.size(); ++shift) {
    std::string text;
    for (size_t i = 0; i < events.size(); ++i) text += events[(i + shift) % events.size()];
    const EventTable t = read(text + metadata());
    std::vector<int64_t> starts = launch_starts(t);
    std::sort(starts.begin(), starts.end());
    EXPECT_EQ(starts, (std::vector<int64_t>{120'000, 130'000})) << shift;
  }
}

// Chrome's format lets ids be texts.
TEST(FlowLinks, IdsMayBeTexts) {
  const auto named = [](std::string text, int id, const std::string& as) {
    const std::string number = R"("id":)" + std::to_string(id);
    return text.replace(text.find(number), number.size(), R"("id":")" + as + '"');
  };
  const EventTable t = read(call(7, 100, 5, 9) + call(7, 110, 5, 10) + task(3, 3, 160, 18) + task(3, 3, 170, 19) +
                            named(flow("HostToDevice", 's', 1, 50, 7, 101), 1, "aicore_1") +
                            named(flow("HostToDevice", 'f', 1, 800, 3, 160), 1, "aicore_1") +
                            named(flow("HostToDevice", 's', 2, 50, 7, 111), 2, "0x10") +
                            named(flow("HostToDevice", 'f', 2, 800, 3, 170), 2, "0x10") + metadata());
  EXPECT_EQ(launch_starts(t), (std::vector<int64_t>{101'000, 111'000}));
}

TEST(FlowLinks, ACorrelationIsBelievedBeforeAFlow) {
  const EventTable t =
      read(call(7, 100, 5, 9) + call(7, 110, 5, 10) + task(3, 3, 160, 9) + flow("HostToDevice", 's', 1, 50, 7, 112) +
           flow("HostToDevice", 'f', 1, 800, 3, 160) + metadata());
  EXPECT_EQ(launch_starts(t), std::vector<int64_t>{100'000});
  EXPECT_EQ(t.size(), 3u);
}

TEST(FlowLinks, HalfAFlowOrOneFromNowhereTiesNothing) {
  for (const std::string& flows : {flow("HostToDevice", 'f', 1, 800, 3, 160), flow("HostToDevice", 's', 1, 50, 7, 120),
                                   flow("HostToDevice", 's', 1, 50, 7, 99) + flow("HostToDevice", 'f', 1, 800, 3, 160),
                                   flow("HostToDevice", 's', 1, 50, 9, 120) + flow("HostToDevice", 'f', 1, 800, 3, 160),
                                   flow("ac2g", 's', 1, 50, 7, 120) + flow("ac2g", 'f', 1, 800, 3, 160)}) {
    const EventTable t = read(call(7, 100, 50, 9) + task(3, 3, 160, 8) + flows + metadata());
    EXPECT_EQ(launch_starts(t), std::vector<int64_t>{-1}) << flows;
    EXPECT_GT(t.info.left_out_flows, 0u);
  }
}

TEST(FlowLinks, EveryKernelOfTheAscendTraceHasItsLaunch) {
  const std::string path = data_path("traces/odd/ascend-bare-array.json.gz");
  SKIP_WITHOUT_DATA(path);
  auto table = read_trace(path, {});
  ASSERT_TRUE(table);
  const std::vector<int64_t> starts = launch_starts(*table);
  EXPECT_EQ(starts.size(), 276u);
  EXPECT_EQ(std::count(starts.begin(), starts.end(), -1), 2);  // two have no flow
}

}  // namespace
}  // namespace lumos
