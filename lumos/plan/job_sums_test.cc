#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "lumos/model/job/job.h"
#include "lumos/model/job/job_fields.h"
#include "lumos/model/job/test_jobs.h"
#include "lumos/plan/estimate.h"
#include "lumos/plan/flops.h"
#include "lumos/plan/memory.h"
#include "lumos/plan/parameters.h"

namespace lumos {
namespace {

std::vector<JobSetting> small_model() {
  return {{"num_layers", "8"},
          {"hidden_size", "1024"},
          {"num_attention_heads", "16"},
          {"seq_length", "2048"},
          {"vocab_size", "50257"}};
}

std::vector<JobSetting> with(std::vector<JobSetting> more) {
  std::vector<JobSetting> settings = small_model();
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

std::string error_of(const Result<Job>& job) { return job ? "" : job.error().message; }

TEST(Job, SizesFollowFromWhatIsSet) {
  const auto job = resolve_job(with({{"tensor_model_parallel_size", "2"},
                                     {"pipeline_model_parallel_size", "2"},
                                     {"world_size", "16"},
                                     {"global_batch_size", "64"},
                                     {"micro_batch_size", "2"}}));
  ASSERT_TRUE(job) << error_of(job);
  EXPECT_EQ(job->data_parallel_size, 4);
  EXPECT_EQ(job->num_microbatches, 8);
  EXPECT_EQ(job->ffn_hidden_size, 4096);
  EXPECT_EQ(job->kv_channels, 64);
  EXPECT_EQ(job->num_query_groups, 16);
  EXPECT_EQ(job->max_position_embeddings, 2048);
  EXPECT_TRUE(job->grad_reduce_in_fp32) << "Megatron reduces bf16 gradients in fp32";
}

// As a file with the changed values would have it: half the attention in silence is no prediction.
TEST(Job, SizesThatNobodyGaveFollowWhereOthersChange) {
  const std::vector<std::vector<JobSetting>> changes = {{{"hidden_size", "2048"}},
                                                        {{"num_attention_heads", "32"}},
                                                        {{"hidden_size", "1536"}, {"num_attention_heads", "8"}},
                                                        {{"swiglu", "true"}},
                                                        {{"swiglu", "true"}, {"hidden_size", "4096"}},
                                                        {{"hidden_size", "2048"}, {"kv_channels", "64"}},
                                                        {{"hidden_size", "2048"}, {"ffn_hidden_size", "1000"}}};
  for (const bool heads : {false, true}) {
    for (const bool ffn : {false, true}) {
      std::vector<JobSetting> file = small_model();
      if (heads) file.emplace_back("kv_channels", "64");
      if (ffn) file.emplace_back("ffn_hidden_size", "4096");
      const auto base = resolve_job(file);
      ASSERT_TRUE(base) << error_of(base);
      for (const std::vector<JobSetting>& change : changes) {
        std::vector<JobSetting> together = file;
        together.insert(together.end(), change.begin(), change.end());
        const auto changed = change_job(*base, change), written = resolve_job(together);
        ASSERT_TRUE(changed && written) << error_of(changed) << error_of(written);
        EXPECT_EQ(*changed, *written) << change.front().first << " " << change.front().second;
        // One change after another is the same.
        Job one_by_one = *base;
        for (const JobSetting& setting : change) {
          const auto next = change_job(one_by_one, {setting});
          ASSERT_TRUE(next) << error_of(next);
          one_by_one = *next;
        }
        EXPECT_EQ(one_by_one, *written);
      }
    }
  }
  const auto given = resolve_job(with({{"kv_channels", "64"}, {"ffn_hidden_size", "4096"}}));
  const auto freed =
      change_job(*given, {{"hidden_size", "2048"}, {"kv_channels", "null"}, {"ffn_hidden_size", "null"}});
  ASSERT_TRUE(freed) << error_of(freed);
  EXPECT_EQ(freed->kv_channels, 128);
  EXPECT_EQ(freed->ffn_hidden_size, 8192);
  EXPECT_NE(error_of(change_job(*resolve_job(small_model()), "hidden_size", "1025")).find("not a multiple"),
            std::string::npos);
}

TEST(Job, ContradictionsNameBothValues) {
  const auto world = resolve_job(with({{"world_size", "16"}, {"data_parallel_size", "3"}}));
  EXPECT_NE(error_of(world).find("world_size 16"), std::string::npos);
  EXPECT_NE(error_of(world).find("data parallel 3"), std::string::npos);
  const auto batch = resolve_job(with({{"global_batch_size", "10"}, {"num_microbatches", "4"}}));
  EXPECT_NE(error_of(batch).find("global_batch_size 10"), std::string::npos);
  EXPECT_NE(error_of(batch).find("num_microbatches 4"), std::string::npos);
  EXPECT_EQ(batch.error().kind, ErrorKind::kUsage);
}

TEST(Job, ImpossibleSplitsAreRefusedWithTheReason) {
  EXPECT_NE(error_of(resolve_job(with({{"tensor_model_parallel_size", "3"}}))).find("num_attention_heads 16"),
            std::string::npos);
  EXPECT_NE(error_of(resolve_job(with({{"pipeline_model_parallel_size", "3"}}))).find("num_layers 8"),
            std::string::npos);
  EXPECT_NE(
      error_of(resolve_job(with({{"virtual_pipeline_model_parallel_size", "2"}}))).find("pipeline_model_parallel_size"),
      std::string::npos);
  EXPECT_NE(error_of(resolve_job(with({{"micro_batch_size", "0"}}))).find("micro_batch_size"), std::string::npos);
  EXPECT_NE(error_of(resolve_job(with({{"num_layers", "many"}}))).find("'many'"), std::string::npos);
  EXPECT_NE(error_of(resolve_job({{"num_layers", "8"}})).find("hidden_size"), std::string::npos);
}

TEST(Job, UnknownNamesAreReportedFromFilesAndRefusedFromTheCommandLine) {
  std::vector<std::string> unknown;
  const auto job = resolve_job(with({{"moe_router_topk", "2"}}), &unknown);
  ASSERT_TRUE(job);
  EXPECT_EQ(unknown, std::vector<std::string>{"moe_router_topk"});
  EXPECT_FALSE(change_job(*job, "moe_router_topk", "2"));
}

TEST(Job, NumbersBeyondTheirFieldAreRefused) {
  for (const char* text : {"1e300", "-1e300", "1e19", "9223372036854775808.0", "2.5", "nan", "inf"}) {
    const auto job = resolve_job({{"num_layers", text}});
    ASSERT_FALSE(job) << text;
    EXPECT_EQ(job.error().kind, ErrorKind::kUsage) << text;
    EXPECT_NE(job.error().message.find("num_layers"), std::string::npos) << job.error().message;
  }
}

TEST(Job, NullIsUnset) {
  const auto job = resolve_job(with(
      {{"virtual_pipeline_model_parallel_size", "null"}, {"kv_channels", "null"}, {"recompute_granularity", "null"}}));
  ASSERT_TRUE(job) << error_of(job);
  EXPECT_EQ(job->virtual_pipeline_model_parallel_size, 1);
  EXPECT_EQ(job->kv_channels, 64);
  EXPECT_EQ(job->recompute_granularity, Recompute::kNone);
}

TEST(Job, AChangeCarriesItsConsequences) {
  const auto base = resolve_job(with({{"tensor_model_parallel_size", "2"},
                                      {"data_parallel_size", "2"},
                                      {"num_microbatches", "8"},
                                      {"sequence_parallel", "true"}}));
  ASSERT_TRUE(base) << error_of(base);
  const auto more_replicas = change_job(*base, "data_parallel_size", "8");
  EXPECT_EQ(more_replicas->world_size, 16);
  EXPECT_EQ(more_replicas->global_batch_size, 64);
  const auto same_batch = change_job(*base, {{"data_parallel_size", "4"}, {"global_batch_size", "16"}});
  EXPECT_EQ(same_batch->num_microbatches, 4);
  const auto fixed_world = change_job(*base, {{"pipeline_model_parallel_size", "2"}, {"world_size", "4"}});
  EXPECT_EQ(fixed_world->data_parallel_size, 1);
  EXPECT_FALSE(change_job(*base, "tensor_model_parallel_size", "1")->sequence_parallel);
  const auto interleaved =
      change_job(*base, {{"pipeline_model_parallel_size", "2"}, {"virtual_pipeline_model_parallel_size", "2"}});
  ASSERT_TRUE(interleaved) << error_of(interleaved);
  EXPECT_EQ(interleaved->pipeline_schedule, PipelineSchedule::kInterleaved);
  EXPECT_EQ(change_job(*interleaved, "pipeline_schedule", "1f1b")->virtual_pipeline_model_parallel_size, 1);
}

TEST(Job, SettingsGiveTheSameJobAgain) {
  const auto job = resolve_job(with(
      {{"swiglu", "true"}, {"num_query_groups", "4"}, {"recompute_granularity", "full"}, {"hidden_dropout", "0.0"}}));
  ASSERT_TRUE(job) << error_of(job);
  const auto again = resolve_job(job_settings(*job));
  ASSERT_TRUE(again) << error_of(again);
  EXPECT_EQ(*again, *job);
}

TEST(Job, VocabularyIsPaddedToATensorParallelMultiple) {
  const auto job = resolve_job(small_model());
  EXPECT_EQ(padded_vocab_size(*job), 50304);
  EXPECT_EQ(padded_vocab_size(*change_job(*job, "tensor_model_parallel_size", "8")), 51200);
}

TEST(Job, EveryNumberHasARange) {
  for (const JobField& field : job_fields()) {
    const bool integer = std::holds_alternative<int64_t Job::*>(field.member);
    if (!integer && !std::holds_alternative<double Job::*>(field.member)) continue;
    std::vector<std::string> impossible = {"-1", "9e18", "1e30", "nan"};
    if (!integer) impossible = {"-1", "-0.5", "nan", "inf"};
    if (field.name.ends_with("dropout")) impossible.insert(impossible.end(), {"1", "2"});
    for (const std::string& value : impossible) {
      const auto job = resolve_job(with({{std::string(field.name), value}}));
      ASSERT_FALSE(job) << field.name << " " << value;
      EXPECT_EQ(job.error().kind, ErrorKind::kUsage);
      EXPECT_NE(error_of(job).find(field.name), std::string::npos) << error_of(job);
      const auto base = resolve_job(small_model());
      EXPECT_FALSE(change_job(*base, field.name, value)) << field.name << " " << value;
    }
  }
}

TEST(Job, MorePassesThanAnyModelWalksAreRefused) {
  const std::pair<int64_t, int64_t> splits[] = {{1, 1}, {2, 1}, {96, 1}, {2, 48}, {16, 6}};
  for (const auto& [stages, chunks] : splits) {
    // Interleaving wants a multiple of the stages.
    const int64_t most = std::min<int64_t>(kMostPasses / (stages * chunks), 900'000) / stages * stages;
    for (int64_t microbatches : {most, most + stages}) {
      const auto job = resolve_job(with({{"num_layers", "96"},
                                         {"pipeline_model_parallel_size", std::to_string(stages)},
                                         {"virtual_pipeline_model_parallel_size", std::to_string(chunks)},
                                         {"num_microbatches", std::to_string(microbatches)}}));
      const bool fits = stages * chunks * microbatches <= kMostPasses;
      EXPECT_EQ(job.has_value(), fits) << stages << " " << chunks << " " << microbatches << " " << error_of(job);
      EXPECT_EQ(error_of(job).find("num_microbatches") == std::string::npos, fits) << error_of(job);
    }
  }
}

TEST(Job, AllThatIsMissingIsNamedAtOnce) {
  EXPECT_EQ(error_of(resolve_job({})),
            "the job does not say num_layers, hidden_size, num_attention_heads, seq_length and vocab_size");
  EXPECT_EQ(error_of(resolve_job({{"num_layers", "2"}, {"seq_length", "8"}, {"vocab_size", "9"}})),
            "the job does not say hidden_size and num_attention_heads");
}

void expect_plausible(const Job& job) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  RC_ASSERT(model_parameters(job) > 0);
  RC_ASSERT(padded_vocab_size(job) > 0);
  RC_ASSERT(positive(model_flops(job)));
  if (job.pipeline_model_parallel_size > 1000 || num_chunks(job) * job.num_microbatches > 100'000) return;
  for (int64_t stage = 0; stage < job.pipeline_model_parallel_size; ++stage)
    RC_ASSERT(stage_parameters(job, stage).total() > 0);
  for (const StageMemory& memory : stage_memory(job)) RC_ASSERT(positive(memory.peak()));
  const auto found = estimate(job, test_cluster());
  RC_ASSERT(!found || positive(found->step_ms));
}

// Refused with a reason, or computed without overflow: never anything between.
RC_GTEST_PROP(Job, SizesThatNoJobHasAreRefusedOrHarmless, ()) {
  static const std::vector<std::string> sizes = {"-9223372036854775808",
                                                 "-2147483648",
                                                 "-1",
                                                 "0",
                                                 "1",
                                                 "2",
                                                 "8",
                                                 "4096",
                                                 "1000000",
                                                 "1000000000",
                                                 "2147483647",
                                                 "2147483648",
                                                 "1000000000000",
                                                 "9223372036854775807"};
  std::vector<JobSetting> settings = small_model();
  std::vector<JobSetting> changes;
  for (const JobField& field : job_fields()) {
    if (!std::holds_alternative<int64_t Job::*>(field.member) ||
        *rc::gen::weightedElement<bool>({{1, false}, {5, true}}))
      continue;
    changes.emplace_back(field.name, *rc::gen::elementOf(sizes));
  }
  const auto base = resolve_job(settings);
  settings.insert(settings.end(), changes.begin(), changes.end());
  for (const Result<Job>& job : {resolve_job(settings), change_job(*base, changes)}) {
    if (job) {
      expect_plausible(*job);
    } else {
      RC_ASSERT(job.error().kind == ErrorKind::kUsage);
    }
  }
}

// Alone, the largest value that a field takes.
TEST(Job, TheLargestSizesAreRefusedOrHarmless) {
  for (const JobField& field : job_fields()) {
    if (!std::holds_alternative<int64_t Job::*>(field.member)) continue;
    for (int64_t most = 1; most <= 1'000'000'000'000; most *= 10) {
      const auto job = change_job(*resolve_job(small_model()), field.name, std::to_string(most));
      if (!job) continue;
      EXPECT_GT(model_parameters(*job), 0) << field.name << " " << most;
      EXPECT_GT(model_flops(*job), 0) << field.name << " " << most;
    }
  }
}

TEST(Job, RecomputedLayersAreThoseOfAStage) {
  const std::vector<JobSetting> full = {
      {"recompute_granularity", "full"}, {"pipeline_model_parallel_size", "2"}, {"num_microbatches", "4"}};
  std::vector<JobSetting> more = full;
  more.emplace_back("recompute_num_layers", "5");
  EXPECT_NE(error_of(resolve_job(with(more))).find("recompute_num_layers 5"), std::string::npos);
  more.back().second = "4";
  const auto job = resolve_job(with(more));
  ASSERT_TRUE(job) << error_of(job);
  // What nobody named follows the stages.
  EXPECT_EQ(change_job(*job, "pipeline_model_parallel_size", "4")->recompute_num_layers, 2);
  // However the chunks of a stage are said.
  for (const auto& [name, value] :
       {std::pair("num_layers_per_virtual_pipeline_stage", "2"), std::pair("virtual_pipeline_model_parallel_size", "2"),
        std::pair("num_layers_per_virtual_pipeline_stage", "1")}) {
    const auto chunked = change_job(*job, name, value);
    ASSERT_TRUE(chunked) << name << ": " << error_of(chunked);
    EXPECT_EQ(chunked->recompute_num_layers, chunked->num_layers / num_chunks(*chunked)) << name;
  }
}

TEST(Job, RanksAreOrderedByTheAxesOnceEach) {
  for (const char* order : {"tp-dp-pp", "pp-dp-tp", "tp-cp-ep-dp-pp", "dp-tp-pp"})
    EXPECT_TRUE(resolve_job(with({{"rank_order", order}}))) << order;
  for (const char* order : {"tp-dp", "tp-dp-pp-tp", "tp-dp-pq", "tpdppp", "tp--dp-pp", "-tp-dp-pp"})
    EXPECT_NE(error_of(resolve_job(with({{"rank_order", order}}))).find("rank_order"), std::string::npos) << order;
}

}  // namespace
}  // namespace lumos
