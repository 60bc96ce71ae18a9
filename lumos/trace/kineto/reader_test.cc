#include "lumos/trace/kineto/reader.h"

#include <gtest/gtest.h>

#include <stop_token>
#include <thread>

namespace lumos {
namespace {

EventTable read(const std::string& text, ReadOptions options = {}) {
  auto table = read_trace_bytes(text, "test.json", options);
  EXPECT_TRUE(table) << (table ? "" : table.error().message);
  return table ? std::move(*table) : EventTable{};
}

std::string error_of(const std::string& text, ReadOptions options = {}) {
  auto table = read_trace_bytes(text, "test.json", options);
  if (table) return "";
  EXPECT_EQ(table.error().kind, ErrorKind::kUnreadable);
  return table.error().message;
}

std::string trace_of(const std::string& events, const std::string& rest = "") {
  return "{\"traceEvents\": [" + events + "]" + rest + "}";
}

uint64_t issues_of(const EventTable& table, const std::string& word) {
  uint64_t count = 0;
  for (const ReadIssue& issue : table.info.issues) {
    if (issue.reason.find(word) != std::string::npos) count += issue.count;
  }
  return count;
}

// However far a clock is off: sums and differences of the times that are kept fit into 64 bits.
TEST(Reader, TimesBeyondAnyClockHaveNoPlace) {
  for (const char* ts : {"9223372036854774", "-9223372036854774", "9223372036854775807", "4611686018427387", "1e300"}) {
    const std::string event =
        std::string(R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"dur":8e10,"ts":)") + ts;
    const std::string flow = std::string(R"({"ph":"s","cat":"fwdbwd","id":1,"name":"f","pid":1,"tid":1,"ts":)") + ts;
    const EventTable t =
        read(trace_of(R"({"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"dur":8e10,"ts":1765432109876543.210},)" +
                      event + "}," + flow + "}"));
    ASSERT_EQ(t.size(), 1u) << ts;
    EXPECT_EQ(t.name_of(0), "b");
    EXPECT_GE(t.end_ns(0), t.ts_ns[0]);
    EXPECT_TRUE(t.fwdbwd.empty());
    EXPECT_EQ(t.info.skipped(), 2u) << ts;
    EXPECT_EQ(issues_of(t, "73 years"), 2u) << ts;
  }
}

// Ascend: collectives lie on the lane of their group; what only waits or signals is no work; copies are copies.
TEST(Reader, TasksOfAnAscendDevice) {
  const auto task = [](const char* name, const char* type) {
    return std::string(R"({"ph":"X","name":")") + name +
           R"(","pid":800,"tid":3,"ts":10,"dur":2,"args":{"Task Type":")" + type +
           R"(","Stream Id":3,"connection_id":5}},)";
  };
  const EventTable t = read(
      "[" + task("MatMul", "AI_CORE") + task("Add", "AI_VECTOR_CORE") + task("ArgMax", "AI_CPU") +
      task("EVENT_WAIT", "EVENT_WAIT") + task("Notify_Wait", "NOTIFY_WAIT_SQE") + task("rec", "EVENT_RECORD_SQE") +
      task("copy", "SDMA_SQE") + task("copy", "MEMCPY_ASYNC") +
      R"({"ph":"X","name":"hcom_allReduce__305_880_1","pid":900,"tid":1,"ts":20,"dur":9,"args":{"connection_id":7}},)"
      R"({"ph":"X","name":"Notify_Wait","pid":900,"tid":2,"ts":20,"dur":9,"args":{"task type":"Notify Wait"}}])");
  ASSERT_EQ(t.size(), 6u);
  const EventKind kinds[] = {EventKind::kKernel, EventKind::kKernel, EventKind::kKernel,
                             EventKind::kMemcpy, EventKind::kMemcpy, EventKind::kKernel};
  for (size_t row = 0; row < 6; ++row) EXPECT_EQ(t.kind[row], kinds[row]) << t.name_of(row);
  EXPECT_EQ(t.name_of(5), "hcom_allReduce__305_880_1");
  EXPECT_EQ(t.info.left_out_other, 4u);
}

