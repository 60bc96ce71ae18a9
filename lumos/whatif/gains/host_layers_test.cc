#include "lumos/whatif/gains/host_layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "lumos/graph/test_table.h"
#include "lumos/sim/simulate.h"

namespace lumos {
namespace {

constexpr int64_t kUs = 1000;

/// A step of a model of `layers` layers: embedding, layers forward, head, layers backward with a gradient each of 1000
/// parameters, the embedding's gradient of 500, and an optimizer step of 100 us per 1000 parameters.
std::vector<EventTable> traced(int layers) {
  TestTable t;
  const uint32_t main = t.thread(1);
  int64_t now = 0;
  const auto op = [&](const std::string& name, int64_t length_us) {
    const uint32_t row = t.op(main, name, now, length_us * kUs);
    now += length_us * kUs;
    return row;
  };
  std::vector<std::pair<uint32_t, int64_t>> gradients;
  for (int step = 0; step < 3; ++step) {
    const int64_t begin = now;
    op("aten::embedding", 30);
    for (int layer = 0; layer < layers; ++layer) op("aten::layer_norm", 20), op("aten::linear", 200);
    op("aten::cross_entropy_loss", 100);
    for (int layer = 0; layer < layers; ++layer) {
      op("autograd::engine::evaluate_function: AddmmBackward0", 300);
      gradients.emplace_back(op("torch::autograd::AccumulateGrad", 10), 1000);
    }
    op("autograd::engine::evaluate_function: EmbeddingBackward0", 50);
    gradients.emplace_back(op("torch::autograd::AccumulateGrad", 10), 500);
    const int64_t update_us = layers * 100 + 50;
    t.row(EventKind::kAnnotation, "Optimizer.step#AdamW.step", main, now, update_us * kUs);
    op("aten::add_", update_us);
    t.step(main, step, begin, now - begin);
  }
  EventTable table = *t.finish();
  auto pool = std::make_shared<NamePool>();
  for (uint32_t id = 1; id < table.names->size(); ++id) pool->intern(table.names->text(NameId{id}));
  for (const auto& [row, elements] : gradients) {
    OpDetail detail;
    detail.input_dims = pool->intern("[[" + std::to_string(elements) + "]]");
    table.detail[row] = static_cast<uint32_t>(table.ops.size());
    table.ops.push_back(detail);
  }
  table.names = pool;
  table.info.rank = 0;
  std::vector<EventTable> tables;
  tables.push_back(std::move(table));
  return tables;
}

int64_t length_of(const ExecGraph& graph) {
  const Timeline timeline = simulate(graph);
  return *std::max_element(timeline.end_ns.begin(), timeline.end_ns.end());
}

TEST(HostLayers, MoreLayersTakeWhatAJobOfThatManyTakes) {
  const LinkedJob four = link_job(traced(4), JobOptions{});
  for (int layers : {2, 8, 12}) {
    const Result<ExecGraph> changed = with_layers(four, 4, layers);
    ASSERT_TRUE(changed) << changed.error().message;
    const LinkedJob real = link_job(traced(layers), JobOptions{});
    EXPECT_NEAR(static_cast<double>(length_of(*changed)), static_cast<double>(length_of(real.linked.graph)),
                0.01 * static_cast<double>(length_of(real.linked.graph)))
        << layers;
  }
}

TEST(HostLayers, TheSameNumberChangesNothing) {
  const LinkedJob job = link_job(traced(3), JobOptions{});
  EXPECT_EQ(with_layers(job, 3, 3)->duration_ns, job.linked.graph.duration_ns);
}

TEST(HostLayers, SaysWhenNothingRepeatsThatOften) {
  const LinkedJob job = link_job(traced(4), JobOptions{});
  const Result<ExecGraph> changed = with_layers(job, 5, 10);
  ASSERT_FALSE(changed);
  EXPECT_NE(changed.error().message.find("repeats 5 times"), std::string::npos);
}

TEST(HostLayers, KnowsJobsWithoutGpus) {
  EXPECT_TRUE(runs_on_cpus_alone(link_job(traced(2), JobOptions{})));
  TestTable t;
  t.launch(t.thread(), 0, t.stream(7), "kernel", 5000, 1000);
  std::vector<EventTable> tables = {*t.finish()};
  EXPECT_FALSE(runs_on_cpus_alone(link_job(std::move(tables), JobOptions{})));
}

}  // namespace
}  // namespace lumos
