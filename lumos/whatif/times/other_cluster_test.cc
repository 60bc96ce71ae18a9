#include "lumos/whatif/times/other_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lumos/base/test_folder.h"
#include "lumos/sim/test_graph.h"
#include "lumos/whatif/edit/change.h"
#include "lumos/whatif/test_traces.h"

namespace lumos {
namespace {

Cluster config(const std::string& name) {
  const auto cluster = read_cluster_file(source_path("configs/clusters/" + name + ".toml"));
  EXPECT_TRUE(cluster.has_value());
  return *cluster;
}

LinkedJob small_job() {
  LinkedJob job;
  job.linked.graph = small_step();
  job.matches.rank_begin = {0, 0};
  return job;
}

TEST(OtherCluster, TheSameMachineChangesNothingAndAnUnknownOneIsRefused) {
  const LinkedJob job = small_job();
  const Cluster h100 = config("dgx-h100"), mi300x = config("mi300x");
  EXPECT_FALSE(on_other_cluster(job, nullptr, h100).has_value());  // the trace names no device
  const auto same = on_other_cluster(job, &h100, h100);
  ASSERT_TRUE(same.has_value());
  for (double factor : same->factor) EXPECT_DOUBLE_EQ(factor, 1);
  const auto other = on_other_cluster(job, &h100, mi300x);
  ASSERT_TRUE(other.has_value());
  EXPECT_TRUE(std::any_of(other->factor.begin(), other->factor.end(), [](double factor) { return factor != 1; }));
}

TEST(OtherCluster, TwiceTheMachineIsFasterForEveryKernel) {
  const std::string path = "traces/h100/qwen1.5-0.5b.json.gz";
  SKIP_WITHOUT_DATA(data_path(path));
  const LinkedJob job = real_job(path);
  Cluster twice = config("dgx-h100");
  const auto same = on_other_cluster(job, nullptr, twice);
  ASSERT_TRUE(same.has_value());
  for (double factor : same->factor) ASSERT_DOUBLE_EQ(factor, 1);
  const Cluster once = twice;
  twice.gpu.matrix_tflops *= 2;
  twice.gpu.fp32_tflops *= 2;
  twice.gpu.memory_gb_per_s *= 2;
  twice.gpu.kernel_floor_us /= 2;
  const auto faster = on_other_cluster(job, &once, twice);
  ASSERT_TRUE(faster.has_value());
  for (uint32_t task = 0; task < job.linked.graph.size(); ++task) {
    ASSERT_LE(faster->factor[task], faster->touched[task] ? 0.99 : 1);
  }
}

TEST(KernelTimes, MeasuredTimesWinOverOtherChangesAndTheLastRowOverEarlierOnes) {
  const TempFolder folder;
  const std::string path =
      folder.write("kernels.csv", "kernel,op,time_us\n.*gemm.*,,9\n.*gemm.*,aten::mm,0.25\nnone,,1\n");
  ChangeList list;
  list.changes.push_back(*parse_change("kernel-times", path));
  list.scales.push_back(*parse_scale("kernel:.*gemm.*=7"));
  const auto changed = apply_changes(small_job(), list);
  ASSERT_TRUE(changed.has_value()) << changed.error().message;
  EXPECT_EQ(changed->graph.duration_ns[8], 250);
  EXPECT_EQ(changed->matches.back().tasks, 1u);
  ASSERT_EQ(changed->matches.back().notes.size(), 1u);
  EXPECT_NE(changed->matches.back().notes[0].find(":4 means no kernel"), std::string::npos);
}

TEST(KernelTimes, WrongFilesAreExplainedByLine) {
  const TempFolder folder;
  const std::string path = folder.path("wrong.csv");
  for (const char* text : {"kernel\na\n", "kernel,time_us,speed\na,1,2\n", "kernel,time_us\na,-1\n",
                           "kernel,time_us\n(,1\n", "kernel,time_us\na,fast\n"}) {
    folder.write("wrong.csv", text);
    const auto times = read_kernel_times(path);
    ASSERT_FALSE(times.has_value()) << text;
    EXPECT_EQ(times.error().kind, ErrorKind::kUsage);
  }
  EXPECT_FALSE(read_kernel_times(path + ".none").has_value());
}

TEST(KernelTimes, AGridTellsKernelsOfOneNameApart) {
  const std::string trace = "traces/h100/bert-small.json.gz";
  SKIP_WITHOUT_DATA(data_path(trace));
  const TempFolder folder;
  const LinkedJob job = real_job(trace);
  const std::string path = folder.write("grid.csv", "kernel,grid,time_us\n.*,564x1x1,3\n");
  const Retiming times = with_kernel_times(job, *read_kernel_times(path));
  const auto touched = std::count(times.touched.begin(), times.touched.end(), true);
  EXPECT_GT(touched, 0);
  folder.write("grid.csv", "kernel,time_us\n.*,3\n");
  const Retiming all = with_kernel_times(job, *read_kernel_times(path));
  EXPECT_LT(touched, std::count(all.touched.begin(), all.touched.end(), true));
}

}  // namespace
}  // namespace lumos
