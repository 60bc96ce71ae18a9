#include "lumos/program/change/job_effects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "lumos/graph/rank/build.h"
#include "lumos/model/job/job_fields.h"
#include "lumos/model/job/job_file.h"
#include "lumos/model/job/test_jobs.h"
#include "lumos/program/facts/traced_facts.h"
#include "lumos/program/predict.h"
#include "lumos/program/synth/synthetic_job.h"
#include "lumos/trace/table/kernel_family.h"

namespace lumos {
namespace {

/// A small job of eight ranks in which all axes have two.
Job base_job(const std::vector<JobSetting>& settings = {}) {
  std::vector<JobSetting> all = {{"num_layers", "8"},
                                 {"hidden_size", "512"},
                                 {"num_attention_heads", "8"},
                                 {"seq_length", "512"},
                                 {"num_microbatches", "4"},
                                 {"tensor_model_parallel_size", "2"},
                                 {"pipeline_model_parallel_size", "2"},
                                 {"data_parallel_size", "2"},
                                 {"gpus_per_node", "4"},
                                 {"overlap_grad_reduce", "true"},
                                 {"use_distributed_optimizer", "true"},
                                 {"ddp_bucket_size", "3000000"}};
  all.insert(all.end(), settings.begin(), settings.end());
  return test_job(all);
}

std::vector<EventTable> tables_of(const Job& job) {
  SyntheticOptions options;
  options.ranks = ranks_of_stages(job);
  auto made = simulate_job(job, test_cluster(), options);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  std::vector<EventTable> tables;
  for (int64_t rank : options.ranks) tables.push_back(synthetic_table(*made, job, test_cluster(), rank, options.steps));
  return tables;
}

Recovery recovered(const Job& job) {
  std::vector<ExecGraph> graphs;
  for (EventTable& table : tables_of(job))
    graphs.push_back(build_graph(std::make_shared<const EventTable>(std::move(table)), {}));
  auto recovery = recover_job(graphs, job, default_network());
  EXPECT_TRUE(recovery) << (recovery ? "" : recovery.error().message);
  return std::move(*recovery);
}

/// Values to try of a field, whatever it now has.
std::vector<std::string> values_of(const JobField& field, const Job& job) {
  if (const auto* member = std::get_if<int64_t Job::*>(&field.member))
    return {std::to_string(job.**member * 2), std::to_string(std::max<int64_t>(1, job.**member / 2))};
  if (const auto* member = std::get_if<double Job::*>(&field.member))
    return {"0", std::to_string(job.**member / 2), std::to_string(job.**member + 0.1)};
  if (std::holds_alternative<bool Job::*>(field.member)) return {"true", "false"};
  if (std::holds_alternative<FurtherSize>(field.member)) return {"2"};
  if (field.name == "rank_order") return {"tp-pp-dp", "dp-pp-tp"};
  if (field.name == "model_name") return {"other"};
  if (field.name == "pipeline_schedule") return {"1f1b", "gpipe", "interleaved"};
  if (field.name == "recompute_granularity") return {"full", "selective", "null"};
  if (field.name == "recompute_method") return {"uniform", "block"};
  if (field.name == "normalization") return {"LayerNorm", "RMSNorm"};
  if (field.name == "position_embedding_type") return {"learned_absolute", "rope", "none"};
  if (field.name == "params_dtype") return {"bf16", "fp16", "fp32"};
  if (field.name == "optimizer") return {"adam", "sgd"};
  return {};
}

bool says_so(const std::vector<std::string>& warnings, std::string_view field) {
  for (const std::string& warning : warnings)
    if (warning.starts_with(field) && warning.find("no effect") != std::string::npos) return true;
  return false;
}

/// Every task of a run with its time: a change that another one hides is in here, too.
using Run = std::vector<std::pair<int64_t, int64_t>>;

ForecastOptions watching(Run& run) {
  ForecastOptions options;
  options.seeds = 1;
  options.look = [&run](size_t, const ForecastRun& seen) {
    run.clear();
    for (size_t i = 0; i < seen.timeline.start_ns.size(); ++i)
      run.emplace_back(seen.timeline.start_ns[i], seen.timeline.end_ns[i]);
  };
  return options;
}

void expect_nothing_in_silence(const Job& job) {
  const Recovery recovery = recovered(job);
  Run unchanged, changed;
  ASSERT_TRUE(forecast(recovery, job, watching(unchanged)));
  EXPECT_TRUE(changes_without_effect(job, job).empty());
  SCOPED_TRACE(job_to_toml(job));
  for (const JobField& field : job_fields()) {
    const std::vector<std::string> values = values_of(field, job);
    EXPECT_FALSE(values.empty()) << field.name << ": say here what to try";
    for (const std::string& value : values) {
      const auto target = change_job(job, field.name, value);
      if (!target || changed_fields(job, *target).empty()) continue;
      const auto found = forecast(recovery, *target, watching(changed));
      if (!found) {
        EXPECT_EQ(found.error().kind, ErrorKind::kUsage);
        EXPECT_NE(found.error().message.find(field.name), std::string::npos) << found.error().message;
      } else if (changed == unchanged) {
        EXPECT_TRUE(says_so(found->warnings, field.name)) << field.name << "=" << value << " does nothing in silence";
      } else {
        EXPECT_FALSE(says_so(found->warnings, field.name)) << field.name << "=" << value << " does something";
      }
    }
  }
}

TEST(JobEffects, NoSettingIsWithoutEffectInSilence) {
  expect_nothing_in_silence(base_job());
  expect_nothing_in_silence(base_job({{"recompute_granularity", "full"}}));
  expect_nothing_in_silence(base_job({{"overlap_grad_reduce", "false"}, {"use_distributed_optimizer", "false"}}));
  expect_nothing_in_silence(base_job({{"pipeline_model_parallel_size", "1"}, {"tensor_model_parallel_size", "1"}}));
  expect_nothing_in_silence(base_job({{"use_flash_attn", "false"}}));
  expect_nothing_in_silence(base_job({{"params_dtype", "fp32"}, {"num_layers", "4"}}));
}

TEST(JobEffects, SmallerBucketsAreMoreOfThem) {
  const Job job = base_job();
  const Recovery recovery = recovered(job);
  const auto transfers = [&](const std::string& size) {
    const auto target = change_job(job, "ddp_bucket_size", size);
    ForecastOptions options;
    options.seeds = 1;
    int count = 0;
    options.look = [&](size_t, const ForecastRun& run) {
      for (const TaskKind kind : run.graph.kind) count += kind == TaskKind::kTransfer;
    };
    EXPECT_TRUE(forecast(recovery, *target, options));
    return count;
  };
  EXPECT_GT(transfers("2000000"), transfers("30000000"));
}

TEST(JobEffects, AnUntiedEmbeddingIsNotSummedOverItsStages) {
  const Job job = base_job();
  const Recovery recovery = recovered(job);
  const auto target = change_job(job, "untie_embeddings_and_output_weights", "true");
  const auto found = forecast(recovery, *target, {});
  ASSERT_TRUE(found);
  EXPECT_LT(found->changed.mean.exposed_comm_ms, found->unchanged.mean.exposed_comm_ms);
  const Job untied = *target;
  const auto back = forecast(recovered(untied), job, {});
  ASSERT_TRUE(back);
  EXPECT_GT(back->changed.mean.exposed_comm_ms, back->unchanged.mean.exposed_comm_ms);
}

TEST(TracedFacts, AgreeWithTheJobThatWasTracedAndContradictEveryOther) {
  const std::vector<std::vector<JobSetting>> jobs = {
      {},
      {{"virtual_pipeline_model_parallel_size", "2"}, {"sequence_parallel", "true"}},
      {{"recompute_granularity", "full"}, {"params_dtype", "fp16"}},
      {{"rank_order", "tp-pp-dp"}, {"recompute_granularity", "selective"}, {"use_distributed_optimizer", "false"}},
      {{"num_layers", "2"}, {"micro_batch_size", "2"}, {"num_microbatches", "2"}, {"ffn_hidden_size", "1280"}},
      {{"pipeline_model_parallel_size", "1"}, {"pipeline_schedule", "gpipe"}},
      // Equal sizes: a rank's part of the FFN, the hidden state and the sequence.
      {{"ffn_hidden_size", "1024"}, {"overlap_grad_reduce", "false"}},
      {{"ffn_hidden_size", "1024"}, {"swiglu", "true"}, {"num_query_groups", "2"}, {"normalization", "RMSNorm"}},
      {{"ffn_hidden_size", "512"}, {"swiglu", "true"}, {"num_query_groups", "4"}, {"sequence_parallel", "true"}},
      {{"kv_channels", "128"}, {"num_query_groups", "4"}, {"overlap_param_gather", "true"}},
      {{"num_query_groups", "4"}, {"ddp_bucket_size", "1000000000"}, {"recompute_granularity", "full"}}};
  for (const std::vector<JobSetting>& settings : jobs) {
    const Job job = base_job(settings);
    for (const EventTable& table : tables_of(job)) {
      const std::vector<TracedFact> facts = traced_facts(table, job_settings(job));
      const Status agrees = check_facts(job, facts, "job.toml");
      EXPECT_TRUE(agrees) << (agrees ? "" : agrees.error().message);
      for (const TracedFact& fact : facts) {
        for (const std::string& value : values_of(*find_job_field(fact.field), job)) {
          Job other = job;
          ASSERT_TRUE(set_job_field(other, *find_job_field(fact.field), value == "null" ? "" : value));
          // Where no axis is between two others, their order is all the same.
          if (other == job || (fact.field == "rank_order" && job.pipeline_model_parallel_size == 1)) continue;
          const Status contradicts = check_facts(other, facts, "job.toml");
          ASSERT_FALSE(contradicts) << fact.field << "=" << value;
          EXPECT_EQ(contradicts.error().kind, ErrorKind::kUsage);
          EXPECT_NE(contradicts.error().message.find("job.toml: "), std::string::npos);
          EXPECT_NE(contradicts.error().message.find("the traces say"), std::string::npos);
        }
      }
      const auto known = [&](std::string_view field) {
        return std::any_of(facts.begin(), facts.end(), [&](const TracedFact& fact) { return fact.field == field; });
      };
      for (const char* field :
           {"world_size", "tensor_model_parallel_size", "num_layers", "num_microbatches", "params_dtype"})
        EXPECT_TRUE(known(field)) << field << " of rank " << table.info.rank;
      EXPECT_TRUE(known("normalization"));
      EXPECT_TRUE(known("overlap_grad_reduce"));
      EXPECT_EQ(known("overlap_param_gather"), job.use_distributed_optimizer);
      // One layer of a chunk follows another.
      if (job.num_layers / num_chunks(job) > 1) {
        for (const char* field :
             {"hidden_size", "num_attention_heads", "kv_channels", "ffn_hidden_size", "num_query_groups", "swiglu"})
          EXPECT_TRUE(known(field)) << field;
      }
      // That nothing is computed again cannot be seen: checkpoints may have no name.
      EXPECT_EQ(known("recompute_granularity"), job.recompute_granularity != Recompute::kNone);
    }
  }
}

// Parameters that are gathered in front of the first layer are all that a rank holds: half of them with twice the
// stages.
TEST(JobEffects, WhatIsGatheredAtOnceFollowsWhatARankHolds) {
  const std::vector<JobSetting> large = {
      {"hidden_size", "6144"},          {"num_attention_heads", "48"},  {"num_layers", "16"},
      {"data_parallel_size", "8"},      {"num_microbatches", "8"},      {"seq_length", "1024"},
      {"overlap_param_gather", "true"}, {"ddp_bucket_size", "40000000"}};
  const Job job = base_job(large);
  const Recovery recovery = recovered(job);
  // A stage behind the first reduces all its gradients in one of its layers, and layers are drawn.
  for (const auto& [stages, most_off] : {std::pair("1", 0.05), std::pair("4", 0.05)}) {
    const auto target = change_job(job, "pipeline_model_parallel_size", stages);
    const auto found = forecast(recovery, *target, {});
    ASSERT_TRUE(found);
    SyntheticOptions options;
    options.steps = 1;
    options.ranks = ranks_of_stages(*target);
    const auto truth = simulate_job(*target, test_cluster(), options);
    ASSERT_TRUE(truth);
    const double truth_ms = mean_figures(truth->graph, truth->timeline).step_ms;
    EXPECT_NEAR(found->changed.mean.step_ms / truth_ms, 1, most_off) << stages << " stages, " << truth_ms << " ms";
  }
}

// The devices of a trace tell how many GPUs a node has where they are numbered as the ranks are.
TEST(TracedFacts, RanksOnTheirDevicesTellTheNode) {
  const Job job = base_job();
  EventTable table = tables_of(job).back();
  const auto on = [&](int32_t rank, int64_t device, size_t devices) {
    table.info.rank = rank;
    table.info.devices.resize(devices);
    for (Lane& lane : table.lanes)
      if (lane.is_gpu) lane.pid = device;
    return node_facts(table, job_settings(job));  // four to a node
  };
  EXPECT_TRUE(on(5, 1, 4).empty());
  EXPECT_TRUE(on(5, 1, 8).empty()) << "half of each node's GPUs are idle";
  EXPECT_TRUE(on(5, 0, 1).empty()) << "each process sees its own device alone";
  EXPECT_TRUE(on(5, 3, 8).empty()) << "not in the order of ranks";
  EXPECT_TRUE(on(-1, 1, 4).empty());
  // A process that sees a part of its node: a tray of a rack, one of two containers.
  for (const char* given : {"72", "8", "4"}) {
    on(5, 1, 4);
    EXPECT_TRUE(node_facts(table, {{"gpus_per_node", given}}).empty()) << given;
  }
  EXPECT_EQ(node_facts(table, {}).size(), 1u) << "nothing else says so";
  EXPECT_EQ(node_facts(table, {{"gpus_per_node", "3"}}).size(), 1u) << "more than there are";
  const std::vector<TracedFact> eight = on(5, 5, 8);
  ASSERT_EQ(eight.size(), 1u);
  const Status found = check_facts(job, eight, "job.toml");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message,
            "job.toml: gpus_per_node is 4, but the traces say 8 (rank 5 runs on device 5 of 8); correct the job file");
}

// PyTorch's kernels of LayerNorm run RMSNorm, too: the last template argument says which.
TEST(TracedFacts, KernelsThatServeBothNormsTellByTheirSwitch) {
  EventTable table = tables_of(base_job()).front();
  std::vector<uint32_t> norms;
  for (uint32_t row = 0; row < table.size(); ++row)
    if (table.kind[row] == EventKind::kKernel && row_family(table, row) == KernelFamily::kNorm) norms.push_back(row);
  ASSERT_FALSE(norms.empty());
  auto names = std::make_shared<NamePool>();
  for (uint32_t id = 0; id < table.names->size(); ++id) names->intern(table.text(NameId{id}));
  table.names = names;
  const auto found = [&](const std::string& kernel) {
    for (uint32_t row : norms) table.name[row] = names->intern(kernel);
    for (const TracedFact& fact : traced_facts(table, {}))
      if (fact.field == "normalization") return fact.value;
    return std::string();
  };
  for (const char* function : {"vectorized_layer_norm_kernel", "layer_norm_grad_input_kernel_vectorized"}) {
    const auto native = [&](const std::string& arguments) {
      return found(
          fmt::format("void at::native::(anonymous namespace)::{}<{}>(int, float, float const*)", function, arguments));
    };
    for (const char* on : {"float, float, true", "c10::BFloat16, float, (bool)1", "float, float, rms_norm=true"})
      EXPECT_EQ(native(on), "RMSNorm") << on;
    for (const char* off : {"float, float, false", "c10::BFloat16, float, (bool)0", "float, float, rms_norm=false"})
      EXPECT_EQ(native(off), "LayerNorm") << off;
    for (const char* open : {"float, float", "c10::BFloat16", "float, float, 32, 8, true"})
      EXPECT_EQ(native(open), "") << open;
  }
  EXPECT_EQ(found("void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float, float, true>"),
            "");
  EXPECT_EQ(found("void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<float, true>"), "RMSNorm");
  EXPECT_EQ(found("void transformer_engine::normalization::ln_fwd_tuned_kernel<float, true>"), "LayerNorm");
}

// What a file says is looked at before it has been checked.
TEST(TracedFacts, SurviveSizesThatNoJobHas) {
  const Job job = base_job();
  const EventTable table = tables_of(job).front();
  for (const char* value : {"0", "-3", "9223372036854775807"}) {
    std::vector<JobSetting> settings = job_settings(job);
    for (auto& [name, text] : settings)
      if (name.ends_with("_size") || name.ends_with("_layers")) text = value;
    const std::vector<TracedFact> facts = traced_facts(table, settings);
    EXPECT_FALSE(facts.empty()) << value;
  }
}

}  // namespace
}  // namespace lumos
