#include "lumos/program/synth/synthetic_job.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "lumos/graph/job/job.h"
#include "lumos/model/job/test_jobs.h"
#include "lumos/plan/estimate.h"
#include "lumos/plan/optimizer.h"
#include "lumos/plan/parameters.h"
#include "lumos/program/blocks/kernel_roles.h"
#include "lumos/program/lower/plan.h"
#include "lumos/program/step_figures.h"
#include "lumos/sim/simulate.h"

namespace lumos {
namespace {

using Settings = std::vector<JobSetting>;

std::string text(int64_t value) { return std::to_string(value); }
std::string text(bool value) { return value ? "true" : "false"; }

Job small_job(const Settings& settings) {
  return test_job([&] {
    Settings all = {{"num_layers", "4"},
                    {"hidden_size", "512"},
                    {"num_attention_heads", "8"},
                    {"seq_length", "512"},
                    {"num_microbatches", "4"}};
    all.insert(all.end(), settings.begin(), settings.end());
    return all;
  }());
}

/// Small jobs that differ in all that the trace of a job can tell.
Job random_job() {
  const auto one_of = [](std::vector<int64_t> values) { return *rc::gen::elementOf(std::move(values)); };
  const auto coin = [] { return *rc::gen::arbitrary<bool>(); };
  const int64_t tp = one_of({1, 2, 4}), pp = one_of({1, 2, 4}), dp = one_of({1, 2, 4});
  const int64_t chunks = pp > 1 ? one_of({1, 1, 2}) : 1;
  const bool distributed = coin(), overlap = coin();
  const std::string schedule = chunks > 1 ? "interleaved" : coin() ? "1f1b" : "gpipe";
  constexpr const char* kRecompute[] = {"null", "full", "selective"};
  return small_job({{"tensor_model_parallel_size", text(tp)},
                    {"pipeline_model_parallel_size", text(pp)},
                    {"data_parallel_size", text(dp)},
                    {"virtual_pipeline_model_parallel_size", text(chunks)},
                    {"pipeline_schedule", schedule},
                    {"num_layers", text(pp * chunks * one_of({1, 2, 3}))},
                    {"num_microbatches", text(pp * one_of({1, 2, 3}))},
                    {"micro_batch_size", text(one_of({1, 2}))},
                    {"ffn_hidden_size", text(one_of({1024, 2048}))},
                    {"hidden_size", text(one_of({512, 768}))},
                    {"sequence_parallel", text(tp > 1 && coin())},
                    {"use_distributed_optimizer", text(distributed)},
                    {"overlap_grad_reduce", text(overlap)},
                    {"overlap_param_gather", text(distributed && overlap && coin())},
                    {"overlap_p2p_comm", text(chunks > 1 && coin())},
                    {"batch_p2p_sync", text(coin())},
                    {"ddp_bucket_size", text(one_of({0, 3'000'000}))},
                    {"recompute_granularity", kRecompute[one_of({0, 1, 2})]},
                    {"untie_embeddings_and_output_weights", text(coin())},
                    {"swiglu", text(coin())},
                    {"params_dtype", coin() ? "bf16" : "fp16"}});
}

/// What the trace alone tells of the job: groups, recovered passes and layers, and the shapes of the products.
struct Told {
  int64_t tp = 1, dp = 1, pp = 1, chunks = 1, layers = 0, microbatches = 0;
  bool sequence_parallel = false, distributed_optimizer = false;
  Recompute recompute = Recompute::kNone;
  int64_t tokens = 0, hidden = 0, ffn_in = 0;  // of one rank