TEST(Reader, KernelWithAllItsArguments) {
  EventTable t = read(trace_of(
      R"({"ph": "X", "cat": "kernel", "name": "ncclDevKernel", "pid": 1, "tid": 20, "ts": 1000.123, "dur": 5.5,
          "args": {"External id": 9, "device": 1, "stream": 20, "correlation": 77, "registers per thread": 96,
          "shared memory": 1024, "grid": [24, 2, 1], "block": [544, 1, 3], "est. achieved occupancy %": 30, "graph node id": 5,
          "Collective name": "allreduce", "In msg nelems": 10, "Out msg nelems": 11, "Group size": 8, "dtype": "Float",
          "In split size": "[]", "Process Group Name": "0", "Process Group Description": "default_pg",
          "Process Group Ranks": "[0, 1]", "Seq": 3, "Src Rank": 1, "Dst Rank": 2, "Comms Id": 15514734831341844875}})"));
  ASSERT_EQ(t.size(), 1u);
  EXPECT_EQ(t.ts_ns[0], 1000123);
  EXPECT_EQ(t.dur_ns[0], 5500);
  EXPECT_EQ(t.kind[0], EventKind::kKernel);
  EXPECT_EQ(t.name_of(0), "ncclDevKernel");
  EXPECT_EQ(t.correlation[0], 77);
  EXPECT_EQ(t.external_id[0], 9u);
  const GpuDetail* gpu = t.gpu_detail(0);
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->grid[1], 2);
  EXPECT_EQ(gpu->block[2], 3);
  EXPECT_EQ(gpu->registers_per_thread, 96);
  EXPECT_EQ(gpu->shared_memory_bytes, 1024);
  EXPECT_EQ(gpu->graph_node, 5);
  EXPECT_FLOAT_EQ(gpu->occupancy_pct, 30);
  const CollectiveDetail* collective = t.collective_detail(0);
  ASSERT_NE(collective, nullptr);
  EXPECT_EQ(t.text(collective->collective), "allreduce");
  EXPECT_EQ(t.text(collective->group_desc), "default_pg");
  EXPECT_EQ(t.text(collective->group_ranks), "[0, 1]");
  EXPECT_EQ(collective->out_elements, 11);
  EXPECT_EQ(collective->sequence, 3);
  EXPECT_EQ(collective->dst_rank, 2);
  const Lane& lane = t.lanes[t.lane[0]];
  EXPECT_TRUE(lane.is_gpu);
  EXPECT_EQ(lane.pid, 1);
  EXPECT_EQ(lane.tid, 20);
}

TEST(Reader, OperatorArgumentsAreKeptAsTextOnOneLine) {
  EventTable t = read(
      trace_of("{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"pid\": 5, \"tid\": 6, \"ts\": 1, "
               "\"dur\": 2, \"args\": {\"Sequence number\": 12, \"Fwd thread id\": 1, \"Input Dims\": [\n [\n 1,\n "
               "2\n ],\n []\n ], \"Input type\": [\"a  b\", \"\"], \"Concrete Inputs\": [\"\", \"[1, 2]\"]}}"));
  const OpDetail* op = t.op_detail(0);
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(t.text(op->input_dims), "[[1, 2], []]");
  EXPECT_EQ(t.text(op->input_types), "[\"a  b\", \"\"]");
  EXPECT_EQ(t.text(op->concrete_inputs), "[\"\", \"[1, 2]\"]");
  EXPECT_EQ(op->sequence, 12);
  EXPECT_EQ(op->fwd_thread, 1);
}

