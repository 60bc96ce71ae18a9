#include "lumos/cli/traced_job.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "lumos/base/parallel.h"
#include "lumos/base/toml.h"
#include "lumos/graph/build.h"
#include "lumos/program/traced_facts.h"

namespace lumos {

namespace {

/// One rank of each stage, as far as the job file knows them: replicas and tensor-parallel ranks say the same.
std::vector<const EventTable*> ranks_that_differ(const std::vector<EventTable>& tables, const Job& job) {
  std::vector<const EventTable*> some;
  std::vector<int64_t> stages;
  for (const EventTable& table : tables) {
    const int64_t stage = place_of(job, table.info.rank).stage;
    if (std::find(stages.begin(), stages.end(), stage) != stages.end()) continue;
    stages.push_back(stage);
    some.push_back(&table);
  }
  return some;
}

}  // namespace

Status check_job_against_traces(const Job& job, const std::vector<EventTable>& tables, const std::string& job_file,
                                int threads) {
  for (const EventTable& table : tables) {
    if (table.info.rank >= job.world_size) {
      return fail(ErrorKind::kUsage, "{}: world_size is {}, but {} is of rank {}; correct the job file", job_file,
                  job.world_size, table.info.file, table.info.rank);
    }
  }
  const std::vector<const EventTable*> some = ranks_that_differ(tables, job);
  const std::vector<JobSetting> settings = job_settings(job);
  std::vector<std::vector<TracedFact>> facts(some.size());
  parallel_for(some.size(), threads, [&](size_t i) { facts[i] = traced_facts(*some[i], settings); });
  for (const std::vector<TracedFact>& of_rank : facts) TRY_STATUS(check_facts(job, of_rank, job_file));
  return {};
}

Result<JobFile> read_traced_job(const std::string& job_file, const std::vector<EventTable>& tables, int threads) {
  const Value value = TRY(read_value_file(job_file));
  const std::vector<JobSetting> given = TRY(settings_from_value(ValueView(value, job_file)));
  std::vector<JobSetting> fallbacks;
  for (const TracedFact& fact : traced_facts(tables.front(), given))
    fallbacks.emplace_back(std::string(fact.field), fact.value);
  JobFile file = TRY(read_job_file(job_file, {}, fallbacks));
  TRY_STATUS(check_job_against_traces(file.job, tables, job_file, threads));
  return file;
}

Result<Recovery> recover_tables(std::vector<EventTable> tables, const Job& job, const Network& network, int threads,
                                const std::stop_token& stop) {
  std::vector<ExecGraph> graphs(tables.size());
  const auto build = [&](size_t i) {
    graphs[i] = build_graph(std::make_shared<const EventTable>(std::move(tables[i])), BuildOptions{});
  };
  parallel_for(graphs.size(), threads, build, stop);
  if (stop.stop_requested()) return fail_interrupted();
  return recover_job(graphs, job, network, threads);
}

}  // namespace lumos
