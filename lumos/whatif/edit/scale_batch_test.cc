#include "lumos/whatif/edit/scale_batch.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumos/sim/test_graph.h"
#include "lumos/whatif/edit/change.h"
#include "lumos/whatif/test_traces.h"
#include "lumos/whatif/times/batch_dimension.h"

namespace lumos {
namespace {

/// Operators in a row on one thread, each with shapes, and one launching call inside each.
class Operators {
 public:
  /// Returns the row of the launching call.
  uint32_t add(const std::string& name, const std::string& dims, const std::string& inner = "",
               const std::string& inner_dims = "") {
    const int64_t at = 100 * calls_++;
    op(name, dims, at, 90);
    if (!inner.empty()) op(inner, inner_dims, at + 10, 70);
    return graph_.row(EventKind::kRuntime, "cudaLaunchKernel", 0, at + 20, 10, calls_);
  }

  EventTable& finish() {
    EventTable& table = graph_.table();
    job_ = graph_.finish({});
    return table;
  }

 private:
  void op(const std::string& name, const std::string& dims, int64_t at, int64_t ns) {
    const uint32_t row = graph_.row(EventKind::kCpuOp, name, 0, at, ns);
    EventTable& table = graph_.table();
    OpDetail detail;
    detail.input_dims = graph_.names().intern(dims);
    table.detail[row] = static_cast<uint32_t>(table.ops.size());
    table.ops.push_back(detail);
  }

