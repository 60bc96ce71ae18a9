#include "lumos/program/facts/traced_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lumos/model/job/job_fields.h"
#include "lumos/plan/ops/layout.h"
#include "lumos/program/facts/traced_shapes.h"
#include "lumos/program/recover/recover.h"
#include "lumos/program/recover/single_layer.h"
#include "lumos/trace/table/kernel_family.h"

namespace lumos {
namespace {

/// Fewer elements are a norm, a flag or a loss, not gradients.
constexpr int64_t kFewestGradients = 1 << 20;
/// Layers that agree less with each other are a guess.
constexpr double kSureMatch = 0.95;

// How Megatron describes its groups; more may follow, such as _WITH_CP.
constexpr std::string_view kTensorGroup = "TENSOR_MODEL_PARALLEL_GROUP";
constexpr std::string_view kPipelineGroup = "PIPELINE_MODEL_PARALLEL_GROUP";
constexpr std::string_view kDataGroup = "DATA_PARALLEL_GROUP";
constexpr std::pair<std::string_view, std::string_view> kAxes[] = {
    {kTensorGroup, "tp"}, {kDataGroup, "dp"}, {kPipelineGroup, "pp"}};

/// More ranks or pieces than any job has.
constexpr int64_t kLargestSize = 1 << 20;

class FactFinder {
 public:
  FactFinder(const EventTable& table, const std::vector<JobSetting>& given) : table_(table), given_(given) {}

  std::vector<TracedFact> run() {
    groups();
    collectives();
    passes();
    shapes();
    norms();
    for (TracedFact& fact : node_facts(table_, given_)) facts_.push_back(std::move(fact));
    return std::move(facts_);
  }

 private:
  template <class T>
  void add(std::string_view field, const T& value, std::string evidence) {
    facts_.push_back({field, fmt::format("{}", value), std::move(evidence)});
  }

  /// A size as the facts have it, else the job file, else 1.
  int64_t size_of(std::string_view field) const {
    for (const TracedFact& fact : facts_)
      if (fact.field == field) return bounded(std::stoll(fact.value));
    for (const auto& [name, text] : given_) {
      Job job;
      if (name == field && !text.empty() && text != "null" && set_job_field(job, *find_job_field(field), text))
        return bounded(std::stoll(job_field_text(job, *find_job_field(field))));
    }
    return 1;
  }

  /// What the file says has not been checked yet, and is divided and multiplied by.
  static int64_t bounded(int64_t size) { return std::clamp<int64_t>(size, 1, kLargestSize); }

  /// Megatron makes a group of every kind for each rank, and the trace lists those that this rank is a member of.
  void groups() {
    if (table_.info.world_size > 0)
      add("world_size", table_.info.world_size, fmt::format("in distributedInfo of {}", table_.info.file));
    group(kTensorGroup, "tensor_model_parallel_size");
    group(kPipelineGroup, "pipeline_model_parallel_size");
    group(kDataGroup, "data_parallel_size");
    for (size_t i = 0; i < dimension_table().size(); ++i) further_group(Dimension(i));
    order_of_ranks();
  }

  void group(std::string_view kind, std::string_view field) {
    int64_t size = 0;
    for (const ProcessGroup& group : table_.info.groups) {
      const bool member = group.ranks.empty() ||
                          std::find(group.ranks.begin(), group.ranks.end(), table_.info.rank) != group.ranks.end();
      // With and without context parallelism, a group may come twice: the larger counts.
      if (member && group.description.starts_with(kind)) size = std::max<int64_t>(size, group.size);
    }
    if (size > 0) add(field, size, fmt::format("the size of its {}", kind));
  }

  /// Of dimensions that not every job names: only of more than one rank.
  void further_group(Dimension dimension) {
    const DimensionRow& row = row_of(dimension);
    const JobField* field = find_job_field(row.setting);
    if (field == nullptr || !std::holds_alternative<FurtherSize>(field->member)) return;
    for (const ProcessGroup& group : table_.info.groups) {
      if (group.size < 2 || dimension_of_group(group.description) != dimension) continue;
      return add(row.setting, group.size, fmt::format("the size of its {}", row.group_words.front()));
    }
  }

