// How fast graphs are built and simulated on one core: the claims of graph/build.h and sim/simulate.h with the command
// that shows them.
//   graph_bench [TRACE]      (default: an emulated rank of a large job below $LUMOS_DATA)
// Time is processor time of the one thread that works, so that other work on the machine does not count.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>

#include "lumos/graph/rank/build.h"
#include "lumos/sim/simulate.h"
#include "lumos/trace/kineto/reader.h"

namespace {

using namespace lumos;

constexpr double kTargetBuildTasksPerSecond = 3e6;
constexpr double kTargetSimulateTasksPerSecond = 20e6;
// The best of several runs is the one that was disturbed least.
constexpr int kRuns = 7;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

template <class Body>
double best_seconds(Body body) {
  double best = 1e30;
  for (int run = 0; run < kRuns; ++run) {
    const double begin = cpu_seconds();
    body();
    best = std::min(best, cpu_seconds() - begin);
  }
  return best;
}

void report(const char* what, uint32_t tasks, double seconds, double target) {
  const double rate = tasks / seconds;
  fmt::print("{}: {} tasks in {:.1f} ms = {:.1f} M tasks/s ({:.2f}x the target)\n", what, tasks, seconds * 1e3,
             rate / 1e6, rate / target);
}

}  // namespace

int main(int argc, char** argv) {
  const char* data = std::getenv("LUMOS_DATA");
  const std::string path =
      argc > 1 ? argv[1] : std::string(data ? data : "../shared") + "/vcluster/15b-2x2x4/rank0.pt.trace.json.gz";
  if (access(path.c_str(), R_OK) != 0) {
    fmt::print("graph_bench: no data at {}; name a trace or set LUMOS_DATA\n", path);
    return 0;
  }
  Result<EventTable> read = read_trace(path, {});
  if (!read) {
    fmt::print(stderr, "graph_bench: {}\n", read.error().message);
    return 1;
  }
  const auto table = std::make_shared<const EventTable>(std::move(*read));
  ExecGraph graph;
  const double build = best_seconds([&] { graph = build_graph(table, {}); });
  report("build", graph.size(), build, kTargetBuildTasksPerSecond);
  Timeline timeline;
  const double run = best_seconds([&] { timeline = simulate(graph); });
  report("simulate", graph.size(), run, kTargetSimulateTasksPerSecond);
  fmt::print("{} edges, {} events\n", graph.edges.size(), table->size());
  return timeline.end_ns.size() == graph.size() ? 0 : 1;
}
