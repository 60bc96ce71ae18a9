// How fast ranks become one job and how much memory a large one takes: the claims of graph/link.h and graph/match.h.
//   link_bench [FOLDER] [RANKS]     (default $LUMOS_DATA/vcluster/15b-2x2x4, repeated to 512 ranks)
// The large job is the folder's, repeated with its own collectives; each size runs in a process of its own, so that its
// peak memory is its own.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "lumos/base/parallel.h"
#include "lumos/graph/job/job.h"
#include "lumos/sim/simulate.h"

namespace {

using namespace lumos;

class Stopwatch {
 public:
  double seconds() {
    const auto now = std::chrono::steady_clock::now();
    const double passed = std::chrono::duration<double>(now - begin_).count();
    begin_ = now;
    return passed;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Processor time of this process so far: on a busy machine the only figure that repeats.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/// `copies` times the same ranks, each copy with its own collectives.
JobMatches repeat(const JobMatches& once, uint32_t copies) {
  JobMatches out;
  const uint32_t ranks = static_cast<uint32_t>(once.clocks.size());
  out.groups = once.groups;
  out.rank_begin.push_back(0);
  out.match_begin.push_back(0);
  for (uint32_t copy = 0; copy < copies; ++copy) {
    const uint32_t kernels = static_cast<uint32_t>(out.kernels.size());
    const uint32_t matches = static_cast<uint32_t>(out.size());
    for (CommKernel kernel : once.kernels) {
      kernel.rank_index += copy * ranks;
      if (kernel.match != kNoIndex) kernel.match += matches;
      out.kernels.push_back(kernel);
    }
    for (uint32_t r = 0; r < ranks; ++r) {
      out.clocks.push_back(once.clocks[r]);
      out.rank_begin.push_back(kernels + once.rank_begin[r + 1]);
    }
    const uint32_t members = static_cast<uint32_t>(out.members.size());
    for (uint32_t k : once.members) out.members.push_back(kernels + k);
    for (size_t m = 1; m < once.match_begin.size(); ++m) out.match_begin.push_back(members + once.match_begin[m]);
  }
  return out;
}

template <class T>
std::vector<T> repeat(const std::vector<T>& once, uint32_t copies) {
  std::vector<T> out;
  for (uint32_t copy = 0; copy < copies; ++copy) out.insert(out.end(), once.begin(), once.end());
  return out;
}

int measure(const std::vector<std::shared_ptr<const EventTable>>& tables, uint32_t copies) {
  std::vector<const EventTable*> plain;
  for (const auto& table : tables) plain.push_back(table.get());
  std::vector<ExecGraph> graphs(tables.size() * copies);
  Stopwatch watch;
  parallel_for(graphs.size(), 0, [&](size_t i) { graphs[i] = build_graph(tables[i % tables.size()], {}); });
  const double build = watch.seconds();
  const JobMatches once = match_ranks(plain, {});
  const TransferColumns columns_once = split_transfers(once, plain);
  const double match = watch.seconds();
  JobMatches matches = repeat(once, copies);
  TransferColumns columns;
  columns.transfer_ns = repeat(columns_once.transfer_ns, copies);
  columns.wait_ns = repeat(columns_once.wait_ns, copies);
  columns.hidden_ns = repeat(columns_once.hidden_ns, copies);
  columns.source = repeat(columns_once.source, copies);
  columns.settle_ns = columns_once.settle_ns;
  watch.seconds();
  const double cpu_before = cpu_seconds();
  const LinkedGraph linked = link_ranks(std::move(graphs), matches, columns);
  const double link = watch.seconds();
  const Timeline timeline = simulate(linked.graph);
  const double run = watch.seconds();
  const double cpu = cpu_seconds() - cpu_before;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{} ranks, {:.1f} M tasks, {:.1f} M edges, {} rendezvous\n", tables.size() * copies,
             linked.graph.size() / 1e6, linked.graph.edges.size() / 1e6, linked.counts.rendezvous);
  fmt::print("  build {:.2f} s; match {:.3f} s, link {:.2f} s, simulate {:.2f} s: {:.2f} s together\n", build, match,
             link, run, match + link + run);
  fmt::print("  link and simulate {:.2f} s of one processor; peak {:.2f} GB\n", cpu, double(usage.ru_maxrss) / 1e6);
  return timeline.end_ns.empty() ? 1 : 0;
}

int in_child(const std::vector<std::shared_ptr<const EventTable>>& tables, uint32_t copies) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int code = measure(tables, copies);
    std::fflush(stdout);
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* data = std::getenv("LUMOS_DATA");
  const std::string folder =
      argc > 1 ? argv[1] : std::string(data != nullptr ? data : "../shared") + "/vcluster/15b-2x2x4";
  const size_t ranks = argc > 2 ? static_cast<size_t>(std::atoi(argv[2])) : 512;
  Result<TraceSet> set = read_traces({folder}, {});
  if (!set) {
    fmt::print(stderr, "link_bench: {}\n", set.error().message);
    return 0;  // the data lies outside the repository and may be absent
  }
  std::vector<std::shared_ptr<const EventTable>> tables;
  for (EventTable& table : set->tables) tables.push_back(std::make_shared<const EventTable>(std::move(table)));
  const uint32_t copies = static_cast<uint32_t>(std::max<size_t>(1, ranks / tables.size()));
  return in_child(tables, 1) | in_child(tables, copies);
}
