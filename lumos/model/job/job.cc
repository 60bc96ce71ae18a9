#include "lumos/model/job/job.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "lumos/model/job/job_fields.h"

namespace lumos {
namespace {

constexpr std::string_view kChunks = "virtual_pipeline_model_parallel_size";
constexpr std::string_view kLayersPerChunk = "num_layers_per_virtual_pipeline_stage";

/// Which fields the caller named; the others may follow from them.
using Given = std::function<bool(std::string_view)>;

bool is_unset(std::string_view text) { return text.empty() || text == "null"; }

Given given_in(const std::vector<JobSetting>& settings) {
  return [&settings](std::string_view name) {
    return std::any_of(settings.begin(), settings.end(),
                       [&](const JobSetting& s) { return s.first == name && !is_unset(s.second); });
  };
}

/// Sizes beyond this are slips of the keyboard.
constexpr int64_t kLargestSize = 1'000'000;
/// Parameters of a bucket may be more.
constexpr int64_t kLargestBucket = 1'000'000'000'000;
/// What is multiplied out of sizes: parameters, numbers of a micro-batch's widest activation, tokens of a step. Times
/// the bytes of each and whatever else is counted per layer or kernel it still fits into 64 bits.
constexpr double kLargestProduct = 1e15;

struct IntegerRange {
  int64_t least = 1, most = kLargestSize;
};

IntegerRange range_of(std::string_view name) {
  if (name == "ddp_bucket_size") return {0, kLargestBucket};
  if (name == "make_vocab_size_divisible_by") return {0, kLargestSize};
  if (name == "vocab_size" || name == "seq_length" || name == "max_position_embeddings") return {1, 1'000'000'000};
  if (name == "global_batch_size") return {1, kLargestBatch};
  return {};
}

/// Both ends belong to the range but that of a probability, which drops not all.
Status check_range(const Job& job, const JobField& field) {
  const auto* member = std::get_if<int64_t Job::*>(&field.member);
  const auto* further = std::get_if<FurtherSize>(&field.member);
  if (member != nullptr || further != nullptr) {
    const IntegerRange range = range_of(field.name);
    const int64_t value = member != nullptr ? job.**member : field_at(job, *further);
    if (value >= range.least && value <= range.most) return {};
    return fail(ErrorKind::kUsage, "{} {} is out of range: {} to {}", field.name, value, range.least, range.most);
  }
  const auto* real = std::get_if<double Job::*>(&field.member);
  if (real == nullptr) return {};
  const double value = job.**real;
  const bool probability = field.name.ends_with("dropout");
  if (std::isfinite(value) && value >= 0 && (!probability || value < 1)) return {};
  return fail(ErrorKind::kUsage, "{} {} is out of range: {}", field.name, value,
              probability ? "0 to less than 1" : "0 or more");
}

Status check_ranges(const Job& job) {
  for (const JobField& field : job_fields()) TRY_STATUS(check_range(job, field));
  return {};
}

/// Applies the settings in order. Null puts the default back. Unknown names go to `unknown`, or are an error without
/// it.
Status apply(Job& job, const std::vector<JobSetting>& settings, std::vector<std::string>* unknown) {
  static const Job kDefaults;
  for (const auto& [name, text] : settings) {
    const JobField* field = find_job_field(name);
    if (name == kLayersPerChunk) continue;  // see derive_chunks
    if (field == nullptr) {
      if (unknown == nullptr) return fail(ErrorKind::kUsage, "no setting of a job is called '{}'", name);
      unknown->push_back(name);
    } else if (is_unset(text)) {
      std::visit([&](auto member) { field_at(job, member) = field_at(kDefaults, member); }, field->member);
    } else {
      TRY_STATUS(set_job_field(job, *field, text));
      TRY_STATUS(check_range(job, *field));
    }
  }
  return {};
}

double real(int64_t value) { return static_cast<double>(value); }

/// Sizes that are each in range may still multiply to what no machine holds, nor 64 bits.
Status check_product(std::string_view what, double value, double most) {
  if (value <= most) return {};
  return fail(ErrorKind::kUsage, "{} is out of range: {:.3g}, at most {:.0e}", what, value, most);
}

Status check_ranks(const Job& job) {
  double ranks = real(job.tensor_model_parallel_size) * real(job.pipeline_model_parallel_size) *
                 real(job.context_parallel_size) * real(job.data_parallel_size);
  for (int64_t members : job.further_sizes.members) ranks *= real(members);
  return check_product("tensor x pipeline x context x data parallel size", ranks, real(kLargestSize));
}

/// All that the models multiply, in floating point. The fields are in their ranges.
Status check_products(const Job& job) {
  TRY_STATUS(check_ranks(job));
  const double hidden = real(job.hidden_size), ffn_in = real(job.ffn_hidden_size) * (job.swiglu ? 2 : 1);
  const double queries = real(job.num_attention_heads) * real(job.kv_channels);
  const double qkv = queries + 2 * real(job.num_query_groups) * real(job.kv_channels);
  const double vocabulary =
      real(job.vocab_size) + real(job.make_vocab_size_divisible_by) * real(job.tensor_model_parallel_size);
  const double layer = hidden * (qkv + queries + ffn_in + real(job.ffn_hidden_size) + 8);
  TRY_STATUS(
      check_product("number of parameters",
                    real(job.num_layers) * layer + hidden * (2 * vocabulary + real(job.max_position_embeddings) + 2),
                    kLargestProduct));
  TRY_STATUS(
      check_product("micro_batch_size x seq_length x the widest layer",
                    real(job.micro_batch_size) * real(job.seq_length) * std::max({hidden, qkv, ffn_in, vocabulary}),
                    kLargestProduct));
  TRY_STATUS(check_product("global_batch_size x seq_length", real(job.global_batch_size) * real(job.seq_length),
                           kLargestProduct));
  return check_product("pipeline stages x model chunks x num_microbatches",
                       real(num_chunks(job)) * real(job.num_microbatches), real(kMostPasses));
}

/// world_size = TP x PP x CP x DP: the replica is what the split says, so DP follows a world that was asked for.
Status derive_world(Job& job, const Given& given) {
  if (!given("world_size") || given("data_parallel_size")) TRY_STATUS(check_ranks(job));
  const int64_t replica = replica_size(job);
  if (replica <= 0) return fail(ErrorKind::kUsage, "parallel sizes must be at least 1");
  if (given("world_size") && !given("data_parallel_size")) {
    if (job.world_size % replica != 0) {
      return fail(ErrorKind::kUsage, "world_size {} is not a multiple of tensor x pipeline parallel size {}",
                  job.world_size, replica);
    }
    job.data_parallel_size = job.world_size / replica;
  } else if (!given("world_size")) {
    job.world_size = replica * job.data_parallel_size;
  }
  return {};
}

/// global_batch_size = micro_batch_size x DP x num_microbatches: whichever of the last and the first was asked for.
Status derive_batch(Job& job, const Given& given) {
  const int64_t samples = job.micro_batch_size * job.data_parallel_size;
  if (samples <= 0) return fail(ErrorKind::kUsage, "micro_batch_size and data_parallel_size must be at least 1");
  if (given("global_batch_size") && !given("num_microbatches")) {
    if (job.global_batch_size % samples != 0) {
      return fail(ErrorKind::kUsage,
                  "global_batch_size {} is not a multiple of micro_batch_size {} x data_parallel_size {}",
                  job.global_batch_size, job.micro_batch_size, job.data_parallel_size);
    }
    job.num_microbatches = job.global_batch_size / samples;
  } else if (!given("global_batch_size")) {
    job.global_batch_size = samples * job.num_microbatches;
  }
  return {};
}

/// Megatron's other way to say how many chunks a stage has: `layers` is how many layers one of them holds.
Status derive_chunks(Job& job, const std::vector<JobSetting>& settings) {
  const Given given = given_in(settings);
  if (!given(kLayersPerChunk)) return {};
  std::string_view layers;
  for (const JobSetting& setting : settings)
    if (setting.first == kLayersPerChunk) layers = setting.second;
  Job read;
  TRY_STATUS(set_job_field(read, *find_job_field("num_layers"), layers));
  const int64_t stages = std::max<int64_t>(job.pipeline_model_parallel_size, 1), each = read.num_layers;
  if (each < 1 || job.num_layers % stages != 0 || job.num_layers / stages % each != 0) {
    return fail(ErrorKind::kUsage, "{} {} does not divide the {} layers of {} pipeline stages", kLayersPerChunk, layers,
                job.num_layers, stages);
  }
  const int64_t chunks = job.num_layers / stages / each;
  if (given(kChunks) && job.virtual_pipeline_model_parallel_size != chunks) {
    return fail(ErrorKind::kUsage, "{} {} contradicts {} {}: leave one of them out", kLayersPerChunk, layers, kChunks,
                job.virtual_pipeline_model_parallel_size);
  }
  job.virtual_pipeline_model_parallel_size = chunks;
  return {};
}

/// The schedule and the number of chunks say the same thing twice; the one that was named wins.
void derive_schedule(Job& job, const Given& given) {
  const bool interleaved = job.pipeline_schedule == PipelineSchedule::kInterleaved;
  if (given("pipeline_schedule") && !interleaved && !given(kChunks) && !given(kLayersPerChunk)) {
    job.virtual_pipeline_model_parallel_size = 1;
  } else if (!given("pipeline_schedule")) {
    if (job.virtual_pipeline_model_parallel_size > 1) {
      job.pipeline_schedule = PipelineSchedule::kInterleaved;
    } else if (interleaved) {
      job.pipeline_schedule = PipelineSchedule::kOneForwardOneBackward;
    }
  }
}

/// Megatron turns sequence parallelism off where there is no tensor parallelism to split the sequence over.
void derive_sequence_parallel(Job& job) {
  if (job.tensor_model_parallel_size == 1) job.sequence_parallel = false;
}

Status derive_all(Job& job, const Given& given) {
  TRY_STATUS(derive_world(job, given));
  TRY_STATUS(derive_batch(job, given));
  derive_schedule(job, given);
  derive_sequence_parallel(job);
  return check_job(job);
}

/// "a, b and c".
std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
  return text;
}

/// The sizes that nobody gave.
Status derive_sizes(Job& job) {
  if (job.follows.ffn_hidden_size) job.ffn_hidden_size = usual_ffn_hidden_size(job);
  if (job.follows.kv_channels) job.kv_channels = TRY(usual_kv_channels(job));
  return {};
}

/// What a new model takes when the file does not say: Megatron's defaults.
Status fill_model(Job& job, const Given& given) {
  std::vector<std::string_view> missing;
  for (std::string_view name : {"num_layers", "hidden_size", "num_attention_heads", "seq_length", "vocab_size"})
    if (!given(name)) missing.push_back(name);
  if (!missing.empty()) return fail(ErrorKind::kUsage, "the job does not say {}", listed(missing));
  job.follows = {!given("ffn_hidden_size"), !given("kv_channels")};
  TRY_STATUS(derive_sizes(job));
  if (!given("num_query_groups")) job.num_query_groups = job.num_attention_heads;
  if (!given("max_position_embeddings")) job.max_position_embeddings = job.seq_length;
  if (!given("grad_reduce_in_fp32")) job.grad_reduce_in_fp32 = job.params_dtype == ParamsType::kBf16;
  return {};
}

Status require_multiple(std::string_view name, int64_t value, std::string_view of_name, int64_t of) {
  if (value % of == 0) return {};
  return fail(ErrorKind::kUsage, "{} {} is not a multiple of {} {}", name, value, of_name, of);
}

/// "tp-dp-pp" in any order; other dimensions may stand anywhere between.
Status check_rank_order(const Job& job) {
  std::vector<std::string_view> axes;
  const std::string_view order = job.rank_order;
  for (size_t begin = 0; begin <= order.size();) {
    const size_t end = std::min(order.find('-', begin), order.size());
    axes.push_back(order.substr(begin, end - begin));
    begin = end + 1;
  }
  const auto count = [&](std::string_view axis) { return std::count(axes.begin(), axes.end(), axis); };
  const bool all = count("tp") == 1 && count("dp") == 1 && count("pp") == 1;
  const bool once = std::all_of(axes.begin(), axes.end(), [&](std::string_view axis) {
    const auto dimension = find_dimension(axis);
    return dimension && !row_of(*dimension).setting.empty() && count(axis) == 1;
  });
  if (all && once) return {};
  return fail(ErrorKind::kUsage, "rank_order '{}': write tp, dp and pp once each, fastest first, as in tp-dp-pp",
              order);
}

/// Of full recomputation: layers of a stage that are recomputed, or that one checkpoint holds.
Status check_recompute(const Job& job) {
  if (job.recompute_granularity != Recompute::kFull) return {};
  const int64_t layers = job.num_layers / num_chunks(job);
  if (job.recompute_num_layers <= layers) return {};
  return fail(ErrorKind::kUsage, "recompute_num_layers {} is out of range: a chunk of a stage holds {} layers",
              job.recompute_num_layers, layers);
}

Status check_split(const Job& job) {
  const int64_t tp = job.tensor_model_parallel_size;
  constexpr std::string_view kTp = "tensor_model_parallel_size";
  TRY_STATUS(require_multiple("num_attention_heads", job.num_attention_heads, kTp, tp));
  TRY_STATUS(require_multiple("num_query_groups", job.num_query_groups, kTp, tp));
  TRY_STATUS(
      require_multiple("num_attention_heads", job.num_attention_heads, "num_query_groups", job.num_query_groups));
  TRY_STATUS(require_multiple("ffn_hidden_size", job.ffn_hidden_size, kTp, tp));
  if (job.sequence_parallel) TRY_STATUS(require_multiple("seq_length", job.seq_length, kTp, tp));
  if (job.context_parallel_size != 1) {
    return fail(ErrorKind::kUsage, "context_parallel_size {} is not modelled: set it to 1", job.context_parallel_size);
  }
  if (job.expert_model_parallel_size != 1) {
    return fail(ErrorKind::kUsage, "expert_model_parallel_size {} is not modelled: set it to 1",
                job.expert_model_parallel_size);
  }
  return require_multiple("num_layers", job.num_layers,
                          "pipeline_model_parallel_size x virtual_pipeline_model_parallel_size", num_chunks(job));
}

Status check_schedule(const Job& job) {
  const bool interleaved = job.pipeline_schedule == PipelineSchedule::kInterleaved;
  const int64_t chunks = job.virtual_pipeline_model_parallel_size;
  if (interleaved != (chunks > 1)) {
    return fail(ErrorKind::kUsage, "pipeline_schedule {} contradicts virtual_pipeline_model_parallel_size {}",
                interleaved ? "interleaved" : "without interleaving", chunks);
  }
  if (!interleaved) return {};
  if (job.pipeline_model_parallel_size < 2) {
    return fail(ErrorKind::kUsage,
                "virtual_pipeline_model_parallel_size {} needs pipeline_model_parallel_size of 2 or more", chunks);
  }
  return require_multiple("num_microbatches", job.num_microbatches, "pipeline_model_parallel_size",
                          job.pipeline_model_parallel_size);
}

Status check_sizes(const Job& job) {
  const int64_t replica = replica_size(job);
  if (job.world_size != replica * job.data_parallel_size) {
    return fail(ErrorKind::kUsage,
                "world_size {} contradicts tensor {} x pipeline {}{} x data parallel {} = {}: leave one of them out",
                job.world_size, job.tensor_model_parallel_size, job.pipeline_model_parallel_size,
                job.context_parallel_size > 1 ? fmt::format(" x context {}", job.context_parallel_size) : "",
                job.data_parallel_size, replica * job.data_parallel_size);
  }
  const int64_t samples = job.micro_batch_size * job.data_parallel_size;
  if (job.global_batch_size != samples * job.num_microbatches) {
    return fail(
        ErrorKind::kUsage,
        "global_batch_size {} contradicts micro_batch_size {} x data_parallel_size {} x num_microbatches {} = {}: "
        "leave one of them out",
        job.global_batch_size, job.micro_batch_size, job.data_parallel_size, job.num_microbatches,
        samples * job.num_microbatches);
  }
  if (job.position_embedding_type == PositionEmbedding::kLearnedAbsolute &&
      job.max_position_embeddings < job.seq_length) {
    return fail(ErrorKind::kUsage, "max_position_embeddings {} is less than seq_length {}", job.max_position_embeddings,
                job.seq_length);
  }
  return {};
}

}  // namespace

int64_t usual_ffn_hidden_size(const Job& job) {
  // A gated FFN has three matrices instead of two; Megatron keeps the parameters and rounds to 64.
  return job.swiglu ? job.hidden_size * 8 / 3 / 64 * 64 : 4 * job.hidden_size;
}

Result<int64_t> usual_kv_channels(const Job& job) {
  if (job.num_attention_heads <= 0) return fail(ErrorKind::kUsage, "num_attention_heads must be at least 1");
  if (job.hidden_size % job.num_attention_heads == 0) return job.hidden_size / job.num_attention_heads;
  return fail(ErrorKind::kUsage, "hidden_size {} is not a multiple of num_attention_heads {}: set kv_channels",
              job.hidden_size, job.num_attention_heads);
}

Result<Job> resolve_job(const std::vector<JobSetting>& settings, std::vector<std::string>* unknown) {
  Job job;
  std::vector<std::string> ignored;
  TRY_STATUS(apply(job, settings, unknown != nullptr ? unknown : &ignored));
  const Given given = given_in(settings);
  TRY_STATUS(fill_model(job, given));
  TRY_STATUS(derive_chunks(job, settings));
  TRY_STATUS(derive_all(job, given));
  return job;
}

Result<Job> change_job(const Job& job, const std::vector<JobSetting>& settings) {
  Job changed = job;
  TRY_STATUS(apply(changed, settings, nullptr));
  const Given given = given_in(settings);
  if (!given("max_position_embeddings")) {
    changed.max_position_embeddings = std::max(changed.max_position_embeddings, changed.seq_length);
  }
  for (const auto& [name, value] : settings) {
    if (name == "ffn_hidden_size") changed.follows.ffn_hidden_size = is_unset(value);
    if (name == "kv_channels") changed.follows.kv_channels = is_unset(value);
  }
  TRY_STATUS(derive_sizes(changed));
  // Without grouping there are as many key heads as query heads, whatever their number.
  if (!given("num_query_groups") && job.num_query_groups == job.num_attention_heads) {
    changed.num_query_groups = changed.num_attention_heads;
  }
  TRY_STATUS(derive_chunks(changed, settings));
  // A stage of fewer layers recomputes fewer.
  if (!given("recompute_num_layers") && num_chunks(changed) > 0) {
    const int64_t layers = std::max<int64_t>(1, changed.num_layers / num_chunks(changed));
    changed.recompute_num_layers = std::min(changed.recompute_num_layers, layers);
  }
  TRY_STATUS(derive_all(changed, given));
  return changed;
}

Result<Job> change_job(const Job& job, std::string_view name, std::string_view value) {
  return change_job(job, {{std::string(name), std::string(value)}});
}

std::vector<JobSetting> job_settings(const Job& job) {
  std::vector<JobSetting> settings;
  for (const JobField& field : job_fields()) {
    settings.emplace_back(field.name, job_field_text(job, field));
  }
  return settings;
}

std::vector<std::string_view> job_field_names() {
  std::vector<std::string_view> names;
  for (const JobField& field : job_fields()) names.push_back(field.name);
  return names;
}

bool is_job_setting(std::string_view name) { return name == kLayersPerChunk || find_job_field(name) != nullptr; }

Status check_job(const Job& job) {
  TRY_STATUS(check_ranges(job));
  TRY_STATUS(check_products(job));
  TRY_STATUS(check_rank_order(job));
  TRY_STATUS(check_sizes(job));
  TRY_STATUS(check_split(job));
  TRY_STATUS(check_schedule(job));
  TRY_STATUS(check_recompute(job));
  if (job.overlap_param_gather && !job.use_distributed_optimizer) {
    return fail(ErrorKind::kUsage, "overlap_param_gather true needs use_distributed_optimizer true");
  }
  return {};
}

int64_t padded_vocab_size(const Job& job) {
  const int64_t tp = job.tensor_model_parallel_size;
  if (job.make_vocab_size_divisible_by == 0) return job.vocab_size / tp * tp;
  const int64_t multiple = job.make_vocab_size_divisible_by * tp;
  return (job.vocab_size + multiple - 1) / multiple * multiple;
}

int64_t replica_size(const Job& job) {
  int64_t ranks = job.tensor_model_parallel_size * job.pipeline_model_parallel_size * job.context_parallel_size;
  for (size_t i = 0; i < dimension_table().size(); ++i)
    if (dimension_table()[i].own_ranks) ranks *= job.further_sizes[Dimension(i)];
  return ranks;
}

int64_t num_chunks(const Job& job) {
  return job.pipeline_model_parallel_size * job.virtual_pipeline_model_parallel_size;
}

int64_t element_bytes(const Job& job) { return job.params_dtype == ParamsType::kFp32 ? 4 : 2; }

}  // namespace lumos