TEST(Reader, CategoriesOfEveryVocabulary) {
  const std::vector<std::pair<std::string, EventKind>> kinds = {{"cpu_op", EventKind::kCpuOp},
                                                                {"Operator", EventKind::kCpuOp},
                                                                {"user_annotation", EventKind::kAnnotation},
                                                                {"cuda_runtime", EventKind::kRuntime},
                                                                {"Runtime", EventKind::kRuntime},
                                                                {"cuda_driver", EventKind::kRuntime},
                                                                {"xpu_runtime", EventKind::kRuntime},
                                                                {"mtia_runtime", EventKind::kRuntime},
                                                                {"xpu_driver", EventKind::kRuntime},
                                                                {"kernel", EventKind::kKernel},
                                                                {"Kernel", EventKind::kKernel},
                                                                {"mtia_ccp_events", EventKind::kKernel},
                                                                {"gpu_memcpy", EventKind::kMemcpy},
                                                                {"Memcpy", EventKind::kMemcpy},
                                                                {"gpu_memset", EventKind::kMemset},
                                                                {"cuda_sync", EventKind::kSync},
                                                                {"xpu_sync", EventKind::kSync},
                                                                {"overhead", EventKind::kOverhead},
                                                                {"Memset", EventKind::kMemset},
                                                                {"gpu_user_annotation", EventKind::kGpuAnnotation}};
  for (const auto& [category, kind] : kinds) {
    EventTable t = read(
        trace_of(R"({"ph": "X", "cat": ")" + category + R"(", "name": "n", "pid": 1, "tid": 2, "ts": 3, "dur": 4})"));
    ASSERT_EQ(t.size(), 1u) << category;
    EXPECT_EQ(t.kind[0], kind) << category;
  }
}

