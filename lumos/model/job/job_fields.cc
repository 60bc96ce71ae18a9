#include "lumos/model/job/job_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

namespace lumos {
namespace {

template <class E>
struct Spelling {
  std::string_view text;
  E value;
};

// The first spelling of a value is the one written; the others are read too.
constexpr Spelling<PipelineSchedule> kSchedules[] = {{"1f1b", PipelineSchedule::kOneForwardOneBackward},
                                                     {"gpipe", PipelineSchedule::kGpipe},
                                                     {"interleaved", PipelineSchedule::kInterleaved}};
constexpr Spelling<Recompute> kRecomputes[] = {{"", Recompute::kNone},
                                               {"none", Recompute::kNone},
                                               {"selective", Recompute::kSelective},
                                               {"full", Recompute::kFull}};
constexpr Spelling<RecomputeMethod> kMethods[] = {
    {"uniform", RecomputeMethod::kUniform}, {"", RecomputeMethod::kUniform}, {"block", RecomputeMethod::kBlock}};
constexpr Spelling<Normalization> kNorms[] = {{"LayerNorm", Normalization::kLayerNorm},
                                              {"layernorm", Normalization::kLayerNorm},
                                              {"RMSNorm", Normalization::kRmsNorm},
                                              {"rmsnorm", Normalization::kRmsNorm}};
constexpr Spelling<PositionEmbedding> kPositions[] = {{"learned_absolute", PositionEmbedding::kLearnedAbsolute},
                                                      {"rope", PositionEmbedding::kRope},
                                                      {"none", PositionEmbedding::kNone}};
constexpr Spelling<ParamsType> kTypes[] = {{"bf16", ParamsType::kBf16},    {"bfloat16", ParamsType::kBf16},
                                           {"fp16", ParamsType::kFp16},    {"float16", ParamsType::kFp16},
                                           {"half", ParamsType::kFp16},    {"fp32", ParamsType::kFp32},
                                           {"float32", ParamsType::kFp32}, {"float", ParamsType::kFp32}};
constexpr Spelling<Optimizer> kOptimizers[] = {{"adam", Optimizer::kAdam}, {"sgd", Optimizer::kSgd}};

template <class E>
constexpr auto& spellings() {
  if constexpr (std::is_same_v<E, PipelineSchedule>) return kSchedules;
  if constexpr (std::is_same_v<E, Recompute>) return kRecomputes;
  if constexpr (std::is_same_v<E, RecomputeMethod>) return kMethods;
  if constexpr (std::is_same_v<E, Normalization>) return kNorms;
  if constexpr (std::is_same_v<E, PositionEmbedding>) return kPositions;
  if constexpr (std::is_same_v<E, ParamsType>) return kTypes;
  if constexpr (std::is_same_v<E, Optimizer>) return kOptimizers;
}

/// Whether a number can be cast to T at all.
template <class T>
bool fits(double real) {
  const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
  return real < end && real >= (std::is_signed_v<T> ? -end : 0);
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  if (auto [stop, error] = std::from_chars(text.data(), end, value); error == std::errc() && stop == end) return true;
  if constexpr (std::is_integral_v<T>) {
    // "1e5" and "4096.0" are how some tools write whole numbers.
    double real = 0;
    auto [stop, error] = std::from_chars(text.data(), end, real);
    if (error != std::errc() || stop != end || !fits<T>(real) || real != std::trunc(real)) return false;
    value = static_cast<T>(real);
    return true;
  }
  return false;
}

template <class T>
Status parse_into(T& value, std::string_view name, std::string_view text) {
  if constexpr (std::is_same_v<T, std::string>) {
    value = text;
    return {};
  } else if constexpr (std::is_same_v<T, bool>) {
    if (text == "true" || text == "1" || text == "True") return value = true, Status{};
    if (text == "false" || text == "0" || text == "False") return value = false, Status{};
    return fail(ErrorKind::kUsage, "{}: '{}' is not true or false", name, text);
  } else if constexpr (std::is_enum_v<T>) {
    std::string known;
    for (const auto& spelling : spellings<T>()) {
      if (spelling.text == text) return value = spelling.value, Status{};
      if (!spelling.text.empty()) known += (known.empty() ? "" : ", ") + std::string(spelling.text);
    }
    return fail(ErrorKind::kUsage, "{}: '{}' is not one of {}", name, text, known);
  } else {
    if (parse_number(text, value)) return {};
    return fail(ErrorKind::kUsage, "{}: '{}' is not {}", name, text,
                std::is_integral_v<T> ? "a whole number" : "a number");
  }
}

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    for (const auto& spelling : spellings<T>()) {
      if (spelling.value == value) return std::string(spelling.text);
    }
    return "";
  } else {
    return fmt::format("{}", value);
  }
}