  /// The axes with more than one rank, by how far apart their neighbours are.
  void order_of_ranks() {
    std::map<int64_t, std::string_view> axes;
    for (const ProcessGroup& group : table_.info.groups) {
      if (group.ranks.size() < 2) continue;
      for (const auto& [kind, axis] : kAxes)
        if (group.description.starts_with(kind)) axes.emplace(group.ranks[1] - group.ranks[0], axis);
    }
    if (axes.size() < 2) return;
    std::string order;
    auto next = axes.begin();
    for (const auto& each : kAxes) {
      const std::string_view axis = each.second;
      // An axis of one rank keeps Megatron's place; it is the same wherever it stands.
      const bool present = std::any_of(axes.begin(), axes.end(), [&](const auto& one) { return one.second == axis; });
      order += fmt::format("{}{}", order.empty() ? "" : "-", present ? (next++)->second : axis);
    }
    add("rank_order", order, "by the ranks of its groups");
  }

  void collectives() {
    bool tensor_scatters = false, tensor_reduces = false, data_scatters = false, data_reduces = false;
    for (const CollectiveDetail& detail : table_.collectives) {
      const std::string_view kind = table_.text(detail.collective), group = table_.text(detail.group_desc);
      const bool scatters = kind.find("reduce_scatter") != std::string_view::npos;
      const bool reduces = kind.find("allreduce") != std::string_view::npos;
      const bool large = detail.in_elements >= kFewestGradients;
      if (group.starts_with(kTensorGroup)) {
        tensor_scatters |= scatters;
        tensor_reduces |= reduces;
      } else if (group.starts_with(kDataGroup)) {
        data_scatters |= scatters;
        data_reduces |= reduces && large;
      }
    }
    if (tensor_scatters || tensor_reduces)
      add("sequence_parallel", tensor_scatters,
          tensor_scatters ? "which reduce and scatter over tensor-parallel ranks"
                          : "which all-reduce over tensor-parallel ranks and never scatter");
    if (data_scatters || data_reduces)
      add("use_distributed_optimizer", data_scatters,
          data_scatters ? "which reduce and scatter gradients over replicas"
                        : "which all-reduce gradients over replicas");
  }

  void passes() {
    const RecoveredRank found = recover(table_, hints_from_groups(table_));
    const auto has = [&](Phase phase) {
      return std::any_of(found.passes.begin(), found.passes.end(),
                         [&](const Pass& pass) { return pass.phase == phase && pass.step >= 0; });
    };
    const bool trains = has(Phase::kForward) && has(Phase::kBackward);
    if (!trains) return layers(found);
    // Only numbers that autograd gave both ways tell which forward a backward belongs to.
    const bool numbered = std::any_of(found.list.numbered.begin(), found.list.numbered.end(),
                                      [](const NumberedOp& op) { return op.is_backward; });
    constexpr std::string_view kChunks = "virtual_pipeline_model_parallel_size";
    if (has(Phase::kP2p) && numbered) add(kChunks, found.chunks, "by the order of its backward passes");
    const int64_t forwards = int64_t{found.microbatches} * found.chunks, chunks = size_of(kChunks);
    if (forwards > 0 && forwards % chunks == 0)
      add("num_microbatches", forwards / chunks, "the forward passes of a step");
    layers(found);
    recomputation(found);
    overlap(found);
  }

