#include "lumos/cli/traced_job.h"

#include <memory>
#include <utility>

#include "lumos/base/parallel.h"
#include "lumos/graph/build.h"

namespace lumos {

Status check_job_against_traces(const Job& job, const std::vector<EventTable>& tables, const std::string& job_file) {
  for (const EventTable& table : tables) {
    if (table.info.world_size > 0 && table.info.world_size != job.world_size) {
      return fail(ErrorKind::kUsage, "{}: world_size is {}, but {} says {}", job_file, job.world_size, table.info.file,
                  table.info.world_size);
    }
    if (table.info.rank >= job.world_size) {
      return fail(ErrorKind::kUsage, "{}: world_size is {}, but {} is of rank {}", job_file, job.world_size,
                  table.info.file, table.info.rank);
    }
  }
  return {};
}

Result<Recovery> recover_tables(std::vector<EventTable> tables, const Job& job, const Network& network, int threads) {
  std::vector<ExecGraph> graphs(tables.size());
  parallel_for(graphs.size(), threads, [&](size_t i) {
    graphs[i] = build_graph(std::make_shared<const EventTable>(std::move(tables[i])), BuildOptions{});
  });
  return recover_job(graphs, job, network);
}

}  // namespace lumos
