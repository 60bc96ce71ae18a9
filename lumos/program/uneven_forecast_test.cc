// Predictions of jobs whose GPUs are not equally fast: what one of them waits for the others changes with the group and
// with what runs beside. The emulated sets have such GPUs, and their true steps.
#include <gtest/gtest.h>

#include "lumos/base/file.h"
#include "lumos/base/json_value.h"
#include "lumos/base/test_data.h"
#include "lumos/graph/build.h"
#include "lumos/model/job_file.h"
#include "lumos/program/predict.h"
#include "lumos/program/test_synthetic.h"
#include "lumos/trace/reader.h"

namespace lumos {
namespace {

struct Steps {
  double predicted_ms = 0, true_ms = 0;

  double error_pct() const { return 100 * (predicted_ms / true_ms - 1); }
};

/// `configuration` of a set's actual.json, predicted from the set's traces by `change`.
Steps steps_of(const std::string& folder, const std::string& configuration, const Settings& change) {
  const JobFile file = read_job_file(folder + "/config.json").value();
  TraceSet set = read_traces({folder}, {}).value();
  std::vector<ExecGraph> graphs;
  for (EventTable& table : set.tables)
    graphs.push_back(build_graph(std::make_shared<const EventTable>(std::move(table)), {}));
  const Recovery recovery = recover_job(graphs, file.job, default_network()).value();
  const std::string path = folder + "/actual.json";
  const Value actual = parse_json(read_file(path).value(), path).value();
  return {predicted_ms(recovery, change), *actual.find(configuration)->find("step_ms")->get<double>()};
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

}  // namespace
}  // namespace lumos
