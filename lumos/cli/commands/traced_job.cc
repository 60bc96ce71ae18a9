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
std::vector<size_t> ranks_that_differ(const SharedTables& tables, const Job& job) {
  std::vector<size_t> some;
  std::vector<int64_t> stages;
  for (size_t i = 0; i < tables.size(); ++i) {
    const int64_t stage = position_of(job, tables[i]->info.rank)[Dimension::kPipeline];
    if (std::find(stages.begin(), stages.end(), stage) != stages.end()) continue;
    stages.push_back(stage);
    some.push_back(i);
  }
  return some;
}

/// Ranks recovered without a job's hints, by index of table.
using Recovered = std::map<size_t, RecoveredRank>;

void recover_ranks(const SharedTables& tables, const std::vector<size_t>& ranks, int threads, Recovered& known) {
  std::vector<size_t> missing;
  for (size_t i : ranks)
    if (known.try_emplace(i).second) missing.push_back(i);
  parallel_for(missing.size(), threads, [&](size_t m) {
    const EventTable& table = *tables[missing[m]];
    known.at(missing[m]) = recover(table, hints_from_groups(table));
  });
}

/// What the traces say about the job must agree with its file.
Status check_job_against_traces(const Job& job, const SharedTables& tables, const std::string& job_file, int threads,
                                Recovered& known) {
  for (const auto& table : tables) {
    if (table->info.rank >= job.world_size) {
      return fail(ErrorKind::kUsage, "{}: world_size is {}, but {} is of rank {}; correct the job file", job_file,
                  job.world_size, table->info.file, table->info.rank);
    }
  }
  const std::vector<size_t> some = ranks_that_differ(tables, job);
  recover_ranks(tables, some, threads, known);
  const std::vector<JobSetting> settings = job_settings(job);
  std::vector<std::vector<TracedFact>> facts(some.size());
  parallel_for(some.size(), threads,
               [&](size_t i) { facts[i] = traced_facts(*tables[some[i]], known.at(some[i]), settings); });
  for (const std::vector<TracedFact>& of_rank : facts) TRY_STATUS(check_facts(job, of_rank, job_file));
  for (const auto& table : tables) TRY_STATUS(check_facts(job, node_facts(*table, settings), job_file));
  return {};
}

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

SharedTables share_tables(std::vector<EventTable> tables) {
  SharedTables shared;
  for (EventTable& table : tables) shared.push_back(std::make_shared<const EventTable>(std::move(table)));
  return shared;
}

Result<TracedJob> traced_job(const ValueView& file, const std::string& job_file, const SharedTables& tables,
                             int threads) {
  const std::vector<JobSetting> given = TRY(settings_from_value(file));
  Recovered known;
  recover_ranks(tables, {0}, threads, known);
  std::vector<JobSetting> fallbacks;
  for (const TracedFact& fact : traced_facts(*tables.front(), known.at(0), given))
    fallbacks.emplace_back(std::string(fact.field), fact.value);
  TracedJob traced;
  traced.file = TRY(job_from_value(file, {}, fallbacks));
  if (std::string assumed = assumed_warning(traced.file.job, given, fallbacks); !assumed.empty())
    traced.file.warnings.push_back(std::move(assumed));
  TRY_STATUS(check_job_against_traces(traced.file.job, tables, job_file, threads, known));
  for (auto& [i, rank] : known) traced.launches.emplace(i, std::move(rank.list));
  return traced;
}

Result<TracedJob> read_traced_job(const std::string& job_file, const SharedTables& tables, int threads) {
  const Value value = TRY(read_value_file(job_file));
  return traced_job(ValueView(value, job_file), job_file, tables, threads);
}

Result<Recovery> recover_tables(const SharedTables& tables, TracedJob traced, const Network& network, int threads,
                                const std::stop_token& stop) {
  std::vector<ExecGraph> graphs(tables.size());
  parallel_for(
      graphs.size(), threads, [&](size_t i) { graphs[i] = build_graph(tables[i], BuildOptions{}); }, stop);
  if (stop.stop_requested()) return fail_interrupted();
  return recover_job(graphs, traced.file.job, network, threads, std::move(traced.launches));
}

}  // namespace lumos