TEST(Reader, PythonFramesAreLeftOutAndModulesKept) {
  EventTable t = read(trace_of(
      R"({"ph": "X", "cat": "python_function", "name": "a.py(1): f", "pid": 1, "tid": 2, "ts": 3, "dur": 4, "args": {"x": 1}},
         {"ph": "X", "cat": "python_function", "name": "nn.Module: Linear_0", "pid": 1, "tid": 2, "ts": 3, "dur": 4, "args": {"x": "}"}},
         {"args": {"x": 1}, "cat": "python_function", "dur": 4, "name": "b.py(2): g", "ph": "X", "pid": 1, "tid": 2, "ts": 3})"));
  ASSERT_EQ(t.size(), 1u);
  EXPECT_EQ(t.kind[0], EventKind::kModule);
  EXPECT_EQ(t.name_of(0), "nn.Module: Linear_0");
  EXPECT_EQ(t.info.left_out_python, 2u);
  EXPECT_EQ(t.info.events, 3u);
}

TEST(Reader, ThreadsAndProcessesMayBeAnything) {
  EventTable t = read(trace_of(
      R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": "Spans", "tid": "", "ts": 1, "dur": 1},
         {"ph": "X", "cat": "cpu_op", "name": "a", "pid": -1, "tid": 18446744073709551615, "ts": 1, "dur": 1},
         {"ph": "X", "cat": "Operator", "name": "a", "pid": 7, "tid": "7", "ts": 1, "dur": 1},
         {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 7, "tid": 7, "ts": 1, "dur": 1},
         {"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 1, "dur": 1, "args": {"stream": 7}},
         {"ph": "M", "name": "thread_name", "pid": 0, "tid": "stream 7", "args": {"name": "Stream seven"}},
         {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "python"}})"));
  ASSERT_EQ(t.size(), 5u);
  ASSERT_EQ(t.lanes.size(), 4u);
  EXPECT_EQ(t.text(t.lanes[0].pid_text), "Spans");
  EXPECT_EQ(t.lanes[0].tid, -1);
  EXPECT_EQ(t.text(t.lanes[1].tid_text), "18446744073709551615");
  EXPECT_EQ(t.lane[2], t.lane[3]) << "a tid is the same whether written as a number or as text";
  EXPECT_EQ(t.text(t.lanes[2].process), "python");
  EXPECT_EQ(t.lanes[3].tid, 7);
  EXPECT_EQ(t.text(t.lanes[3].label), "Stream seven");
}

TEST(Reader, FlowsOfForwardAndBackwardAreKept) {
  EventTable t = read(trace_of(
      R"({"ph": "s", "cat": "fwdbwd", "name": "fwdbwd", "id": 4, "pid": 1, "tid": 2, "ts": 3},
         {"ph": "f", "cat": "fwdbwd", "name": "fwdbwd", "id": 4, "pid": 1, "tid": 3, "ts": 5.5, "bp": "e"},
         {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 4, "pid": 1, "tid": 2, "ts": 3})"));
  ASSERT_EQ(t.fwdbwd.size(), 2u);
  EXPECT_TRUE(t.fwdbwd[0].is_start);
  EXPECT_EQ(t.fwdbwd[1].ts_ns, 5500);
  EXPECT_EQ(t.fwdbwd[1].id, 4);
  EXPECT_EQ(t.lanes[t.fwdbwd[1].lane].tid, 3);
  EXPECT_EQ(t.info.left_out_flows, 1u);
}

TEST(Reader, MetadataBeforeAndBehindTheEvents) {
  EventTable t =
      read(R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU \"A\"", "totalGlobalMem": 85028765696,
      "computeMajor": 9, "computeMinor": 1, "warpSize": 32, "maxThreadsPerMultiprocessor": 2048, "regsPerMultiprocessor": 65536,
      "sharedMemPerMultiprocessor": 233472, "numSms": 132}], "traceEvents": [], "baseTimeNanoseconds": 1751410836000000000,
      "traceName": "x.json", "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [
      {"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 3]}, {"pg_name": "1", "ranks": [3]}]}})");
  const TraceInfo& info = t.info;
  EXPECT_EQ(info.rank, 3);
  EXPECT_EQ(info.rank_source, TraceInfo::RankSource::kDistributedInfo);
  EXPECT_EQ(info.world_size, 8);
  EXPECT_EQ(info.backend, "nccl");
  EXPECT_EQ(info.base_ns, 1751410836000000000);
  EXPECT_EQ(info.trace_name, "x.json");
  ASSERT_EQ(info.groups.size(), 2u);
  EXPECT_EQ(info.groups[0].description, "default_pg");
  EXPECT_EQ(info.groups[0].ranks, (std::vector<int32_t>{0, 3}));
  EXPECT_EQ(info.groups[1].size, 1);
  ASSERT_EQ(info.devices.size(), 1u);
  EXPECT_EQ(info.devices[0].name, "GPU \"A\"");
  EXPECT_EQ(info.devices[0].memory_bytes, 85028765696);
  EXPECT_EQ(info.devices[0].num_sms, 132);
  EXPECT_EQ(info.devices[0].max_threads_per_sm, 2048);
  EXPECT_EQ(info.devices[0].shared_memory_per_sm_bytes, 233472);
}

TEST(Reader, BeginAndEndBecomeOneRow) {
  EventTable t = read(R"([{"name": "add Cmpt Exec", "ph": "B", "pid": 0, "tid": 1, "ts": 10.5, "attr": {"TS1": "1"}},
      {"name": "add Cmpt Exec", "ph": "E", "pid": 0, "tid": 1, "ts": 12.75, "attr": {"TS1": "1"}}])");
  ASSERT_EQ(t.size(), 1u);
  EXPECT_EQ(t.kind[0], EventKind::kKernel);
  EXPECT_EQ(t.dur_ns[0], 2250);
}

TEST(Reader, ImpossibleTimesAreRepairedOrSkippedAndCounted) {
  auto event = [](const char* category, const char* times) {
    return fmt::format(R"({{"ph": "X", "cat": "{}", "name": "n", "pid": 0, "tid": 7{}}},)", category, times);
  };
  EventTable t =
      read(trace_of(event("kernel", R"(, "ts": 0, "dur": 0)") + event("cpu_op", R"(, "ts": 5, "dur": -1)") +
                    event("cpu_op", R"(, "ts": 5, "dur": 18446744073709551615)") + event("cpu_op", R"(, "ts": 5)") +
                    event("cpu_op", R"(, "dur": 5)") + R"({"ph": "M", "name": "x"})"));
  ASSERT_EQ(t.size(), 3u);
  for (int64_t dur_ns : t.dur_ns) EXPECT_EQ(dur_ns, 0);
  EXPECT_EQ(issues_of(t, "ts 0, dur 0"), 1u);
  EXPECT_EQ(issues_of(t, "negative"), 1u);
  EXPECT_EQ(issues_of(t, "over a day"), 1u);
  EXPECT_EQ(issues_of(t, "without duration"), 1u);
  EXPECT_EQ(issues_of(t, "without a start"), 1u);
  EXPECT_EQ(t.info.repaired(), 3u);
  EXPECT_EQ(t.info.skipped(), 2u);
}

TEST(Reader, DamageInOneEventLeavesItsNeighboursAlone) {
  auto event = [](const std::string& name) {
    return R"({"ph": "X", "cat": "cpu_op", "name": ")" + name +
           R"(", "pid": 1, "tid": 2, "ts": 3, "dur": 4, "args": {"a": [1]}})";
  };
  const std::vector<std::pair<std::string, std::string>> damages = {{"control \x02", "control  "},
                                                                    {"bad \xff utf8", "bad \xef\xbf\xbd utf8"},
                                                                    {"bare \"quote\" here", "bare \"quote\" here"},
                                                                    {"C:\\Users\\x", "C:\\Users\\x"},
                                                                    {"C:\\dir\\", "C:\\dir\\"},
                                                                    {"one \" quote", "one \" quote"},
                                                                    {"brace } \" quote", "brace } \" quote"}};
  for (const char* between : {",", ",\n  "}) {
    for (const auto& [damaged, repaired] : damages) {
      std::string text;
      for (int i = 0; i < 20; ++i) text += event("before") + between;
      text += event(damaged);
      for (int i = 0; i < 20; ++i) text += between + event("behind");
      EventTable t = read(trace_of(text));
      ASSERT_EQ(t.size(), 41u) << damaged;
      EXPECT_EQ(t.name_of(20), repaired);
      EXPECT_EQ(t.name_of(21), "behind");
      EXPECT_GE(t.info.repaired(), 1u) << damaged;
      EXPECT_EQ(t.info.skipped(), 0u) << damaged;
      EXPECT_FALSE(t.info.truncated) << damaged << between;
      ReadOptions strict;
      strict.strict = true;
      EXPECT_NE(error_of(trace_of(text), strict), "") << damaged;
    }
  }
}

