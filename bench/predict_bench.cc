// How long a prediction takes once the graphs are built: recover, lower and simulate. The claim of docs/program.md.
//   predict_bench [TRACES]      (default: an emulated job of 16 ranks below $LUMOS_DATA, predicted for 512)
// Wall time with all processors.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "lumos/base/parallel.h"
#include "lumos/graph/rank/build.h"
#include "lumos/model/job/job_file.h"
#include "lumos/program/change/retime.h"
#include "lumos/program/predict.h"
#include "lumos/sim/simulate.h"
#include "lumos/trace/kineto/reader.h"

namespace {

using namespace lumos;

constexpr double kTargetSeconds = 2;
constexpr int kRuns = 3;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// One simulation of the changed job from the graphs of the traced one; the number of its tasks.
Result<uint32_t> predict_once(const std::vector<ExecGraph>& graphs, const Job& base, const Job& target) {
  const Recovery recovery = TRY(recover_job(graphs, base, default_network()));
  const TaskDurations durations = retime(recovery, target, recovery.network, {});
  const LowerPlan plan = TRY(plan_step(recovery, target, recovery.network, 0));
  const ExecGraph graph = TRY(lower(recovery.program, plan, durations));
  const Timeline timeline = simulate(graph);
  return static_cast<uint32_t>(timeline.end_ns.size());
}

Status run(const std::string& folder) {
  const JobFile file = TRY(read_job_file(folder + "/config.json"));
  TraceSet set = TRY(read_traces({folder}, {}));
  std::vector<ExecGraph> graphs(set.tables.size());
  parallel_for(graphs.size(), 0, [&](size_t i) {
    graphs[i] = build_graph(std::make_shared<const EventTable>(std::move(set.tables[i])), {});
  });
  const Job target = TRY(change_job(file.job, {{"tensor_model_parallel_size", "2"},
                                               {"pipeline_model_parallel_size", "8"},
                                               {"data_parallel_size", "32"},
                                               {"num_microbatches", "32"}}));
  double best = 1e30;
  uint32_t tasks = 0;
  for (int i = 0; i < kRuns; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    tasks = TRY(predict_once(graphs, file.job, target));
    best = std::min(best, seconds_since(begin));
  }
  fmt::print("recover + lower + simulate of {} ranks for 2x8x32: {} tasks in {:.2f} s (bound: {} s)\n", graphs.size(),
             tasks, best, kTargetSeconds);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const char* data = std::getenv("LUMOS_DATA");
  const std::string folder = argc > 1 ? argv[1] : std::string(data ? data : "../shared") + "/vcluster/15b-2x2x4";
  if (access(folder.c_str(), R_OK) != 0) {
    fmt::print("predict_bench: no data at {}; name a folder of traces or set LUMOS_DATA\n", folder);
    return 0;
  }
  if (const Status done = run(folder); !done) {
    fmt::print(stderr, "predict_bench: {}\n", done.error().message);
    return 1;
  }
  return 0;
}
