#include "lumos/model/job/megatron_arguments.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lumos/base/toml.h"
#include "lumos/model/cluster/cluster.h"
#include "lumos/model/job/job_fields.h"
#include "lumos/model/job/job_file.h"

namespace lumos {
namespace {

Result<JobFile> job_of(const std::string& toml) {
  const auto value = parse_toml(toml, "job.toml");
  EXPECT_TRUE(value) << (value ? "" : value.error().message);
  return job_from_value(ValueView(*value, "job.toml"));
}

constexpr const char* kModel = R"(
num-layers = 32
hidden-size = 4096
num-attention-heads = 32
seq-length = 4096
vocab-size = 32000
)";

std::string error_of(const std::string& more) {
  const auto file = job_of(kModel + more);
  return file ? "" : file.error().message;
}

std::string as_written(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

TEST(MegatronArguments, ALaunchScriptsArgumentsMakeTheJob) {
  const auto file = job_of(R"(
num-layers = 32
hidden-size = 4096
ffn-hidden-size = 11008
num-attention-heads = 32
group-query-attention = true
num-query-groups = 8
encoder-seq-length = 4096
padded_vocab_size = 32000
swiglu = true
disable-bias-linear = true
normalization = "RMSNorm"
untie-embeddings-and-output-weights = true
use-rotary-position-embeddings = true
no-position-embedding = true
bf16 = true
fp16 = false
params_dtype = "torch.bfloat16"
tensor-model-parallel-size = 2
pipeline-model-parallel-size = 4
num-layers-per-virtual-pipeline-stage = 4
accumulate-allreduce-grads-in-fp32 = true
attention-backend = "unfused"
"--no-masked-softmax-fusion" = true
global-batch-size = 128
nnodes = 4
nproc_per_node = 8
)");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->warnings.empty()) << file->warnings.front();
  const auto same = resolve_job({{"num_layers", "32"},
                                 {"hidden_size", "4096"},
                                 {"ffn_hidden_size", "11008"},
                                 {"num_attention_heads", "32"},
                                 {"num_query_groups", "8"},
                                 {"seq_length", "4096"},
                                 {"vocab_size", "32000"},
                                 {"swiglu", "true"},
                                 {"add_bias_linear", "false"},
                                 {"normalization", "RMSNorm"},
                                 {"untie_embeddings_and_output_weights", "true"},
                                 {"position_embedding_type", "rope"},
                                 {"params_dtype", "bf16"},
                                 {"tensor_model_parallel_size", "2"},
                                 {"pipeline_model_parallel_size", "4"},
                                 {"virtual_pipeline_model_parallel_size", "2"},
                                 {"grad_reduce_in_fp32", "true"},
                                 {"use_flash_attn", "false"},
                                 {"masked_softmax_fusion", "false"},
                                 {"data_parallel_size", "4"},
                                 {"global_batch_size", "128"},
                                 {"gpus_per_node", "8"}});
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(file->job, *same);
}

// Every field, with the dashes of a command line.
TEST(MegatronArguments, DashesAreUnderscores) {
  for (std::string_view field : job_field_names()) {
    EXPECT_EQ(argument_name("--" + as_written(std::string(field))), field);
    EXPECT_EQ(argument_name(field), field);
  }
}

TEST(MegatronArguments, WhatDependsOnOtherArguments) {
  const auto job = [&](const std::string& more) {
    auto file = job_of(kModel + more);
    EXPECT_TRUE(file) << more << (file ? "" : file.error().message);
    return file ? file->job : Job{};
  };
  EXPECT_EQ(job("group-query-attention = true").num_query_groups, 1);
  EXPECT_EQ(job("group-query-attention = false\nnum-query-groups = 1").num_query_groups, 32);
  EXPECT_EQ(job("bf16 = false\nfp16 = false\nuse_flash_attn = false").params_dtype, ParamsType::kFp32);
  EXPECT_EQ(job("fp16 = true").params_dtype, ParamsType::kFp16);
  EXPECT_FALSE(job("swiglu = true\nbias_gelu_fusion = true\nbias_swiglu_fusion = false").bias_gelu_fusion);
  EXPECT_TRUE(job("bias_gelu_fusion = true\nbias_swiglu_fusion = false").bias_gelu_fusion);
  EXPECT_EQ(job("padded_vocab_size = 32768").vocab_size, 32000);
  EXPECT_EQ(job("no-position-embedding = true").position_embedding_type, PositionEmbedding::kNone);
  EXPECT_EQ(job("nnodes = 2\nnproc_per_node = 4\nworld_size = 8").world_size, 8);
}

// Megatron's dump has the switch, off by default, beside the backend that decides.
TEST(MegatronArguments, ABackendOfAttentionDecidesOverASwitchThatIsOff) {
  for (const char* prefix : {"", "AttnBackend."})
    for (const auto& [backend, flash] :
         {std::pair{"flash", true}, std::pair{"fused", true}, std::pair{"unfused", false}, std::pair{"local", false}})
      for (const char* off : {"false", "\"None\""}) {
        const auto file =
            job_of(fmt::format("{}use_flash_attn = {}\nattention_backend = \"{}{}\"\n", kModel, off, prefix, backend));
        ASSERT_TRUE(file) << file.error().message;
        EXPECT_EQ(file->job.use_flash_attn, flash) << prefix << backend;
      }
  // What chooses for itself leaves the word to the switch.
  const auto file = job_of(std::string(kModel) + "use_flash_attn = false\nattention_backend = \"auto\"\n");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_FALSE(file->job.use_flash_attn);
  EXPECT_NE(error_of("use_flash_attn = true\nattention_backend = \"unfused\"").find("leave one of them out"),
            std::string::npos);
}

TEST(MegatronArguments, TwoNamesForOneFieldMustAgree) {
  EXPECT_EQ(error_of("bf16 = true\nparams_dtype = \"bfloat16\""), "");
  EXPECT_EQ(error_of("encoder-num-layers = 32"), "");
  for (const char* more :
       {"bf16 = true\nfp16 = true", "bf16 = true\nparams_dtype = \"fp16\"", "encoder-num-layers = 16",
        "num_layers = 16", "add_bias_linear = true\ndisable-bias-linear = true"})
    EXPECT_NE(error_of(more).find("leave one of them out"), std::string::npos) << more << ": " << error_of(more);
  const std::string chunks = error_of(
      "pipeline-model-parallel-size = 4\nnum-layers-per-virtual-pipeline-stage = 4\n"
      "virtual-pipeline-model-parallel-size = 4\n");
  EXPECT_NE(chunks.find("leave one of them out"), std::string::npos) << chunks;
  const std::string uneven = error_of("pipeline-model-parallel-size = 4\nnum-layers-per-virtual-pipeline-stage = 3\n");
  EXPECT_NE(uneven.find("does not divide"), std::string::npos) << uneven;
}

TEST(MegatronArguments, WhatIsNotModelledIsRefusedByNameWhenItIsAskedFor) {
  for (const char* name :
       {"num-experts", "multi-latent-attention", "window-size", "mtp-num-layers", "fp8-format", "use-torch-fsdp2",
        "decoder-first-pipeline-num-layers", "pipeline-model-parallel-layout", "optimizer-cpu-offload"}) {
    const std::string asked = error_of(fmt::format("{} = 4", name));
    EXPECT_NE(asked.find(argument_name(name) + " 4 is not supported: "), std::string::npos) << asked;
    EXPECT_EQ(error_of(fmt::format("{} = 0", name)), "");
    EXPECT_EQ(error_of(fmt::format("{} = false", name)), "");
    EXPECT_EQ(error_of(fmt::format("{} = \"None\"", name)), "");
  }
  EXPECT_NE(error_of("context-parallel-size = 2").find("context_parallel_size 2 is not modelled"), std::string::npos);
  EXPECT_EQ(error_of("context-parallel-size = 1"), "");
}

TEST(MegatronArguments, AWindowOfTheWholeSequenceIsNone) {
  for (const char* whole : {"[-1, -1]", "[-1, 0]", "\"(-1, -1)\"", "-1"})
    EXPECT_EQ(error_of(fmt::format("window_size = {}", whole)), "") << whole;
  for (const char* part : {"[128, 0]", "[-1, 128]", "[128, -1]"})
    EXPECT_NE(error_of(fmt::format("window_size = {}", part))
                  .find(fmt::format("window_size {} is not supported: attention is modelled", part)),
              std::string::npos)
        << part;
  // What holds other shapes is told as it is.
  const std::string layout = error_of("pipeline_model_parallel_layout = [[\"embedding\"], [{ decoder = 2 }]]");
  EXPECT_NE(layout.find("pipeline_model_parallel_layout [[embedding], [{decoder: 2}]] is not supported"),
            std::string::npos)
      << layout;
}

TEST(MegatronArguments, EachNameThatIsNotReadIsSaidWithWhy) {
  const auto file = job_of(std::string(kModel) + R"(
lr = 3e-4
train-iters = 100
data-path = ["a", "b"]
qk-layernorm = true
hidden-droput = 0.0
)");
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->warnings.size(), 3u);
  EXPECT_EQ(file->warnings[0], "not read from the job file: hidden_droput (did you mean hidden_dropout?)");
  EXPECT_EQ(file->warnings[1], "without effect on the time of a step: data_path, lr, train_iters");
  EXPECT_EQ(file->warnings[2], "not modelled, and left out of what is predicted: qk_layernorm");
}

// A family of names must not swallow a field, or a name that is translated to one.
TEST(MegatronArguments, NoFieldIsSaidToBeWithoutEffect) {
  for (std::string_view field : job_field_names()) EXPECT_EQ(argument_use(field), ArgumentUse::kUnknown) << field;
  for (const ClusterField& field : cluster_fields())
    EXPECT_EQ(argument_use(field.name), ArgumentUse::kUnknown) << field.name;
  for (std::string_view name : translated_argument_names())
    EXPECT_EQ(argument_use(name), ArgumentUse::kUnknown) << name;
}

TEST(MegatronArguments, SettingsOfAJobComeOutAsTheyWere) {
  const auto file = job_of(kModel);
  ASSERT_TRUE(file);
  const auto translated = settings_from_arguments(job_settings(file->job));
  ASSERT_TRUE(translated) << translated.error().message;
  EXPECT_EQ(*resolve_job(*translated), file->job);
}

}  // namespace
}  // namespace lumos