  /// Whether gradients are reduced, and parameters gathered, by code that runs in passes or after them.
  void overlap(const RecoveredRank& found) {
    bool reduced_inside = false, reduced_after = false, gathered_inside = false, gathered_after = false;
    for (size_t i = 0; i < found.labels.size(); ++i) {
      const CollectiveDetail* detail = table_.collective_detail(found.list.launches[i].gpu_row);
      if (detail == nullptr || !table_.text(detail->group_desc).starts_with(kDataGroup)) continue;
      if (std::max(detail->in_elements, detail->out_elements) < kFewestGradients || found.labels[i].step < 0) continue;
      const Phase phase = found.labels[i].phase;
      if (table_.text(detail->collective).find("gather") != std::string_view::npos) {
        gathered_inside |= phase == Phase::kInit || phase == Phase::kForward;
        gathered_after |= phase == Phase::kOptimizer;
      } else {
        reduced_inside |= phase == Phase::kBackward;
        reduced_after |= phase == Phase::kGradSync || phase == Phase::kOptimizer;
      }
    }
    // What is left after the last pass may be the last of many buckets.
    if (reduced_inside || reduced_after)
      add("overlap_grad_reduce", reduced_inside,
          reduced_inside ? "which reduce gradients over replicas in backward passes"
                         : "which reduce gradients over replicas after the last backward pass");
    if (gathered_inside != gathered_after)
      add("overlap_param_gather", gathered_inside,
          gathered_inside ? "which gather parameters in forward passes"
                          : "which gather parameters after the optimizer");
  }

  /// Full recomputation runs the norms again, too. Norms that a compiler has fused do not tell, and checkpoints that
  /// autograd does not name cannot be told from none.
  void recomputation(const RecoveredRank& found) {
    bool again = false, norms = false, norms_again = false;
    for (size_t i = 0; i < found.labels.size(); ++i) {
      const bool norm = row_family(table_, found.list.launches[i].gpu_row) == KernelFamily::kNorm;
      norms |= norm && found.labels[i].phase == Phase::kForward;
      if (found.labels[i].phase != Phase::kRecompute) continue;
      again = true;
      norms_again |= norm;
    }
    if (again && (norms || norms_again))
      add("recompute_granularity", norms_again ? "full" : "selective",
          norms_again ? "for backward passes run whole layers of the forward again"
                      : "for backward passes run kernels of the forward again, but no norm");
  }

  /// Layers that repeat, where the kernels of attention count the same.
  void layers(const RecoveredRank& found) {
    if (found.layers_per_chunk <= 0 || found.layer_match < kSureMatch) return;
    for (const Pass& pass : found.passes) {
      if (pass.phase != Phase::kForward || pass.step < 0) continue;
      std::vector<uint32_t> rows;
      for (uint32_t i = pass.begin; i < pass.end; ++i) rows.push_back(found.list.launches[i].gpu_row);
      if (count_attentions(table_, rows) != static_cast<uint32_t>(found.layers_per_chunk)) return;
    }
    const int64_t pieces =
        size_of("pipeline_model_parallel_size") * std::max<int64_t>(size_of("virtual_pipeline_model_parallel_size"), 1);
    add("num_layers", found.layers_per_chunk * pieces,
        fmt::format("{} in every forward pass{}", found.layers_per_chunk,
                    pieces > 1 ? fmt::format(", {} pieces of the model", pieces) : ""));
  }