/// And one field for each dimension whose setting is not among `fields`.
std::vector<JobField> with_further_sizes(std::vector<JobField> fields) {
  const size_t members = fields.size();
  for (size_t i = 0; i < dimension_table().size(); ++i) {
    const std::string_view setting = dimension_table()[i].setting;
    const bool known = std::any_of(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(members),
                                   [&](const JobField& field) { return field.name == setting; });
    if (!setting.empty() && !known) fields.push_back({setting, FurtherSize{Dimension(i)}});
  }
  return fields;
}

}  // namespace

const std::vector<JobField>& job_fields() {
#define FIELD(name) \
  JobField { #name, &Job::name }
  static const std::vector<JobField> fields = with_further_sizes({
      FIELD(model_name),
      FIELD(num_layers),
      FIELD(hidden_size),
      FIELD(ffn_hidden_size),
      FIELD(num_attention_heads),
      FIELD(num_query_groups),
      FIELD(kv_channels),
      FIELD(seq_length),
      FIELD(max_position_embeddings),
      FIELD(vocab_size),
      FIELD(make_vocab_size_divisible_by),
      FIELD(swiglu),
      FIELD(add_bias_linear),
      FIELD(untie_embeddings_and_output_weights),
      FIELD(normalization),
      FIELD(position_embedding_type),
      FIELD(hidden_dropout),
      FIELD(attention_dropout),
      FIELD(params_dtype),
      FIELD(optimizer),
      FIELD(clip_grad),
      FIELD(use_flash_attn),
      FIELD(bias_gelu_fusion),
      FIELD(bias_dropout_fusion),
      FIELD(masked_softmax_fusion),
      FIELD(cross_entropy_loss_fusion),
      FIELD(gradient_accumulation_fusion),
      FIELD(async_tensor_model_parallel_allreduce),
      FIELD(grad_reduce_in_fp32),
      FIELD(world_size),
      FIELD(gpus_per_node),
      FIELD(tensor_model_parallel_size),
      FIELD(pipeline_model_parallel_size),
      FIELD(data_parallel_size),
      FIELD(context_parallel_size),
      FIELD(expert_model_parallel_size),
      FIELD(virtual_pipeline_model_parallel_size),
      FIELD(sequence_parallel),
      FIELD(use_distributed_optimizer),
      FIELD(rank_order),
      FIELD(micro_batch_size),
      FIELD(global_batch_size),
      FIELD(num_microbatches),
      FIELD(pipeline_schedule),
      FIELD(overlap_grad_reduce),
      FIELD(overlap_param_gather),
      FIELD(overlap_p2p_comm),
      FIELD(batch_p2p_sync),
      FIELD(scatter_gather_tensors_in_pipeline),
      FIELD(ddp_bucket_size),
      FIELD(recompute_granularity),
      FIELD(recompute_method),
      FIELD(recompute_num_layers),
  });
#undef FIELD
  return fields;
}

const JobField* find_job_field(std::string_view name) {
  for (const JobField& field : job_fields()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

Status set_job_field(Job& job, const JobField& field, std::string_view text) {
  return std::visit([&](auto member) { return parse_into(field_at(job, member), field.name, text); }, field.member);
}

std::string job_field_text(const Job& job, const JobField& field) {
  return std::visit([&](auto member) { return text_of(field_at(job, member)); }, field.member);
}

}  // namespace lumos