TEST(Reader, ALostQuoteInAnEventThatIsLeftOutTakesNoOtherWithIt) {
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    bool is_damaged = i % 500 == 100;
    text += fmt::format(
        R"({{"ph":"i","cat":"cpu_instant_event","name":"mem{}ory","pid":1,"tid":2,"ts":3,"args":{{"a":1}}}},)",
        is_damaged ? "\"" : "");
    text += fmt::format(R"({{"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":2,"ts":{},"dur":1}},)", i);
  }
  text.pop_back();
  EventTable t = read(trace_of(text));
  EXPECT_EQ(t.size(), 5000u);
  EXPECT_EQ(t.info.events, 10000u);
  EXPECT_EQ(t.info.skipped(), 0u);
  EXPECT_FALSE(t.info.truncated);
}

TEST(Reader, AHopelessEventIsSkippedAlone) {
  std::string good = R"({"ph": "X", "cat": "cpu_op", "name": "n", "pid": 1, "tid": 2, "ts": 3, "dur": 4})";
  for (const char* bad : {R"({"ph": "X", "cat": "cpu_op", "name": "n", "pid": 1, "ti)", R"({"ph": "X" "cat" cpu_op})",
                          R"({"ph": "X", "args": {"a": [1, 2})", R"({"ph": "X"}})"}) {
    EventTable t = read(trace_of(good + ", " + bad + ", " + good + ", " + good));
    EXPECT_EQ(t.size(), 3u) << bad;
    EXPECT_EQ(t.info.skipped(), 1u) << bad;
  }
}