  void shapes() {
    const TracedShapes found = traced_shapes(table_);
    const int64_t tensor = size_of("tensor_model_parallel_size");
    if (!found.dtype.empty())
      add("params_dtype", found.dtype, "the type that its matrix products take");
    else if (const std::string_view type = type_of_activations(); !type.empty())
      add("params_dtype", type, "the type of the activations that its ranks exchange");
    else if (const std::string_view name = type_of_gemms(); !name.empty())
      add("params_dtype", name, "by the names of its matrix products");
    if (found.hidden > 0)
      add("hidden_size", found.hidden, fmt::format("the width of its embedding, {}", found.embedding));
    else if (found.layer.hidden > 0)
      add("hidden_size", found.layer.hidden, "the width of what follows its attention");
    if (found.sequence > 0) {
      add("seq_length", found.sequence, fmt::format("the tokens of a sample in {}", found.embedding));
      add("micro_batch_size", found.samples, fmt::format("the samples in {}", found.embedding));
    }
    if (found.vocabulary > 0) add("vocab_size", found.vocabulary * tensor, fmt::format("by {}", found.embedding));
    if (found.head_size > 0) add("kv_channels", found.head_size, fmt::format("by {}", found.attention));
    if (found.heads > 0)
      add("num_attention_heads", found.heads * tensor,
          fmt::format("by {} on each of {} ranks", found.attention, tensor));
    else if (found.layer.heads > 0) {
      add("num_attention_heads", found.layer.heads * tensor, "by the product after its attention");
      add("kv_channels", found.layer.head_size, "the last size of its queries");
    }
    if (found.ffn > 0) add("ffn_hidden_size", found.ffn * tensor, "by the products that give its hidden state");
    if (found.layer.key_heads > 0)
      add("num_query_groups", found.layer.key_heads * tensor, "by the products before its attention");
    if (found.layer.ffn > 0)
      add("swiglu", found.layer.gated,
          found.layer.gated ? "whose FFN makes twice the features that its last product sums over"
                            : "whose FFN's last product sums over all features of the one before");
  }

  /// What the kernels of norms are called. Operators that serve both kinds do not tell, nor do norms in parts.
  void norms() {
    bool layer = false, root_mean_square = false;
    for (uint32_t row = 0; row < table_.size(); ++row) {
      if (table_.kind[row] != EventKind::kKernel || row_family(table_, row) != KernelFamily::kNorm) continue;
      const std::string_view name = table_.name_of(row);
      const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
      if (has("at::native::")) {
        const std::optional<bool> rms = rms_in_native_name(name);
        root_mean_square |= rms.value_or(false);
        layer |= !rms.value_or(true);
        continue;
      }
      const bool rms = has("rmsnorm") || has("rms_norm") || has("RMSNorm") || has("RmsNorm");
      root_mean_square |= rms;
      layer |= !rms && (has("::ln_") || has("layernorm") || has("layer_norm") || has("LayerNorm"));
    }
    if (layer != root_mean_square)
      add("normalization", root_mean_square ? "RMSNorm" : "LayerNorm", "by the names of its kernels");
  }

  /// PyTorch runs both kinds in its kernels of LayerNorm, f<T, T_ACC, rms_norm>; nothing where the last argument is not
  /// such a switch. Kernels of more arguments end with other switches.
  static std::optional<bool> rms_in_native_name(std::string_view name) {
    const size_t begin = name.find('<', name.find("layer_norm"));
    const size_t end = begin == std::string_view::npos ? begin : name.find('>', begin);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view arguments = name.substr(begin + 1, end - begin - 1);
    if (std::count(arguments.begin(), arguments.end(), ',') != 2) return std::nullopt;
    std::string_view last = arguments.substr(arguments.rfind(',') + 1);
    for (std::string_view prefix : {" ", "rms_norm=", "(bool)"})
      if (last.starts_with(prefix)) last.remove_prefix(prefix.size());
    if (last == "true" || last == "1") return true;
    if (last == "false" || last == "0") return false;
    return std::nullopt;
  }

  /// The largest messages between the parts of a model are activations; losses and flags are small.
  std::string_view type_of_activations() const {
    int64_t most = 0;
    std::string_view type;
    for (const CollectiveDetail& detail : table_.collectives) {
      const std::string_view group = table_.text(detail.group_desc);
      if (!group.starts_with(kTensorGroup) && !group.starts_with(kPipelineGroup)) continue;
      if (detail.in_elements <= most) continue;
      most = detail.in_elements;
      type = table_.text(detail.dtype);
    }
    return type == "BFloat16" ? "bf16" : type == "Half" ? "fp16" : type == "Float" ? "fp32" : "";
  }

