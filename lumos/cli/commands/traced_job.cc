#include "lumos/cli/commands/traced_job.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "lumos/base/parallel.h"
#include "lumos/base/toml.h"
#include "lumos/graph/rank/build.h"
#include "lumos/model/job/job_fields.h"
#include "lumos/plan/ops/layout.h"
#include "lumos/program/facts/traced_facts.h"

namespace lumos {

namespace {

/// One rank of each stage, as far as the job file knows them: replicas and tensor-parallel ranks say the same.
std::vector<const EventTable*> ranks_that_differ(const std::vector<EventTable>& tables, const Job& job) {
  std::vector<const EventTable*> some;
  std::vector<int64_t> stages;
  for (const EventTable& table : tables) {
    const int64_t stage = position_of(job, table.info.rank)[Dimension::kPipeline];
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
  for (const EventTable& table : tables) TRY_STATUS(check_facts(job, node_facts(table, settings), job_file));
  return {};
}

namespace {

// What predictions rest on and kernels alone do not always tell; nobody leaves these out because the default is right.
constexpr std::string_view kWorthSaying[] = {"num_layers",
                                             "seq_length",
                                             "micro_batch_size",
                                             "ffn_hidden_size",
                                             "num_attention_heads",
                                             "num_query_groups",
                                             "swiglu",
                                             "normalization",
                                             "gpus_per_node",
                                             "use_distributed_optimizer",
                                             "overlap_grad_reduce",
                                             "overlap_param_gather"};

/// What neither the file nor the traces say, and what it is taken to be.
std::string assumed_warning(const Job& job, const std::vector<JobSetting>& given, const std::vector<JobSetting>& told) {
  const auto names = [](const std::vector<JobSetting>& settings, std::string_view name) {
    return std::any_of(settings.begin(), settings.end(), [&](const JobSetting& one) { return one.first == name; });
  };
  std::string assumed;
  for (std::string_view name : kWorthSaying) {
    if (names(given, name) || names(told, name)) continue;
    const std::string value = job_field_text(job, *find_job_field(name));
    assumed += fmt::format("{}{} {}", assumed.empty() ? "" : ", ", name, value.empty() ? "none" : value);
  }
  return assumed.empty() ? "" : "neither in the job file nor told by the traces, and assumed: " + assumed;
}

}  // namespace

Result<JobFile> read_traced_job(const std::string& job_file, const std::vector<EventTable>& tables, int threads) {
  const Value value = TRY(read_value_file(job_file));
  const std::vector<JobSetting> given = TRY(settings_from_value(ValueView(value, job_file)));
  std::vector<JobSetting> fallbacks;
  for (const TracedFact& fact : traced_facts(tables.front(), given))
    fallbacks.emplace_back(std::string(fact.field), fact.value);
  JobFile file = TRY(read_job_file(job_file, {}, fallbacks));
  if (std::string assumed = assumed_warning(file.job, given, fallbacks); !assumed.empty())
    file.warnings.push_back(std::move(assumed));
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
