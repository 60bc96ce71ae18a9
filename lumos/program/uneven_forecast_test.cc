// Predictions of jobs whose GPUs are not equally fast: what one of them waits for the others changes with the group and
// with what runs beside. The emulated sets have such GPUs, and their true steps.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "lumos/base/file.h"
#include "lumos/base/json_value.h"
#include "lumos/base/test_data.h"
#include "lumos/program/test_sets.h"
#include "lumos/program/test_synthetic.h"

namespace lumos {
namespace {

struct Steps {
  double predicted_ms = 0, true_ms = 0;

  double error_pct() const { return 100 * (predicted_ms / true_ms - 1); }
};

/// `configuration` of a set's actual.json, predicted from the set's traces by `change`.
Steps steps_of(const std::string& folder, const std::string& configuration, const Settings& change) {
  const std::string path = folder + "/actual.json";
  const Value actual = parse_json(read_file(path).value(), path).value();
  return {predicted_ms(recover_set(folder), change), *actual.find(configuration)->find("step_ms")->get<double>()};
}

// A rank that is ahead of its group waits beside the products of the backward passes, where it costs nothing. With
// groups of twice the size there is less of them to wait beside.
TEST(UnevenForecast, LargerTensorGroupsDoNotExposeWhatWasHidden) {
  const std::string folder = data_path("vcluster/44b-4x4x2-one-rank-per-stage");
  SKIP_WITHOUT_DATA(folder);
  EXPECT_NEAR(steps_of(folder, "tp8", {{"tensor_model_parallel_size", "8"}}).error_pct(), 0, 3);
}

// Of four replicas two were traced, and both wait for the others.
TEST(UnevenForecast, WaitingForReplicasThatWereNotTracedIsNoTransfer) {
  const std::string folder = data_path("vcluster/15b-2x2x4-interleaved-sp");
  SKIP_WITHOUT_DATA(folder);
  EXPECT_NEAR(steps_of(folder, "dp8", {{"data_parallel_size", "8"}}).error_pct(), 0, 2);
}

/// Makes every transfer that `chosen` picks last `wait_ns` longer, which is waiting; none of those that had to wait for
/// the one before on their stream.
template <class Chosen>
Recovery with_waits(Recovery recovery, const Chosen& chosen, int64_t wait_ns) {
  for (size_t r = 0; r < recovery.program.ranks.size(); ++r) {
    RankTransfers& transfers = recovery.transfers[r];
    const EventTable& table = *recovery.program.ranks[r].table;
    std::vector<bool> queued(transfers.transfers.size(), false);
    std::map<uint32_t, int64_t> free_at;  // by stream
    for (size_t i = 0; i < queued.size(); ++i) {
      const uint32_t row = transfers.transfers[i].row;
      queued[i] = free_at.count(table.lane[row]) > 0 && table.ts_ns[row] - free_at[table.lane[row]] < 10'000;
      free_at[table.lane[row]] = table.end_ns(row);
    }
    for (BlockTask& task : recovery.program.ranks[r].tasks) {
      if (task.kind != TaskKind::kTransfer || task.event == kNoIndex) continue;
      const uint32_t index = transfers.of_row[task.event];
      if (index == kNoIndex || queued[index] || !chosen(transfers.transfers[index])) continue;
      transfers.transfers[index].wait_ns += wait_ns;
      task.duration_ns += wait_ns;
    }
  }
  return recovery;
}

Recovery overlapping_replicas() {
  return recover_synthetic(test_job({{"num_layers", "12"},
                                     {"hidden_size", "4096"},
                                     {"num_attention_heads", "32"},
                                     {"seq_length", "2048"},
                                     {"data_parallel_size", "4"},
                                     {"micro_batch_size", "4"},
                                     {"num_microbatches", "2"},
                                     {"overlap_grad_reduce", "true"}}),
                           test_cluster());
}

// Buckets become ready every few milliseconds, and the slowest replica's a little later each time: as late as that is
// what they make the step longer, not once for each of them.
TEST(UnevenForecast, ALateReplicaIsWaitedForOnce) {
  const Recovery even = overlapping_replicas();
  constexpr int64_t kLateNs = 4'000'000;
  int64_t buckets = 0;
  const Recovery uneven = with_waits(
      even, [&](const Transfer& transfer) { return moves_parameters(transfer) && ++buckets > 0; }, kLateNs);
  ASSERT_GT(buckets, 6);
  const double longer_ms = predicted_ms(uneven, {}) - predicted_ms(even, {});
  EXPECT_LE(longer_ms, 1.5 * kLateNs / 1e6);
  EXPECT_GE(longer_ms, 0);
}

// A replica's lateness is not in the durations, so that interference must not take any of it for bytes that move.
TEST(UnevenForecast, WaitingDoesNotChangeWhatRunsBesideIt) {
  Recovery even = overlapping_replicas();
  even.loads.interference.longer_per_overlap.fill(0.3);
  const Recovery uneven = with_waits(
      even, [](const Transfer& transfer) { return moves_parameters(transfer); }, 500'000);
  const auto kernel_ms = [](const Recovery& recovery) {
    ForecastOptions options;
    options.seeds = 1;
    return forecast(recovery, recovery.job, options).value().changed.mean.kernel_ms;
  };
  EXPECT_NEAR(kernel_ms(uneven) / kernel_ms(even), 1, 0.002);
}

// A collective that everybody stands still for is waited for, however long the others take.
TEST(UnevenForecast, WaitingThatNothingRunsBesideGrowsWithTheGroup) {
  const Recovery even = recover_synthetic(test_job({{"num_layers", "4"},
                                                    {"hidden_size", "2048"},
                                                    {"num_attention_heads", "16"},
                                                    {"seq_length", "1024"},
                                                    {"tensor_model_parallel_size", "2"},
                                                    {"num_microbatches", "2"}}),
                                          test_cluster());
  const auto chosen = [](const Transfer& transfer) { return transfer.scope == CommScope::kTensor; };
  const Settings change = {{"tensor_model_parallel_size", "4"}};
  const auto longer_ms = [&](int64_t wait_ns) {
    return predicted_ms(with_waits(even, chosen, wait_ns), change) - predicted_ms(even, change);
  };
  EXPECT_GT(longer_ms(50'000), 0);
  EXPECT_GT(longer_ms(100'000), longer_ms(50'000));
  // Once it is far more than products can hide, all that is added shows.
  const double more_ms = longer_ms(2'000'000) - longer_ms(1'000'000);
  EXPECT_NEAR((longer_ms(3'000'000) - longer_ms(2'000'000)) / more_ms, 1, 0.1);
}

}  // namespace
}  // namespace lumos
