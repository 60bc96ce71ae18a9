#include "lumos/graph/job/job.h"

#include <algorithm>
#include <map>
#include <memory>

#include "lumos/base/parallel.h"
#include "lumos/graph/job/graph_file.h"

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

namespace {

/// The job whose parts the files hold: their tables, built and linked as if they had just been read.
Result<LinkedJob> join_graph_files(const std::vector<std::string>& paths, const JobOptions& options) {
  std::vector<EventTable> tables;
  std::map<int32_t, std::string> file_of_rank;
  for (const std::string& path : paths) {
    const LinkedJob part = TRY(read_graph_file(path));
    for (const RankTasks& rank : part.linked.graph.ranks) {
      const auto [found, fresh] = file_of_rank.try_emplace(rank.rank, path);
      if (!fresh) return fail(ErrorKind::kUnreadable, "{} and {} both hold rank {}", found->second, path, rank.rank);
      tables.push_back(*rank.table);
    }
  }
  std::sort(tables.begin(), tables.end(),
            [](const EventTable& a, const EventTable& b) { return a.info.rank < b.info.rank; });
  return link_job(std::move(tables), options);
}

}  // namespace

LinkedJob link_job(std::vector<EventTable> tables, const JobOptions& options) {
  std::vector<std::shared_ptr<const EventTable>> shared;
  std::vector<const EventTable*> plain;
  for (EventTable& table : tables) {
    shared.push_back(std::make_shared<const EventTable>(std::move(table)));
    plain.push_back(shared.back().get());
  }
  std::vector<ExecGraph> graphs(shared.size());
  const std::stop_token& stop = options.read.stop;
  parallel_for(
      shared.size(), options.read.threads, [&](size_t r) { graphs[r] = build_graph(shared[r], options.build); }, stop);
  if (stop.stop_requested()) return {};
  LinkedJob job;
  MatchOptions match = options.match;
  match.threads = options.read.threads;
  job.matches = match_ranks(plain, match);
  if (stop.stop_requested()) return {};
  job.transfers = split_transfers(job.matches, plain);
  if (stop.stop_requested()) return {};
  job.linked = link_ranks(std::move(graphs), job.matches, job.transfers);
  return job;
}

Result<LinkedJob> load_job(const std::vector<std::string>& paths, const JobOptions& options) {
  const auto graph_files = std::count_if(paths.begin(), paths.end(), is_graph_file);
  if (graph_files == 0) {
    TraceSet set = TRY(read_traces(paths, options.read));
    LinkedJob job = link_job(std::move(set.tables), options);
    if (options.read.stop.stop_requested()) return fail_interrupted();
    job.failures = std::move(set.failures);
    return job;
  }
  if (static_cast<size_t>(graph_files) < paths.size()) {
    return fail(ErrorKind::kUsage, "{}: a graph file does not go together with traces",
                *std::find_if(paths.begin(), paths.end(), is_graph_file));
  }
  return paths.size() == 1 ? read_graph_file(paths.front()) : join_graph_files(paths, options);
}

}  // namespace lumos