  bool operator==(const Told&) const = default;
};

void showValue(const Told& told, std::ostream& out) {
  out << "tp " << told.tp << " dp " << told.dp << " pp " << told.pp << " chunks " << told.chunks << " layers "
      << told.layers << " micro-batches " << told.microbatches << " sp " << told.sequence_parallel << " zero "
      << told.distributed_optimizer << " recompute " << static_cast<int>(told.recompute) << " tokens " << told.tokens
      << " hidden " << told.hidden << " ffn " << told.ffn_in;
}

Told told_by(const Job& job) {
  Told told;
  told.tp = job.tensor_model_parallel_size;
  told.dp = job.data_parallel_size;
  told.pp = job.pipeline_model_parallel_size;
  told.chunks = job.virtual_pipeline_model_parallel_size;
  told.layers = job.num_layers;
  told.microbatches = job.num_microbatches;
  told.sequence_parallel = job.sequence_parallel;
  told.distributed_optimizer = job.use_distributed_optimizer && told.dp > 1;  // of one replica nothing shows
  told.recompute = job.recompute_granularity;
  told.tokens = job.seq_length * job.micro_batch_size;
  told.hidden = job.hidden_size;
  told.ffn_in = job.ffn_hidden_size / told.tp * (job.swiglu ? 2 : 1);
  return told;
}

int64_t group_size(const EventTable& table, std::string_view kind) {
  for (const ProcessGroup& group : table.info.groups)
    if (group.description.starts_with(kind)) return group.size;
  return 1;
}

/// m, k and n of the "[[m, k], [k, n]]" of the operator that launched a product.
std::tuple<int64_t, int64_t, int64_t> product_of(const EventTable& table, const Launch& launch) {
  for (uint32_t row = 0; row < table.size(); ++row) {
    const OpDetail* op = table.op_detail(row);
    if (op == nullptr || table.external_id[row] != table.external_id[launch.call]) continue;
    long long m = 0, k = 0, again = 0, n = 0;
    const std::string dims(table.text(op->input_dims));
    if (std::sscanf(dims.c_str(), "[[%lld, %lld], [%lld, %lld]]", &m, &k, &again, &n) == 4) return {m, k, n};
  }
  return {};
}

Told told_by(const RankProgram& rank) {
  const EventTable& table = *rank.table;
  const RecoveredRank& found = rank.recovered;
  Told told;
  told.tp = group_size(table, "TENSOR");
  told.dp = group_size(table, "DATA");
  told.pp = found.stages;
  told.chunks = found.chunks;
  told.layers = int64_t{found.layers_per_chunk} * found.chunks * found.stages;
  told.microbatches = found.microbatches;
  for (const CollectiveDetail& detail : table.collectives) {
    const bool splits = table.text(detail.collective) != "allreduce";
    const std::string_view group = table.text(detail.group_desc);
    told.sequence_parallel |= splits && group.starts_with("TENSOR");
    told.distributed_optimizer |= splits && group.starts_with("DATA");
  }
  const std::vector<RoleOf> roles = find_roles(rank);
  bool again = false, norms_again = false;
  for (size_t i = 0; i < found.labels.size(); ++i) {
    if (found.labels[i].phase == Phase::kRecompute) {
      again = true;
      norms_again |= table.name_of(found.list.launches[i].gpu_row).find("ln_fwd") != std::string_view::npos;
    }
    if (found.labels[i].phase != Phase::kForward || found.labels[i].layer < 0) continue;
    if (roles[i].role == KernelRole::kQkv)
      std::tie(told.tokens, told.hidden, std::ignore) = product_of(table, found.list.launches[i]);
    if (roles[i].role == KernelRole::kFc1) told.ffn_in = std::get<2>(product_of(table, found.list.launches[i]));
  }
  if (again) told.recompute = norms_again ? Recompute::kFull : Recompute::kSelective;
  return told;
}

std::vector<EventTable> tables_of(const Job& job, const Cluster& cluster, const SyntheticOptions& options) {
  auto made = simulate_job(job, cluster, options);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  std::vector<EventTable> tables;
  for (int64_t rank : options.ranks) tables.push_back(synthetic_table(*made, job, cluster, rank, options.steps));
  return tables;
}

double mean_step_ms(const std::vector<EventTable>& tables) {
  double sum = 0;
  for (const EventTable& table : tables) sum += step_ms(table);
  return sum / static_cast<double>(tables.size());
}

/// Mean over ranks from the start of the first step to that of the last one, per step.
double written_step_ms(const std::vector<EventTable>& tables) {
  double sum_ns = 0;
  for (const EventTable& table : tables) {
    std::vector<int64_t> starts;
    for (size_t row = 0; row < table.size(); ++row)
      if (table.kind[row] == EventKind::kAnnotation && table.name_of(row).starts_with("ProfilerStep#"))
        starts.push_back(table.ts_ns[row]);
    sum_ns += static_cast<double>(starts.back() - starts.front()) / static_cast<double>(starts.size() - 1);
  }
  return sum_ns / static_cast<double>(tables.size()) / 1e6;
}

/// The same of a replay of the traces.
double replayed_step_ms(std::vector<EventTable> tables) {
  const LinkedJob job = link_job(std::move(tables), {});
  const Timeline timeline = simulate(job.linked.graph);
  double sum_ns = 0;
  for (const RankTasks& rank : job.linked.graph.ranks) {
    const auto start = [&](const Step& step) { return static_cast<double>(timeline.start_ns[step.first_task]); };
    sum_ns += (start(rank.steps.back()) - start(rank.steps.front())) / static_cast<double>(rank.steps.size() - 1);
  }
  return sum_ns / static_cast<double>(job.linked.graph.ranks.size()) / 1e6;
}

Phase without_recompute(Phase phase) { return phase == Phase::kRecompute ? Phase::kBackward : phase; }

/// Labels of the GPU work by correlation, as it was synthesized.
std::unordered_map<int64_t, Label> written_labels(const RankProgram& rank) {
  std::unordered_map<int64_t, Label> labels;
  for (const Block& block : rank.blocks)
    for (uint32_t t = block.task_begin; t < block.task_end; ++t)
      if (is_gpu_task(rank.tasks[t].kind)) labels[rank.table->correlation[rank.tasks[t].event]] = block.label;
  return labels;
}

void check_labels(const RankProgram& written, const RankProgram& found) {
  const std::unordered_map<int64_t, Label> labels = written_labels(written);
  RC_ASSERT(labels.size() == found.recovered.list.launches.size());
  for (size_t i = 0; i < found.recovered.labels.size(); ++i) {
    const int64_t correlation = found.table->correlation[found.recovered.list.launches[i].gpu_row];
    Label expected = labels.at(correlation);
    Label label = found.recovered.labels[i];
    expected.phase = without_recompute(expected.phase);
    label.phase = without_recompute(label.phase);
    // Outside of passes these are recovery's own affair.
    if (expected.microbatch < 0) label.microbatch = label.chunk = -1;
    RC_ASSERT(label == expected);
  }
}

TEST(SyntheticJob, RecoveryFindsTheJobThatWasWrittenAndTheReplayItsStep) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = 20;
  const Cluster cluster = test_cluster();
  const auto result = rc::detail::checkTestable(
      [&] {
        const Job job = random_job();
        SyntheticOptions options;
        options.ranks = ranks_of_stages(job);
        auto made = simulate_job(job, cluster, options);
        RC_ASSERT(made.has_value());
        std::vector<EventTable> tables;
        std::vector<ExecGraph> graphs;
        std::vector<RecoveredRank> recovered;
        for (int64_t rank : options.ranks) {
          tables.push_back(synthetic_table(*made, job, cluster, rank, options.steps));
          const auto table = std::make_shared<const EventTable>(tables.back());
          recovered.push_back(recover(*table, hints_from_groups(*table)));
          graphs.push_back(build_graph(table, {}));
        }
        const Program program = make_program(graphs, std::move(recovered));
        for (size_t r = 0; r < program.ranks.size(); ++r) {
          RC_ASSERT(told_by(program.ranks[r]) == told_by(job));
          RC_ASSERT(program.ranks[r].recovered.unplaced == 0u);
          check_labels(made->program.ranks[r], program.ranks[r]);
        }
        const double written_ms = written_step_ms(tables);
        const double replayed_ms = replayed_step_ms(std::move(tables));
        RC_ASSERT(std::abs(replayed_ms - written_ms) <= 0.005 * written_ms);
      },
      rc::detail::TestMetadata{"recovery", "synthetic job"}, params);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << [&] {
    std::ostringstream out;
    rc::detail::printResultMessage(result, out);
    return out.str();
  }();
}

TEST(SyntheticJob, TakesWhatTheEstimateSays) {
  const Cluster cluster = test_cluster();
  const Settings large = {
      {"hidden_size", "8192"}, {"num_attention_heads", "64"}, {"num_layers", "8"}, {"seq_length", "2048"}};
  for (const Settings& split :
       std::vector<Settings>{{{"data_parallel_size", "8"}, {"use_distributed_optimizer", "true"}},
                             {{"tensor_model_parallel_size", "4"}, {"sequence_parallel", "true"}},
                             {{"pipeline_model_parallel_size", "4"}}}) {
    Settings all = large;
    all.insert(all.end(), split.begin(), split.end());
    const Job job = small_job(all);
    SyntheticOptions options;
    options.ranks = ranks_of_stages(job);
    EXPECT_NEAR(mean_step_ms(tables_of(job, cluster, options)) / estimate(job, cluster)->step_ms, 1, 0.03)
        << split.front().first;
  }
}

/// The same splits and switches of a model that the GPU decides, not the host.
Job random_large_job() {
  return *change_job(random_job(), {{"hidden_size", "4096"},
                                    {"num_attention_heads", "32"},
                                    {"kv_channels", "128"},
                                    {"ffn_hidden_size", "16384"},
                                    {"seq_length", "2048"},
                                    {"max_position_embeddings", "2048"}});
}

TEST(SyntheticJob, AnEstimateIsWithinThreePercentOfTheSimulation) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = 60;
  const auto result = rc::detail::checkTestable(
      [] {
        // What the host spends on posting very many small buckets is not in the estimate: Megatron's own sizes.
        const Job job =
            *change_job(*rc::gen::arbitrary<bool>() ? random_large_job() : random_job(), "ddp_bucket_size", "0");
        const Cluster cluster =
            test_cluster(*rc::gen::element<std::string>("dgx-a100", "dgx-h100", "dgx-b200", "mi300x"));
        SyntheticOptions options;
        options.steps = 1;
        options.ranks = ranks_of_stages(job);
        const auto made = simulate_job(job, cluster, options);
        RC_ASSERT(made.has_value());
        const double simulated_ms = mean_figures(made->graph, made->timeline).step_ms;
        RC_ASSERT(std::abs(estimate(job, cluster)->step_ms - simulated_ms) <= 0.03 * simulated_ms);
      },
      rc::detail::TestMetadata{"estimate", "synthetic job"}, params);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << [&] {
    std::ostringstream out;
    rc::detail::printResultMessage(result, out);
    return out.str();
  }();
}

