#include "lumos/program/change/job_effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lumos/model/job/job_fields.h"
#include "lumos/plan/ops/layout.h"
#include "lumos/plan/optimizer.h"
#include "lumos/plan/parameters.h"

namespace lumos {
namespace {

bool is_zero(double value) { return value == 0; }

/// Kernels of another kind, which the traced ones cannot be scaled to.
constexpr std::array<std::string_view, 16> kOtherKernels = {"context_parallel_size",
                                                            "expert_model_parallel_size",
                                                            "swiglu",
                                                            "add_bias_linear",
                                                            "normalization",
                                                            "position_embedding_type",
                                                            "use_flash_attn",
                                                            "optimizer",
                                                            "bias_gelu_fusion",
                                                            "bias_dropout_fusion",
                                                            "masked_softmax_fusion",
                                                            "cross_entropy_loss_fusion",
                                                            "gradient_accumulation_fusion",
                                                            "async_tensor_model_parallel_allreduce",
                                                            "scatter_gather_tensors_in_pipeline",
                                                            "recompute_method"};

bool full_before_and_after(const Job& base, const Job& target) {
  return base.recompute_granularity == Recompute::kFull && target.recompute_granularity == Recompute::kFull;
}

/// Whether two jobs differ in buckets that are reduced, or gathered, while the passes run.
bool overlaps_replicas(const Job& job) { return job.data_parallel_size > 1 && job.overlap_grad_reduce; }

/// Why a changed field of kOtherKernels does nothing after all; "" where it does.
std::string_view why_unused(std::string_view field, const Job& base, const Job& target) {
  const bool one_part = base.tensor_model_parallel_size == 1 && target.tensor_model_parallel_size == 1;
  const bool one_stage = base.pipeline_model_parallel_size == 1 && target.pipeline_model_parallel_size == 1;
  if (field == "masked_softmax_fusion" && base.use_flash_attn && target.use_flash_attn)
    return "fused attention computes its softmax itself";
  if (field == "async_tensor_model_parallel_allreduce" && one_part) return "no tensor is split over ranks";
  if (field == "scatter_gather_tensors_in_pipeline") {
    if (one_part) return "no tensor is split over ranks";
    if (one_stage) return "no stage sends to another";
    if (base.sequence_parallel && target.sequence_parallel) return "with sequence parallelism ranks send parts anyway";
  }
  if (field == "recompute_method" && !full_before_and_after(base, target)) {
    return target.recompute_granularity == Recompute::kFull ? "" : "only full recomputation has a method";
  }
  return "";
}

tl::unexpected<Error> no_such_work(std::string_view field, const Job& base, const Job& target) {
  const JobField& of = *find_job_field(field);
  const auto text = [&](const Job& job) {
    const std::string value = job_field_text(job, of);
    return value.empty() ? std::string("none") : value;
  };
  return fail(ErrorKind::kUsage,
              "{} = {} instead of {}: the traced program has no such work to copy; trace a run that has it", field,
              text(target), text(base));
}

/// What dropout does costs the same at any rate but none.
bool turns_on_or_off(std::string_view field, const Job& base, const Job& target) {
  if (field == "hidden_dropout") return is_zero(base.hidden_dropout) != is_zero(target.hidden_dropout);
  if (field == "attention_dropout") return is_zero(base.attention_dropout) != is_zero(target.attention_dropout);
  return field == "clip_grad" && is_zero(base.clip_grad) != is_zero(target.clip_grad);
}

Status check_types(const Job& base, const Job& target) {
  const bool widens = target.params_dtype == ParamsType::kFp32 && base.params_dtype != ParamsType::kFp32;
  if (!widens || !target.use_flash_attn) return {};
  return fail(ErrorKind::kUsage,
              "params_dtype = {} instead of {}: the fused attention of 16-bit numbers (use_flash_attn) has no form for "
              "it, and the "
              "traced program has no other to copy",
              job_field_text(target, *find_job_field("params_dtype")),
              job_field_text(base, *find_job_field("params_dtype")));
}

/// The layers that a block-wise recomputation leaves out cannot be told from traces that recompute all, nor the
/// reverse.
Status check_recomputed_layers(const Job& base, const Job& target) {
  const bool block =
      base.recompute_method == RecomputeMethod::kBlock || target.recompute_method == RecomputeMethod::kBlock;
  const bool differs =
      base.recompute_num_layers != target.recompute_num_layers || base.recompute_method != target.recompute_method;
  if (full_before_and_after(base, target) && block && differs)
    return no_such_work(base.recompute_method != target.recompute_method ? "recompute_method" : "recompute_num_layers",
                        base, target);
  return {};
}

/// Every group, and every pair of neighbouring stages, lies on nodes as it did.
bool lies_on_nodes_alike(const Job& base, const Job& target) {
  const Mesh before = mesh_of(base), after = mesh_of(target);
  for (size_t i = 0; i < dimension_table().size(); ++i)
    if (!(before.shape(Dimension(i)) == after.shape(Dimension(i)))) return false;
  const int64_t stages = target.pipeline_model_parallel_size;
  if (base.pipeline_model_parallel_size != stages) return false;
  for (int64_t stage = 0; stage < stages; ++stage)
    if (!(stage_border(before, stage) == stage_border(after, stage))) return false;
  return std::min(base.world_size, base.gpus_per_node) == std::min(target.world_size, target.gpus_per_node);
}

/// Why a changed field leaves the step as it is; "" where it changes it.
std::string_view reason(std::string_view field, const Job& base, const Job& target) {
  if (field == "model_name") return "it is a name";
  if (field == "grad_reduce_in_fp32" && gradient_bytes(base) == gradient_bytes(target))
    return "the gradients are of 32 bits anyway";
  if (field == "hidden_dropout" || field == "attention_dropout") return "masks cost the same at any rate above 0";
  if (field == "clip_grad") return "the norm costs the same whatever it is compared with";
  if (field == "max_position_embeddings" && model_parameters(base) == model_parameters(target))
    return "the model has no table of positions";
  if (field == "make_vocab_size_divisible_by" && padded_vocab_size(base) == padded_vocab_size(target))
    return "the padded vocabulary stays as large";
  if (field == "overlap_p2p_comm" || field == "batch_p2p_sync") {
    return base.pipeline_model_parallel_size == 1 && target.pipeline_model_parallel_size > 1 ? ""
           : target.pipeline_model_parallel_size == 1 ? "no stage sends to another"
                                                      : "exchanges between stages keep the form that the traces show";
  }
  if (field == "use_distributed_optimizer" && target.data_parallel_size == 1) return "there is one replica";
  if (field == "overlap_grad_reduce" && target.data_parallel_size == 1) return "there is one replica";
  if (field == "overlap_param_gather" && (target.data_parallel_size == 1 || !target.use_distributed_optimizer))
    return "no parameters are gathered";
  if (field == "ddp_bucket_size" && !(overlaps_replicas(base) && overlaps_replicas(target)))
    return "buckets count only where gradients are reduced beside the backward passes before and after; else all are "
           "in "
           "one";
  if ((field == "rank_order" || field == "gpus_per_node") && lies_on_nodes_alike(base, target))
    return "every group has as many ranks on a node as before";
  if (field == "recompute_num_layers" || field == "recompute_method") {
    if (target.recompute_granularity != Recompute::kFull) return "only full recomputation counts layers";
    if (target.recompute_method == RecomputeMethod::kUniform)
      return "all layers are recomputed, however many at a time";
  }
  return why_unused(field, base, target);
}

}  // namespace

std::vector<std::string_view> changed_fields(const Job& base, const Job& target) {
  std::vector<std::string_view> changed;
  for (const JobField& field : job_fields())
    if (job_field_text(base, field) != job_field_text(target, field)) changed.push_back(field.name);
  return changed;
}

Status check_changes(const Job& base, const Job& target) {
  TRY_STATUS(check_recomputed_layers(base, target));
  for (std::string_view field : changed_fields(base, target)) {
    const bool further = std::holds_alternative<FurtherSize>(find_job_field(field)->member);
    const bool other = further || std::find(kOtherKernels.begin(), kOtherKernels.end(), field) != kOtherKernels.end();
    if (turns_on_or_off(field, base, target)) return no_such_work(field, base, target);
    if (other && field != "recompute_method" && why_unused(field, base, target).empty())
      return no_such_work(field, base, target);
  }
  return check_types(base, target);
}

std::vector<std::string> changes_without_effect(const Job& base, const Job& target) {
  std::vector<std::string> sentences;
  for (std::string_view field : changed_fields(base, target)) {
    const std::string_view why = reason(field, base, target);
    if (!why.empty()) sentences.push_back(fmt::format("{} has no effect on the prediction: {}", field, why));
  }
  return sentences;
}

}  // namespace lumos