  TestGraph graph_{1, 1};
  ExecGraph job_;
  int calls_ = 0;
};

TEST(BatchDimension, ConvolutionsAndEmbeddingsSayIt) {
  Operators ops;
  const uint32_t conv = ops.add("aten::conv2d", "[[64, 3, 32, 32], [16, 3, 3, 3], [16]]");
  const uint32_t flat = ops.add("aten::addmm", "[[10], [64, 16384], [16384, 10]]");
  const uint32_t constant = ops.add("aten::arange", "[[], [], []]");
  const EventTable& table = ops.finish();
  const Nesting nested = nesting(table);
  const ShapeTable shapes(table);
  const std::vector<LaunchWeight> launches = {{conv, 100}, {flat, 500}, {constant, 1}};
  BatchEvidence evidence;
  evidence.add(table, nested, shapes, launches);
  EXPECT_EQ(evidence.batch_size(), 64);
  const BatchDimension batch(table, nested, shapes, launches, evidence, 64);
  EXPECT_EQ(batch.use_of(conv), BatchUse::kHolds);
  EXPECT_EQ(batch.use_of(flat), BatchUse::kHolds);
  EXPECT_EQ(batch.use_of(constant), BatchUse::kNone);
}

TEST(BatchDimension, CopiesOfParametersDoNotHoldItEvenWhenTheyAreAsLarge) {
  Operators ops;
  const std::string linear = "[[32, 128, 64], [32, 64], [32]]";  // as many outputs as samples
  const uint32_t input = ops.add("aten::linear", linear, "aten::copy_", "[[32, 128, 64], [32, 128, 64], []]");
  const uint32_t weight = ops.add("aten::linear", linear, "aten::copy_", "[[32, 64], [32, 64], []]");
  const uint32_t bias = ops.add("aten::linear", linear, "aten::copy_", "[[32], [32], []]");
  const uint32_t step = ops.add("Optimizer.step#SGD.step", "[]", "aten::add_", "[[32, 128, 64], [32, 128, 64], []]");
  const EventTable& table = ops.finish();
  const Nesting nested = nesting(table);
  const ShapeTable shapes(table);
  const std::vector<LaunchWeight> launches = {{input, 1}, {weight, 1}, {bias, 1}, {step, 1}};
  BatchEvidence evidence;
  evidence.add(table, nested, shapes, launches);
  EXPECT_EQ(evidence.batch_size(), 32);
  const BatchDimension batch(table, nested, shapes, launches, evidence, 32);
  EXPECT_EQ(batch.use_of(input), BatchUse::kHolds);
  EXPECT_EQ(batch.use_of(weight), BatchUse::kNone);
  EXPECT_EQ(batch.use_of(bias), BatchUse::kNone);
  EXPECT_EQ(batch.use_of(step), BatchUse::kNone);
}

TEST(BatchDimension, AWeightsGradientSumsOverIt) {
  Operators ops;
  const uint32_t forward = ops.add("aten::linear", "[[8, 512, 768], [3072, 768], [3072]]");
  const uint32_t weight = ops.add("aten::mm", "[[3072, 4096], [4096, 768]]");
  const uint32_t input = ops.add("aten::mm", "[[4096, 3072], [3072, 768]]");
  const EventTable& table = ops.finish();
  const Nesting nested = nesting(table);
  const ShapeTable shapes(table);
  const std::vector<LaunchWeight> launches = {{forward, 1}, {weight, 1}, {input, 1}};
  BatchEvidence evidence;
  evidence.add(table, nested, shapes, launches);
  const BatchDimension batch(table, nested, shapes, launches, evidence, evidence.batch_size());
  EXPECT_EQ(batch.use_of(weight), BatchUse::kSums);
  EXPECT_EQ(batch.use_of(input), BatchUse::kHolds);
}

TEST(BatchDimension, StagesWithoutAnEmbeddingLearnFromThoseThatHaveOne) {
  Operators first_stage, last_stage;
  const uint32_t lookup = first_stage.add("aten::embedding", "[[50000, 768], [4, 512], [], [], []]");
  const uint32_t norm = last_stage.add("Norm", "[[512, 4, 768], [768], [768]]");
  const uint32_t product = last_stage.add("aten::mm", "[[2048, 768], [768, 768]]");
  const EventTable& first = first_stage.finish();
  const EventTable& last = last_stage.finish();
  const Nesting first_nested = nesting(first), last_nested = nesting(last);
  const ShapeTable first_shapes(first), last_shapes(last);
  const std::vector<LaunchWeight> launches = {{norm, 1}, {product, 1}};
  BatchEvidence evidence;
  evidence.add(first, first_nested, first_shapes, {{lookup, 1}});
  evidence.add(last, last_nested, last_shapes, launches);
  EXPECT_EQ(evidence.batch_size(), 4);
  const BatchDimension batch(last, last_nested, last_shapes, launches, evidence, 4);
  EXPECT_EQ(batch.use_of(norm), BatchUse::kHolds);
  EXPECT_EQ(batch.use_of(product), BatchUse::kHolds);
  EXPECT_TRUE(batch.moves_activations(512 * 4 * 768));
  EXPECT_FALSE(batch.moves_activations(768 * 768));
}

TEST(ScaleBatch, TracesWithoutShapesAreRefused) {
  LinkedJob job;
  job.linked.graph = small_step();
  job.matches.rank_begin = {0, 0};
  const auto scaled = scale_batch(job, {4, 0});
  ASSERT_FALSE(scaled.has_value());
  EXPECT_EQ(scaled.error().kind, ErrorKind::kUsage);
}

double scaled_kernels_ms(const LinkedJob& job, std::string_view factor) {
  ChangeList list;
  list.changes.push_back(*parse_change("scale-batch", factor));
  const auto changed = apply_changes(job, list);
  EXPECT_TRUE(changed.has_value()) << (changed ? "" : changed.error().message);
  return changed ? kernel_time_ms(changed->graph) : 0;
}

TEST(ScaleBatch, AMeasuredBatchPredictsTheOtherMeasuredOne) {
  const std::string small = "traces/particle-transformer-a100/batch128.json.gz";
  const std::string large = "traces/particle-transformer-a100/batch512.json.gz";
  SKIP_WITHOUT_DATA(data_path(large));
  const LinkedJob small_job = real_job(small), large_job = real_job(large);
  const double small_ms = kernel_time_ms(small_job.linked.graph), large_ms = kernel_time_ms(large_job.linked.graph);
  EXPECT_NEAR(scaled_kernels_ms(small_job, "4") / large_ms, 1, 0.10);
  EXPECT_NEAR(scaled_kernels_ms(large_job, "0.25") / small_ms, 1, 0.10);
  // In proportion it would be too long: what is fixed is not four times as long.
  EXPECT_GT(4 * small_ms, 1.1 * large_ms);
  EXPECT_DOUBLE_EQ(scaled_kernels_ms(small_job, "1"), small_ms);
}

TEST(ScaleBatch, MoreSamplesNeverTakeLessAndEquallyManyTheSame) {
  for (const char* path : {"traces/h100/qwen1.5-0.5b.json.gz", "traces/mi300x/qwen1.5-0.5b.json.gz",
                           "traces/resnet50-2021-schema/workers0.json.gz"}) {
    SKIP_WITHOUT_DATA(data_path(path));
    const LinkedJob job = real_job(path);
    std::vector<double> before(job.linked.graph.size(), 0);
    for (double factor : {0.25, 0.5, 1.0, 2.0, 8.0}) {
      const auto scaled = scale_batch(job, {factor, 0});
      ASSERT_TRUE(scaled.has_value()) << path;
      for (uint32_t task = 0; task < before.size(); ++task) {
        ASSERT_GE(scaled->factor[task], before[task] * (1 - 1e-12)) << path << " task " << task << " x" << factor;
        ASSERT_NEAR(scaled->factor[task], 1, factor == 1 ? 1e-12 : 100);
      }
      before = scaled->factor;
    }
  }
}

}  // namespace
}  // namespace lumos