TEST(SyntheticJob, AHostThatKeepsNoLeadTakesWhatTheEstimateSays) {
  Cluster cluster = test_cluster();
  cluster.host.runs_ahead = 0;
  const Job job = small_job({{"hidden_size", "2048"}, {"seq_length", "2048"}, {"pipeline_model_parallel_size", "2"}});
  SyntheticOptions options;
  options.ranks = ranks_of_stages(job);
  const double waiting_ms = mean_step_ms(tables_of(job, cluster, options));
  EXPECT_NEAR(waiting_ms / estimate(job, cluster)->step_ms, 1, 0.05);
  EXPECT_GT(waiting_ms, mean_step_ms(tables_of(job, test_cluster(), options)));
}

TEST(SyntheticJob, TheTiedEmbeddingIsReducedAfterTheReplicas) {
  const auto with = [](const std::string& untied) {
    const Job job = small_job({{"pipeline_model_parallel_size", "2"},
                               {"data_parallel_size", "8"},
                               {"hidden_size", "4096"},
                               {"untie_embeddings_and_output_weights", untied}});
    SyntheticOptions options;
    options.ranks = ranks_of_stages(job);
    return mean_step_ms(tables_of(job, test_cluster(), options));
  };
  const Job job =
      small_job({{"pipeline_model_parallel_size", "2"}, {"data_parallel_size", "8"}, {"hidden_size", "4096"}});
  const double bytes = double(word_embedding_parameters(job)) * gradient_bytes(job);
  const double alone_ms = collective_us({CollectiveKind::kAllReduce, bytes, {2, 1}}, test_cluster()) / 1e3;
  EXPECT_NEAR(with("false") - with("true"), alone_ms, 0.1 * alone_ms);
}

