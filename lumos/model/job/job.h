// A training job: the model, how it is split over GPUs and how a batch goes through it, under Megatron's argument
// names. Made by model/job/job_file from a job file and by resolve_job from settings; read by every model, by program/
// and by search/. A Job that left resolve_job is consistent: its derived sizes agree and its splits divide.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/parallel/dimension.h"

namespace lumos {

enum class PipelineSchedule : uint8_t { kOneForwardOneBackward, kGpipe, kInterleaved };
enum class Recompute : uint8_t { kNone, kSelective, kFull };
enum class RecomputeMethod : uint8_t { kUniform, kBlock };
enum class Normalization : uint8_t { kLayerNorm, kRmsNorm };
enum class PositionEmbedding : uint8_t { kLearnedAbsolute, kRope, kNone };
enum class ParamsType : uint8_t { kBf16, kFp16, kFp32 };
enum class Optimizer : uint8_t { kAdam, kSgd };

/// Which sizes of a model nobody gave: they follow hidden_size and num_attention_heads where these change. That says
/// where a job comes from, not what it is: jobs are equal without regard to it.
struct FollowingSizes {
  bool ffn_hidden_size = false, kv_channels = false;

  bool operator==(const FollowingSizes&) const { return true; }
};

/// Members along dimensions, by Dimension.
struct FurtherSizes {
  std::array<int64_t, kMostDimensions> members;

  FurtherSizes() { members.fill(1); }
  int64_t& operator[](Dimension dimension) { return members[static_cast<size_t>(dimension)]; }
  const int64_t& operator[](Dimension dimension) const { return members[static_cast<size_t>(dimension)]; }
  bool operator==(const FurtherSizes&) const = default;
};

/// All fields have their final values; sizes count elements, samples or layers. `ddp_bucket_size` counts parameters.
struct Job {
  std::string model_name;

  // The model.
  int64_t num_layers = 0;
  int64_t hidden_size = 0;
  int64_t ffn_hidden_size = 0;
  int64_t num_attention_heads = 0;
  int64_t num_query_groups = 0;  ///< heads of keys and values; equal to num_attention_heads without grouping
  int64_t kv_channels = 0;       ///< size of one head
  int64_t seq_length = 0;
  int64_t max_position_embeddings = 0;
  int64_t vocab_size = 0;
  int64_t make_vocab_size_divisible_by = 128;  ///< 0: not padded, every rank holds vocab_size / TP rounded down
  bool swiglu = false;
  bool add_bias_linear = true;
  bool untie_embeddings_and_output_weights = false;
  Normalization normalization = Normalization::kLayerNorm;
  PositionEmbedding position_embedding_type = PositionEmbedding::kLearnedAbsolute;
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;

  // Numbers and kernels.
  ParamsType params_dtype = ParamsType::kBf16;
  Optimizer optimizer = Optimizer::kAdam;
  double clip_grad = 1.0;  ///< 0: no clipping
  bool use_flash_attn = true;
  bool bias_gelu_fusion = true;
  bool bias_dropout_fusion = true;
  bool masked_softmax_fusion = true;
  bool cross_entropy_loss_fusion = false;
  bool gradient_accumulation_fusion = true;
  bool async_tensor_model_parallel_allreduce = true;  ///< backward TP collectives run beside the weight gradients
  bool grad_reduce_in_fp32 = false;

  // The split.
  int64_t world_size = 1;
  int64_t gpus_per_node = 8;
  int64_t tensor_model_parallel_size = 1;
  int64_t pipeline_model_parallel_size = 1;
  int64_t data_parallel_size = 1;
  int64_t context_parallel_size = 1;
  int64_t expert_model_parallel_size = 1;
  FurtherSizes further_sizes;                        ///< along the dimensions of the table that have no member here
  int64_t virtual_pipeline_model_parallel_size = 1;  ///< model chunks per stage; 1: not interleaved
  bool sequence_parallel = false;
  bool use_distributed_optimizer = false;
  std::string rank_order = "tp-dp-pp";

  // The batch and its way through the pipeline.
  int64_t micro_batch_size = 1;
  int64_t global_batch_size = 1;
  int64_t num_microbatches = 1;
  PipelineSchedule pipeline_schedule = PipelineSchedule::kOneForwardOneBackward;
  bool overlap_grad_reduce = false;
  bool overlap_param_gather = false;
  bool overlap_p2p_comm = false;
  bool batch_p2p_sync = true;
  bool scatter_gather_tensors_in_pipeline = false;  ///< TP ranks send a part each and gather it in their node
  int64_t ddp_bucket_size = 0;                      ///< parameters per gradient bucket; 0: Megatron's own choice
  Recompute recompute_granularity = Recompute::kNone;
  RecomputeMethod recompute_method = RecomputeMethod::kUniform;
  int64_t recompute_num_layers = 1;

  FollowingSizes follows;

  bool operator==(const Job&) const = default;
};

/// Samples of a global batch: more is a slip of the keyboard.
inline constexpr int64_t kLargestBatch = 1'000'000'000'000;

/// Forward passes of a step, over all stages, chunks and micro-batches: every model walks them one by one, with 32
/// bytes for each, and more of them than that would take minutes. Real jobs have thousands.
inline constexpr int64_t kMostPasses = 10'000'000;

/// One setting as the user wrote it: "tensor_model_parallel_size", "4". An empty value or "null" unsets.
using JobSetting = std::pair<std::string, std::string>;

/// A new job from nothing but settings. Besides the fields, Megatron's num_layers_per_virtual_pipeline_stage is read.
/// Sizes that were not given follow from those that were. Errors (kUsage) name the two values that contradict, or the
/// reason why the split is impossible. `unknown` receives the names nobody reads.
Result<Job> resolve_job(const std::vector<JobSetting>& settings, std::vector<std::string>* unknown = nullptr);

/// `job` with all of `settings` changed at once. What follows from them is worked out anew: world_size from the split,
/// global_batch_size from the micro-batches, sizes of the model that nobody gave; a setting named here wins over what
/// the job had. Unknown names are errors.
Result<Job> change_job(const Job& job, const std::vector<JobSetting>& settings);

/// One setting of a job changed; see change_job.
Result<Job> change_job(const Job& job, std::string_view name, std::string_view value);

/// The width of the feed-forward part that Megatron takes where nobody says one.
int64_t usual_ffn_hidden_size(const Job& job);
/// The size of a head likewise. Errors (kUsage) where the heads do not share the hidden size.
Result<int64_t> usual_kv_channels(const Job& job);

/// The settings that give this job again, every field once, in the order of the struct.
std::vector<JobSetting> job_settings(const Job& job);

/// Names of all fields in the order of the struct.
std::vector<std::string_view> job_field_names();

/// Whether change_job reads a setting of that name.
bool is_job_setting(std::string_view name);

/// Why the job cannot run, or success. resolve_job and change_job have called it.
Status check_job(const Job& job);

/// Vocabulary rounded up so that every tensor-parallel rank holds the same, as Megatron pads it.
int64_t padded_vocab_size(const Job& job);

/// Ranks of one replica: members along all dimensions but that of the data.
int64_t replica_size(const Job& job);

/// Pipeline stages times chunks: the pieces the layers are dealt to, in order.
int64_t num_chunks(const Job& job);

/// Bytes of one parameter or activation element.
int64_t element_bytes(const Job& job);

}  // namespace lumos