TEST(Reader, WhatIsNoTraceIsToldWhatItIs) {
  EXPECT_NE(error_of(R"({"schema": "1.0.1", "pid": 1, "nodes": [{"name": "x"}]})").find("execution trace"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"a": 1, "b": {"c": 2}})").find("it has a, b"), std::string::npos);
  EXPECT_NE(error_of("PK\x03\x04 zipped").find("zip archive"), std::string::npos);
  EXPECT_NE(error_of("hello").find("not JSON"), std::string::npos);
  EXPECT_NE(error_of(" \n").find("empty"), std::string::npos);
  EXPECT_NE(error_of("[1, 2, 3]").find("array"), std::string::npos);
  EXPECT_NE(error_of(R"([{"a": 1}])").find("trace event"), std::string::npos);
  EXPECT_NE(error_of(R"({"schemaVersion": 1, "traceEv)").find("cut short"), std::string::npos);
}

TEST(Reader, ATraceWithoutEventsIsAnEmptyTable) {
  EXPECT_EQ(read(trace_of("")).size(), 0u);
  EXPECT_EQ(read(trace_of(R"({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}})")).info.events, 1u);
}

// What an annotation says stays its own, whatever block it is read in.
TEST(Reader, AnnotationsKeepTheirArgumentsInAnyBlock) {
  std::string events;
  constexpr int kEvents = 400;
  for (int i = 0; i < kEvents; ++i) {
    events += fmt::format(R"({}{{"ph": "X", "cat": "{}", "name": "n", "pid": 1, "tid": 1, "ts": {}, "dur": 1,
        "args": {{"Collective name": "c{}", "Seq": {}}}}})",
                          i == 0 ? "" : ",\n", i % 3 == 0 ? "cpu_op" : "user_annotation", i, i % 7, i);
  }
  for (const size_t block_bytes : {size_t{1000}, size_t{4096}, kReadBlockBytes}) {
    ReadOptions options;
    options.block_bytes = block_bytes;
    const EventTable t = read(trace_of(events), options);
    ASSERT_EQ(t.size(), static_cast<size_t>(kEvents));
    for (uint32_t row = 0; row < t.size(); ++row) {
      ASSERT_LT(t.detail[row], t.ops.size());
      ASSERT_EQ(t.collective_detail(row)->sequence, row);
      ASSERT_EQ(t.text(t.collective_detail(row)->collective), "c" + std::to_string(row % 7));
    }
  }
}

TEST(Reader, EndsOnceItIsAskedToStop) {
  std::string text = "{\"traceEvents\":[";
  for (int i = 0; i < 20'000; ++i) {
    if (i > 0) text += ',';
    text += R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":1})";
  }
  text += "]}";
  for (const int threads : {1, 2, 8}) {
    std::stop_source stop;
    ReadOptions options;
    options.threads = threads;
    options.block_bytes = 4096;
    options.stop = stop.get_token();
    std::thread asks([&] { stop.request_stop(); });
    // Wherever the reader is by then: either all of it was read, or it says why not.
    const auto raced = read_trace_bytes(text, "rank0.json", options);
    asks.join();
    EXPECT_TRUE(raced.has_value() || raced.error().kind == ErrorKind::kInterrupted);
    const auto stopped = read_trace_bytes(text, "rank0.json", options);
    ASSERT_FALSE(stopped.has_value());
    EXPECT_EQ(stopped.error().kind, ErrorKind::kInterrupted);
  }
}

}  // namespace
}  // namespace lumos