TEST(SyntheticJob, RanksOfAStageDifferInTheirGroupsOnly) {
  const Job job = small_job({{"tensor_model_parallel_size", "2"}, {"data_parallel_size", "2"}});
  SyntheticOptions options;
  options.ranks = all_ranks(job);
  const std::vector<EventTable> tables = tables_of(job, test_cluster(), options);
  ASSERT_EQ(tables.size(), 4u);
  EXPECT_EQ(tables[0].ts_ns, tables[3].ts_ns);
  EXPECT_EQ(tables[0].dur_ns, tables[3].dur_ns);
  EXPECT_EQ(tables[3].info.rank, 3);
  EXPECT_EQ(group_size(tables[3], "TENSOR"), 2);
  bool found = false;
  for (const CollectiveDetail& detail : tables[3].collectives)
    found |= tables[3].text(detail.group_ranks) == "[2, 3]" && tables[3].text(detail.group_desc).starts_with("TENSOR");
  EXPECT_TRUE(found);
}

TEST(SyntheticJob, JitterFollowsItsSeedAndMakesRanksWait) {
  // Large enough for the GPU, not the host, to set the pace.
  const Job job = small_job({{"data_parallel_size", "4"},
                             {"hidden_size", "4096"},
                             {"num_attention_heads", "32"},
                             {"seq_length", "2048"},
                             {"num_microbatches", "2"}});
  const Cluster cluster = test_cluster();
  SyntheticOptions options;
  options.ranks = all_ranks(job);
  options.jitter_sigma = 0.2;
  const std::vector<EventTable> first = tables_of(job, cluster, options), again = tables_of(job, cluster, options);
  EXPECT_EQ(first[1].ts_ns, again[1].ts_ns);
  EXPECT_NE(first[0].dur_ns, first[1].dur_ns);
  options.seed = 2;
  EXPECT_NE(first[1].ts_ns, tables_of(job, cluster, options)[1].ts_ns);
  options.jitter_sigma = 0;
  EXPECT_LT(mean_step_ms(tables_of(job, cluster, options)), mean_step_ms(first));
}

