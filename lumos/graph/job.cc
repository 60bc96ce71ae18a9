#include "lumos/graph/job.h"

#include <memory>

#include "lumos/base/parallel.h"
#include "lumos/graph/graph_file.h"

namespace lumos {

std::vector<int64_t> LinkedJob::clock_offsets_ns() const {
  std::vector<int64_t> offsets;
  const auto& ranks = linked.graph.ranks;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const int64_t base_ns = ranks[r].table->info.base_ns - ranks[0].table->info.base_ns;
    offsets.push_back(base_ns - matches.clocks[r].offset_ns);
  }
  return offsets;
}

LinkedJob link_job(std::vector<EventTable> tables, const JobOptions& options) {
  std::vector<std::shared_ptr<const EventTable>> shared;
  std::vector<const EventTable*> plain;
  for (EventTable& table : tables) {
    shared.push_back(std::make_shared<const EventTable>(std::move(table)));
    plain.push_back(shared.back().get());
  }
  std::vector<ExecGraph> graphs(shared.size());
  parallel_for(shared.size(), options.read.threads,
               [&](size_t r) { graphs[r] = build_graph(shared[r], options.build); });
  LinkedJob job;
  MatchOptions match = options.match;
  match.threads = options.read.threads;
  job.matches = match_ranks(plain, match);
  job.transfers = split_transfers(job.matches, plain);
  job.linked = link_ranks(std::move(graphs), job.matches, job.transfers);
  return job;
}

Result<LinkedJob> load_job(const std::vector<std::string>& paths, const JobOptions& options) {
  for (const std::string& path : paths) {
    if (!is_graph_file(path)) continue;
    if (paths.size() > 1) {
      return fail(ErrorKind::kUsage, "{}: a graph file holds a whole job; give it alone", path);
    }
    return read_graph_file(path);
  }
  TraceSet set = TRY(read_traces(paths, options.read));
  LinkedJob job = link_job(std::move(set.tables), options);
  job.failures = std::move(set.failures);
  return job;
}

}  // namespace lumos
