#include "lumos/trace/write/demo.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "lumos/base/json_value.h"

namespace lumos {
namespace {

std::vector<ValueView> events_of(const Value& trace) {
  return ValueView(trace, "demo").at("traceEvents").items().value();
}

int64_t ns(const ValueView& event, const char* key) {
  return static_cast<int64_t>(event.at(key).as_double().value() * 1000 + 0.5);
}

TEST(Demo, IsTheSameBytesEveryTime) {
  EXPECT_EQ(demo_trace({}), demo_trace({}));
  EXPECT_NE(demo_trace({}), demo_trace({3, true}));
}

TEST(Demo, NoKernelStartsBeforeItsLaunchAndNoStreamRunsTwoAtOnce) {
  const Value trace = parse_json(demo_trace({}), "demo").value();
  std::map<int64_t, int64_t> launch_ns;      // by correlation
  std::map<int64_t, int64_t> stream_end_ns;  // events of a stream are written in order of time
  size_t kernels = 0;
  for (const ValueView& event : events_of(trace)) {
    if (event.at("ph").as_string().value() != "X") continue;
    const std::string category = event.at("cat").as_string().value();
    const ValueView correlation = event.at("args").at("correlation");
    if (category == "cuda_runtime") launch_ns[correlation.as_int().value()] = ns(event, "ts");
    if (category != "kernel" && category != "gpu_memcpy") continue;
    ++kernels;
    const int64_t launched_ns = launch_ns.at(correlation.as_int().value());
    EXPECT_GT(ns(event, "ts"), launched_ns);
    int64_t& end_ns = stream_end_ns[event.at("tid").as_int().value()];
    EXPECT_GE(ns(event, "ts"), end_ns);
    end_ns = ns(event, "ts") + ns(event, "dur");
  }
  EXPECT_EQ(kernels, 165u);
  EXPECT_EQ(stream_end_ns.size(), 2u);
}

TEST(Demo, SyncRowsNameTheRecordThatAWaitWaitsFor) {
  const Value trace = parse_json(demo_trace({1, true}), "demo").value();
  std::map<int64_t, std::string> call_names;
  size_t waits = 0;
  for (const ValueView& event : events_of(trace)) {
    const std::string category = event.at("cat").as_string().value();
    if (category == "cuda_runtime") {
      call_names[event.at("args").at("correlation").as_int().value()] = event.at("name").as_string().value();
    }
    if (category != "cuda_sync" || event.at("name").as_string().value() != "Stream Wait Event") continue;
    ++waits;
    const int64_t record = event.at("args").at("wait_on_cuda_event_record_corr_id").as_int().value();
    EXPECT_EQ(call_names.at(record), "cudaEventRecord");
  }
  EXPECT_EQ(waits, 4u);
}

TEST(Demo, WithoutStepsOnlyTheFinalSynchroniseIsLeft) {
  const Value trace = parse_json(demo_trace({0, false}), "demo").value();
  EXPECT_EQ(events_of(trace).front().at("name").as_string().value(), "cudaDeviceSynchronize");
}

}  // namespace
}  // namespace lumos
