#include "lumos/program/recover/launch_collective.h"

#include <gtest/gtest.h>

#include "lumos/program/test_recovery.h"

namespace lumos {
namespace {

constexpr std::string_view kMessages = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
constexpr std::string_view kAnything = "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)";

CollectiveContext context_of(std::string_view kernel, std::string_view around = "", std::string_view asked = "") {
  CollectiveContext context;
  context.kernel_name = kernel;
  context.around = hint_of_name(around);
  context.asked = hint_of_name(asked);
  return context;
}

CollectiveKind with_metadata(std::string_view collective, CollectiveContext context) {
  context.has_metadata = true;
  context.metadata = hint_of_metadata(collective);
  return collective_of(context).kind;
}

TEST(LaunchCollective, ACoalescedCollectiveIsNoMessage) {
  EXPECT_EQ(with_metadata("allgather_into_tensor_coalesced", context_of(kAnything)), CollectiveKind::kAllGather);
  EXPECT_EQ(with_metadata("reduce_scatter_tensor_coalesced", context_of(kAnything)), CollectiveKind::kReduceScatter);
  EXPECT_EQ(with_metadata("allreduce_coalesced", context_of(kAnything)), CollectiveKind::kAllReduce);
  EXPECT_EQ(with_metadata("coalesced", context_of("ncclDevKernel_AllGather_RING_LL(x)")), CollectiveKind::kAllGather);
  EXPECT_EQ(with_metadata("coalesced", context_of(kMessages)), CollectiveKind::kSendRecv);
}

TEST(LaunchCollective, RowsAroundALaunchTellWhatItsKernelDoesNot) {
  for (std::string_view kernel : {kAnything, std::string_view("rcclGenericKernel<1, false>")}) {
    EXPECT_EQ(collective_of(context_of(kernel, "nccl:all_reduce")).kind, CollectiveKind::kAllReduce);
    EXPECT_EQ(collective_of(context_of(kernel, "c10d::_reduce_scatter_base_")).kind, CollectiveKind::kReduceScatter);
    EXPECT_EQ(collective_of(context_of(kernel, "nccl:coalesced", "c10d::recv_")).kind, CollectiveKind::kSendRecv);
    EXPECT_EQ(collective_of(context_of(kernel, "nccl:coalesced", "c10d::_allgather_base_")).kind,
              CollectiveKind::kAllGather);
    EXPECT_EQ(collective_of(context_of(kernel, "nccl:coalesced")).kind, CollectiveKind::kSendRecv);
    EXPECT_EQ(collective_of(context_of(kernel, "aten::copy_")).kind, CollectiveKind::kUnknown);
  }
  EXPECT_EQ(collective_of(context_of(kMessages, "nccl:all_to_all")).kind, CollectiveKind::kAllToAll);
  EXPECT_EQ(collective_of(context_of(kMessages)).kind, CollectiveKind::kSendRecv);
}

TEST(LaunchCollective, DirectionsAreToldByOneCallAlone) {
  const CollectiveHint sent = collective_of(context_of(kAnything, "nccl:send"));
  EXPECT_TRUE(sent.sends && !sent.receives);
  const CollectiveHint both = collective_of(context_of(kAnything, "nccl:coalesced", "c10d::recv_"));
  EXPECT_FALSE(both.sends || both.receives);
}

/// The labels and kinds of all launches.
void expect_same_program(const std::vector<EventTable>& tables, const std::vector<EventTable>& edited) {
  for (size_t r = 0; r < tables.size(); ++r) {
    const RecoveredRank before = recover(tables[r], hints_from_groups(tables[r]));
    const RecoveredRank after = recover(edited[r], hints_from_groups(edited[r]));
    EXPECT_EQ(before.labels, after.labels);
    ASSERT_EQ(before.list.launches.size(), after.list.launches.size());
    for (size_t i = 0; i < before.list.launches.size(); ++i)
      ASSERT_EQ(before.list.launches[i].collective, after.list.launches[i].collective) << i;
  }
}

std::vector<Job> pipelined_jobs() {
  const std::vector<JobSetting> common = {{"tensor_model_parallel_size", "2"},
                                          {"pipeline_model_parallel_size", "2"},
                                          {"data_parallel_size", "2"},
                                          {"use_distributed_optimizer", "true"},
                                          {"num_microbatches", "4"}};
  std::vector<JobSetting> interleaved = common;
  interleaved.insert(interleaved.end(), {{"virtual_pipeline_model_parallel_size", "2"},
                                         {"pipeline_schedule", "interleaved"},
                                         {"overlap_p2p_comm", "true"}});
  return {test_job(common), test_job(interleaved)};
}

TEST(LaunchCollective, OneKernelForEverythingHidesNoPhase) {
  for (const Job& job : pipelined_jobs()) {
    const std::vector<EventTable> tables = synthetic_tables(job);
    std::vector<EventTable> edited;
    for (const EventTable& table : tables)
      edited.push_back(renamed(table, [](std::string_view name) {
        return std::string(name.starts_with("ncclDevKernel") ? kAnything : name);
      }));
    expect_same_program(tables, edited);
  }
}

TEST(LaunchCollective, CoalescedCollectivesStayInTheOptimizer) {
  for (const Job& job : pipelined_jobs()) {
    const std::vector<EventTable> tables = synthetic_tables(job);
    std::vector<EventTable> edited;
    for (const EventTable& table : tables)
      edited.push_back(renamed(table, [](std::string_view name) -> std::string {
        if (name == "_reduce_scatter_base") return "reduce_scatter_tensor_coalesced";
        return name == "_allgather_base" ? "allgather_into_tensor_coalesced" : std::string(name);
      }));
    expect_same_program(tables, edited);
  }
}

}  // namespace
}  // namespace lumos
