#include "lumos/trace/table/launch_flows.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>

namespace lumos {
namespace {

/// A table of calls and works only; processes and devices are lanes.
class Rows {
 public:
  Rows() : names_(std::make_shared<NamePool>()) { table_.names = names_; }

  uint32_t lane(bool is_gpu, int64_t pid) {
    Lane lane;
    lane.is_gpu = is_gpu;
    lane.pid = pid;
    lane.pid_text = names_->intern(std::to_string(pid));
    table_.lanes.push_back(lane);
    return static_cast<uint32_t>(table_.lanes.size() - 1);
  }
  uint32_t add(uint32_t lane, int64_t ts_ns, int64_t correlation) {
    table_.ts_ns.push_back(ts_ns);
    table_.dur_ns.push_back(10);
    table_.name.push_back(kNoName);
    table_.lane.push_back(lane);
    table_.kind.push_back(table_.lanes[lane].is_gpu ? EventKind::kKernel : EventKind::kRuntime);
    table_.correlation.push_back(correlation);
    table_.external_id.push_back(0);
    table_.detail.push_back(kNoIndex);
    return static_cast<uint32_t>(table_.size() - 1);
  }
  const EventTable& table() const { return table_; }

 private:
  std::shared_ptr<NamePool> names_;
  EventTable table_;
};

double seconds(const EventTable& table, size_t& flows) {
  const auto start = std::chrono::steady_clock::now();
  flows = launch_flows(table).size();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(LaunchFlows, OfOneProcessItIsTheLastCallBeforeTheWorkElseTheFirst) {
  EXPECT_TRUE(rc::check("as trying all calls says", [] {
    Rows rows;
    const uint32_t host = rows.lane(false, 100), gpu = rows.lane(true, 0);
    const auto calls = *rc::gen::nonEmpty<std::vector<std::pair<uint8_t, bool>>>();
    for (const auto& [ts, second] : calls) rows.add(host, ts, second ? 2 : 1);
    const auto works = *rc::gen::container<std::vector<uint8_t>>(rc::gen::arbitrary<uint8_t>());
    for (uint8_t ts : works) rows.add(gpu, ts, 1);
    const EventTable& t = rows.table();
    const std::vector<LaunchFlow> flows = launch_flows(t);
    const auto earlier = [&](uint32_t a, uint32_t b) {
      return t.ts_ns[a] != t.ts_ns[b] ? t.ts_ns[a] < t.ts_ns[b] : a < b;
    };
    for (const LaunchFlow& flow : flows) {
      uint32_t before = kNoIndex, first = kNoIndex;
      for (uint32_t c = 0; c < calls.size(); ++c) {
        if (t.correlation[c] != 1) continue;
        if (first == kNoIndex || earlier(c, first)) first = c;
        if (t.ts_ns[c] <= t.ts_ns[flow.work] && (before == kNoIndex || earlier(before, c))) before = c;
      }
      RC_ASSERT(flow.call == (before != kNoIndex ? before : first));
    }
  }));
}

// A producer that gives many calls one id: 200 000 calls and as many works of them would be 4e10 steps, minutes, were
// each work to look at each call.
TEST(LaunchFlows, ManyCallsOfOneIdCostNoMoreThanOthers) {
  for (int processes : {1, 2}) {
    Rows rows;
    std::vector<uint32_t> hosts, gpus;
    for (int p = 0; p < processes; ++p) hosts.push_back(rows.lane(false, 100 + p)), gpus.push_back(rows.lane(true, p));
    constexpr int kCalls = 200'000;
    for (int i = 0; i < kCalls; ++i) {
      rows.add(hosts[static_cast<size_t>(i % processes)], 100 * i, 7);
      rows.add(gpus[static_cast<size_t>(i % processes)], 100 * i + 50, 7);
    }
    size_t flows = 0;
    EXPECT_LT(seconds(rows.table(), flows), 10) << processes;
    EXPECT_EQ(flows, static_cast<size_t>(kCalls));
  }
}

}  // namespace
}  // namespace lumos
