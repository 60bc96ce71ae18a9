// Jobs that are synthesized, recovered from their traces and predicted, for tests that compare a predicted job with the
// same job synthesized. Tests only.
#pragma once

#include <memory>
#include <vector>

#include "lumos/base/test_data.h"
#include "lumos/graph/rank/build.h"
#include "lumos/model/cluster/cluster.h"
#include "lumos/model/job/test_jobs.h"
#include "lumos/program/predict.h"
#include "lumos/program/synth/synthetic_job.h"

namespace lumos {

using Settings = std::vector<JobSetting>;

/// test_job() with `settings`, and those of one test on top.
inline Job test_job(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return test_job(settings);
}

inline SyntheticOptions of_all_stages(const Job& job) {
  SyntheticOptions options;
  options.ranks = ranks_of_stages(job);
  return options;
}

inline Recovery recover_synthetic(const Job& job, const Cluster& cluster) {
  SyntheticJob made = simulate_job(job, cluster, of_all_stages(job)).value();
  std::vector<ExecGraph> graphs;
  for (const int64_t rank : ranks_of_stages(job))
    graphs.push_back(build_graph(
        std::make_shared<const EventTable>(synthetic_table(made, job, cluster, rank, of_all_stages(job).steps)), {}));
  return recover_job(graphs, job, network_of(cluster)).value();
}

inline double synthetic_step_ms(const Job& job, const Cluster& cluster) {
  SyntheticJob made = simulate_job(job, cluster, of_all_stages(job)).value();
  return step_ms(synthetic_table(made, job, cluster, 0, of_all_stages(job).steps));
}

inline double predicted_ms(const Recovery& recovery, const Settings& settings) {
  ForecastOptions options;
  options.seeds = 2;
  return forecast(recovery, change_job(recovery.job, settings).value(), options).value().changed.mean.step_ms;
}

}  // namespace lumos
