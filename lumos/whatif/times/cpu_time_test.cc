#include "lumos/whatif/times/cpu_time.h"

#include <gtest/gtest.h>

#include "lumos/graph/rank/build.h"
#include "lumos/whatif/times/profiler_cost.h"

namespace lumos {
namespace {

/// One thread with operators of several names; each holds two calls. All times grow with the name's length and vary by
/// `spread` of it; the profiler adds its own, the same everywhere.
class OperatorTrace {
 public:
  static constexpr int64_t kPerCallNs = 600;
  static constexpr int64_t kPerOpNs = 900;

  EventTable make() {
    table_.lanes = {{false, kNoName, kNoName, 1, 100, kNoName, kNoName}};
    for (int round = 0; round < 100; ++round) {
      for (int name = 0; name < 14; ++name) add_operator(name, round);
    }
    table_.names = names_;
    return std::move(table_);
  }

 private:
  void add_operator(int name, int round) {
    const int64_t own = 1000 * (name + 2);
    const int64_t varied = own + own * ((round * 7 + name * 3) % 11 - 5) / 50;
    const int64_t begin = now_;
    const size_t row = push(EventKind::kCpuOp, "op" + std::to_string(name));
    now_ += kPerOpNs + varied;
    for (int call = 0; call < 2; ++call) {
      const size_t call_row = push(EventKind::kRuntime, "cudaEventRecord");
      now_ += 800;
      table_.dur_ns[call_row] = 800;
      now_ += kPerCallNs;
    }
    table_.dur_ns[row] = now_ - begin;
    now_ += 5'000;
  }

  size_t push(EventKind kind, const std::string& name) {
    table_.ts_ns.push_back(now_);
    table_.dur_ns.push_back(0);
    table_.name.push_back(names_->intern(name));
    table_.lane.push_back(0);
    table_.kind.push_back(kind);
    table_.correlation.push_back(-1);
    table_.external_id.push_back(0);
    table_.detail.push_back(kNoIndex);
    return table_.size() - 1;
  }

  EventTable table_;
  std::shared_ptr<NamePool> names_ = std::make_shared<NamePool>();
  int64_t now_ = 0;
};

TEST(CpuTime, ProfilerCostIsReadOffGapsAndSpreads) {
  const ProfilerCost cost = estimate_profiler_cost(OperatorTrace().make());
  EXPECT_EQ(cost.per_call_ns, OperatorTrace::kPerCallNs);
  EXPECT_NEAR(double(cost.per_op_ns), OperatorTrace::kPerOpNs, 150);
}

TEST(CpuTime, AFewEventsTellNothing) {
  EventTable table;
  table.names = std::make_shared<NamePool>();
  const ProfilerCost cost = estimate_profiler_cost(table);
  EXPECT_EQ(cost.per_call_ns, 0);
  EXPECT_EQ(cost.per_op_ns, 0);
}

TEST(CpuTime, BookkeepingAndBlockedCallsAreNotTheProgram) {
  EventTable table = OperatorTrace().make();
  size_t blocked = 0;
  for (size_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] == EventKind::kRuntime) blocked = row;
  }
  table.dur_ns[blocked] = 1'000'000;  // the last call stood in a full queue
  const ExecGraph graph = build_graph(std::make_shared<const EventTable>(std::move(table)), {});
  const RankTasks& rank = graph.ranks[0];
  const std::vector<int64_t> cpu = program_cpu_ns(graph, rank);
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    const int64_t own_ns = cpu[task - rank.first_task];
    EXPECT_LE(own_ns, graph.duration_ns[task]);
    EXPECT_GE(own_ns, 0);
    if (graph.event[task] == blocked && graph.kind[task] == TaskKind::kCall) {
      EXPECT_EQ(own_ns, 800);
    }
  }
}

}  // namespace
}  // namespace lumos