/// What people see who ask a viewer which operator launched a kernel.
TEST(SyntheticJob, KernelsBelongToTheOperatorsThatLaunchSuchKernels) {
  const Job job = small_job({{"tensor_model_parallel_size", "2"}, {"data_parallel_size", "2"}});
  SyntheticOptions options;
  options.ranks = {0};
  const EventTable table = tables_of(job, test_cluster(), options)[0];
  std::unordered_map<int64_t, std::string> operators;
  for (size_t row = 0; row < table.size(); ++row)
    if (table.kind[row] == EventKind::kCpuOp) operators[table.external_id[row]] = table.name_of(row);
  size_t kernels = 0;
  for (size_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] != EventKind::kKernel) continue;
    const std::string name(table.name_of(row));
    const std::string op = operators[table.external_id[row]];
    SCOPED_TRACE(name + " from " + op);
    EXPECT_FALSE(op.empty());
    for (const char* allocates : {"empty", "view", "detach"}) EXPECT_EQ(op.find(allocates), std::string::npos);
    for (const auto& [kind, wanted] : {std::pair{"nccl", "record_param_comms"}, std::pair{"_gemm_", "aten::mm"},
                                       std::pair{"flash_fwd", "flash_attn::_flash_attn_forward"}}) {
      if (name.find(kind) != std::string::npos) {
        EXPECT_EQ(op, wanted);
      }
    }
    ++kernels;
  }
  EXPECT_GT(kernels, 100u);
}

TEST(SyntheticJob, RefusesWhatItHasNoKernelsFor) {
  SyntheticOptions options;
  options.ranks = {7};
  const Job job = small_job({});
  const auto missing = simulate_job(job, test_cluster(), options);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("rank 7"), std::string::npos);
}

}  // namespace
}  // namespace lumos