  /// What all GEMM kernels' names say; "" where one does not, or says otherwise.
  std::string_view type_of_gemms() const {
    std::set<std::string_view> types;
    for (uint32_t row = 0; row < table_.size(); ++row)
      if (table_.kind[row] == EventKind::kKernel && row_family(table_, row) == KernelFamily::kGemm)
        types.insert(type_in_name(table_.name_of(row)));
    return types.size() == 1 ? *types.begin() : "";
  }

  static std::string_view type_in_name(std::string_view name) {
    const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
    if (has("bf16")) return "bf16";
    if (has("fp16") || has("_f16") || has("hgemm")) return "fp16";
    return has("_sgemm") ? "fp32" : "";
  }

  const EventTable& table_;
  const std::vector<JobSetting>& given_;
  std::vector<TracedFact> facts_;
};

/// Whether a job agrees with a fact.
bool agrees(const Job& job, const TracedFact& fact) {
  const JobField& field = *find_job_field(fact.field);
  if (fact.field == "vocab_size") {
    const int64_t rows = std::stoll(fact.value), tensor = job.tensor_model_parallel_size;
    // Padded or not; each rank may also hold all of it.
    for (int64_t whole : {padded_vocab_size(job), job.vocab_size, job.vocab_size / tensor * tensor})
      if (rows == whole || rows == whole * tensor) return true;
    return false;
  }
  if (fact.field == "rank_order") {
    Job as_traced = job;
    as_traced.rank_order = fact.value;
    const Mesh own = mesh_of(job), traced = mesh_of(as_traced);
    return std::all_of(own.order().begin(), own.order().end(), [&](Dimension dimension) {
      return own.size(dimension) == 1 || own.stride(dimension) == traced.stride(dimension);
    });
  }
  Job as_traced = job;
  if (!set_job_field(as_traced, field, fact.value)) return true;
  return job_field_text(as_traced, field) == job_field_text(job, field);
}

/// A replica of its own has nothing to scatter to, one part of a tensor nothing to be parallel to.
bool matters(const Job& job, const TracedFact& fact) {
  if (fact.field == "use_distributed_optimizer" || fact.field.starts_with("overlap_"))
    return job.data_parallel_size > 1;
  if (fact.field == "sequence_parallel") return job.tensor_model_parallel_size > 1;
  return true;
}

}  // namespace

std::vector<TracedFact> traced_facts(const EventTable& table, const std::vector<JobSetting>& given) {
  return FactFinder(table, given).run();
}

std::vector<TracedFact> node_facts(const EventTable& table, const std::vector<JobSetting>& given) {
  const auto devices = static_cast<int64_t>(table.info.devices.size());
  const int64_t rank = table.info.rank;
  std::set<int64_t> used;
  for (const Lane& lane : table.lanes)
    if (lane.is_gpu && lane.pid >= 0) used.insert(lane.pid);
  // A process that was given only its own device sees one, as device 0.
  if (devices < 2 || rank < 0 || used.size() != 1 || rank % devices != *used.begin()) return {};
  Job job;
  for (const auto& [name, text] : given) {
    if (name != "gpus_per_node" || !set_job_field(job, *find_job_field(name), text) || job.gpus_per_node < 1) continue;
    // A process may see a part of its node, such as a tray of a rack or what its container was given; and a job may
    // leave GPUs of its nodes idle: its ranks show it.
    if (devices <= job.gpus_per_node || rank % job.gpus_per_node == *used.begin()) return {};
  }
  return {{"gpus_per_node", fmt::format("{}", devices),
           fmt::format("rank {} runs on device {} of {}", rank, *used.begin(), devices)}};
}

Status check_facts(const Job& job, const std::vector<TracedFact>& facts, std::string_view job_file) {
  for (const TracedFact& fact : facts) {
    if (!matters(job, fact) || agrees(job, fact)) continue;
    const std::string said = job_field_text(job, *find_job_field(fact.field));
    return fail(ErrorKind::kUsage, "{}: {} is {}, but the traces say {} ({}); correct the job file", job_file,
                fact.field, said.empty() ? "none" : said, fact.value, fact.evidence);
  }
  return {};
}

}  // namespace lumos
