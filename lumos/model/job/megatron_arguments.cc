#include "lumos/model/job/megatron_arguments.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "lumos/model/job/job_fields.h"

namespace lumos {
namespace {

/// An argument that has the value of a field.
struct Alias {
  std::string_view argument, field;
};

// Earlier and later names; torchrun's.
constexpr Alias kAliases[] = {
    {"encoder_num_layers", "num_layers"},
    {"encoder_seq_length", "seq_length"},
    {"model_parallel_size", "tensor_model_parallel_size"},
    {"num_virtual_stages_per_pipeline_rank", "virtual_pipeline_model_parallel_size"},
    {"num_micro_batches", "num_microbatches"},
    {"accumulate_allreduce_grads_in_fp32", "grad_reduce_in_fp32"},
    {"overlap_p2p_communication", "overlap_p2p_comm"},
    {"activations_checkpoint_method", "recompute_method"},
    {"checkpoint_num_layers", "recompute_num_layers"},
    {"nproc_per_node", "gpus_per_node"},
    {"param_dtype", "params_dtype"},
};

/// A switch that gives a field this value when it is on, and says nothing when it is off.
struct Switch {
  std::string_view argument, field, value;
};

constexpr Switch kSwitches[] = {
    {"disable_bias_linear", "add_bias_linear", "false"},
    {"no_bias_gelu_fusion", "bias_gelu_fusion", "false"},
    {"no_bias_swiglu_fusion", "bias_gelu_fusion", "false"},
    {"no_bias_dropout_fusion", "bias_dropout_fusion", "false"},
    {"no_masked_softmax_fusion", "masked_softmax_fusion", "false"},
    {"no_gradient_accumulation_fusion", "gradient_accumulation_fusion", "false"},
    {"no_async_tensor_model_parallel_allreduce", "async_tensor_model_parallel_allreduce", "false"},
    {"no_scatter_gather_tensors_in_pipeline", "scatter_gather_tensors_in_pipeline", "false"},
    {"no_overlap_p2p_communication", "overlap_p2p_comm", "false"},
    {"grad_reduce_in_bf16", "grad_reduce_in_fp32", "false"},
    {"recompute_activations", "recompute_granularity", "selective"},
    {"checkpoint_activations", "recompute_granularity", "full"},
    {"use_rotary_position_embeddings", "position_embedding_type", "rope"},
    {"use_tp_pp_dp_mapping", "rank_order", "tp-pp-dp"},
    {"bf16", "params_dtype", "bf16"},
    {"fp16", "params_dtype", "fp16"},
};

/// Arguments whose meaning depends on others, see Translation.
constexpr std::string_view kDependent[] = {
    "group_query_attention",                  //
    "bias_swiglu_fusion",                     //
    "attention_backend",                      //
    "no_position_embedding",                  //
    "padded_vocab_size",                      //
    "nnodes",                                 //
    "reduce_dtype",                           //
    "num_layers_per_virtual_pipeline_stage",  // resolve_job reads it
};

/// Work that is refused when an argument asks for it.
struct Unmodelled {
  std::string_view argument, why;
};

constexpr std::string_view kExperts = "layers of experts are not modelled";
constexpr std::string_view kSharded = "fully sharded parallelism is not modelled";
constexpr std::string_view kUneven = "every stage is taken to hold equally many layers";
constexpr std::string_view kEightBit = "products of 8 or fewer bits are not modelled";
constexpr std::string_view kEncoder = "an encoder beside the decoder is not modelled";
constexpr std::string_view kStateSpaces = "every layer is taken to be attention and an MLP";
constexpr std::string_view kOffloading = "what lies in the host's memory is not modelled";

constexpr Unmodelled kUnmodelled[] = {
    {"num_experts", kExperts},
    {"multi_latent_attention", "attention is modelled with heads of queries, keys and values"},
    {"window_size", "attention is modelled over the whole sequence"},
    {"mtp_num_layers", "layers that predict further tokens are not modelled"},
    {"fp8", kEightBit},
    {"fp8_format", kEightBit},
    {"fp4", kEightBit},
    {"fp4_format", kEightBit},
    {"use_torch_fsdp2", kSharded},
    {"use_megatron_fsdp", kSharded},
    {"use_custom_fsdp", kSharded},
    {"decoder_first_pipeline_num_layers", kUneven},
    {"decoder_last_pipeline_num_layers", kUneven},
    {"account_for_embedding_in_pipeline_split", kUneven},
    {"account_for_loss_in_pipeline_split", kUneven},
    {"pipeline_model_parallel_layout", kUneven},
    {"pipeline_model_parallel_split_rank", kEncoder},
    {"encoder_pipeline_model_parallel_size", kEncoder},
    {"encoder_tensor_model_parallel_size", kEncoder},
    {"decoder_num_layers", kEncoder},
    {"decoder_seq_length", kEncoder},
    {"hybrid_attention_ratio", kStateSpaces},
    {"hybrid_mlp_ratio", kStateSpaces},
    {"hybrid_override_pattern", kStateSpaces},
    {"optimizer_cpu_offload", kOffloading},
    {"cpu_offloading", kOffloading},
};

constexpr std::string_view kLeftOut[] = {
    "qk_layernorm",
    "tp_comm_overlap",
    "enable_cuda_graph",
    "external_cuda_graph",
    "cuda_graph_impl",
    "recompute_modules",
    "defer_embedding_wgrad_compute",
    "ddp_num_buckets",
    "rampup_batch_size",
    "fp32_residual_connection",
    "attention_softmax_in_fp32",
    "overlap_param_gather_with_optimizer_step",
    "check_for_nan_in_loss_and_grad",
    "squared_relu",
};

/// Beginnings of families of names; no field of a job begins like them.
constexpr std::string_view kPrefixesWithoutEffect[] = {
    "adam_",           "check_weight_", "ckpt_",        "consumed_",    "dataloader_", "dist_ckpt_", "distributed_",
    "eval_",           "exit_",         "inference_",   "init_method_", "load",        "log_",       "lr_",
    "manual_gc",       "moe_",          "no_load_",     "no_save_",     "profile",     "rerun_",     "retro_",
    "rotary_",         "save",          "sgd_",         "tensorboard_", "timing_",     "tokenizer_", "train_",
    "use_checkpoint_", "wandb_",        "weight_decay",
};

constexpr std::string_view kWithoutEffect[] = {
    "apply_layernorm_1p",
    "apply_query_key_layer_scaling",
    "apply_residual_connection_post_layernorm",
    "async_save",
    "async_tensor_model_parallel_reduce",
    "auto_detect_ckpt_format",
    "calculate_per_token_loss",
    "cp_comm_type",
    "cross_entropy_fusion_impl",
    "data_cache_path",
    "data_path",
    "decoupled_lr",
    "decoupled_min_lr",
    "DDP_impl",
    "delay_grad_reduce",
    "deterministic_mode",
    "empty_unused_memory_level",
    "end_weight_decay",
    "expert_tensor_parallel_size",
    "finetune",
    "framework",
    "fsdp_unit",
    "hysteresis",
    "initial_loss_scale",
    "iteration",
    "layernorm_epsilon",
    "lazy_mpu_init",
    "legacy_tokenizer",
    "local_rank",
    "loss_scale",
    "loss_scale_window",
    "lr",
    "master_addr",
    "master_port",
    "merge_file",
    "min_loss_scale",
    "min_lr",
    "mmap_bin_files",
    "mock_data",
    "model_type",
    "no_mmap_bin_files",
    "no_persist_layer_norm",
    "no_create_attention_mask_in_dataloader",
    "node_rank",
    "norm_epsilon",
    "num_dataset_builder_threads",
    "num_workers",
    "onnx_safe",
    "openai_gelu",
    "override_opt_param_scheduler",
    "per_split_data_args_path",
    "rank",
    "reset_attention_mask",
    "reset_position_ids",
    "eod_mask_loss",
    "rdzv_backend",
    "rdzv_endpoint",
    "seed",
    "split",
    "start_weight_decay",
    "te_rng_tracker",
    "test_data_path",
    "transformer_impl",
    "transformer_pipeline_model_parallel_size",
    "use_cpu_initialization",
    "use_dist_ckpt",
    "use_legacy_models",
    "use_mcore_models",
    "use_mp_args_from_checkpoint_args",
    "valid_data_path",
    "vocab_extra_ids",
    "vocab_file",
};

bool is_unset(std::string_view text) { return text.empty() || text == "null" || text == "None"; }
bool is_off(std::string_view text) {
  return is_unset(text) || text == "false" || text == "False" || text == "0" || text == "0.0";
}

/// Whether a switch is on; an error where it is neither.
Result<bool> is_on(std::string_view name, std::string_view text) {
  if (is_off(text)) return false;
  if (text == "true" || text == "True" || text == "1") return true;
  return fail(ErrorKind::kUsage, "{}: '{}' is not true or false", name, text);
}

/// Whether a window, "[left, right]" or "(left, right)", is the whole sequence: -1 is as far as there is, and what
/// follows a token is masked anyway.
bool is_whole_window(std::string_view text) {
  std::string numbers;
  for (char c : text)
    if (c != ' ' && c != '[' && c != ']' && c != '(' && c != ')') numbers += c;
  return numbers == "-1" || numbers == "-1,-1" || numbers == "-1,0";
}

Status check_modelled(std::string_view name, std::string_view text) {
  const auto* found = std::find_if(std::begin(kUnmodelled), std::end(kUnmodelled),
                                   [&](const Unmodelled& one) { return one.argument == name; });
  if (found == std::end(kUnmodelled) || is_off(text)) return {};
  if (name == "num_experts" && text == "1") return {};
  if (name == "window_size" && is_whole_window(text)) return {};
  return fail(ErrorKind::kUsage, "{} {} is not supported: {}", name, text, found->why);
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The arguments of one job on their way to its settings.
class Translation {
 public:
  explicit Translation(const std::vector<JobSetting>& arguments) {
    for (const auto& [as_written, text] : arguments)
      arguments_.emplace_back(argument_name(as_written), is_unset(text) ? "null" : text);
  }

  Result<std::vector<JobSetting>> run() {
    for (const auto& [name, text] : arguments_) TRY_STATUS(translate(name, text));
    TRY_STATUS(neither_half_type());
    for (Given& given : given_) settings_.emplace_back(given.field, std::move(given.text));
    return std::move(settings_);
  }

 private:
  /// What a field was given, and by which argument.
  struct Given {
    std::string field, text, argument;
  };

  std::string_view text_of(std::string_view name) const {
    for (const auto& [argument, text] : arguments_)
      if (argument == name) return text;
    return "";
  }
  bool mentions(std::string_view name) const { return !is_unset(text_of(name)); }
  bool is_switched_on(std::string_view name) const { return !is_off(text_of(name)); }

  Status translate(const std::string& name, const std::string& text) {
    TRY_STATUS(check_modelled(name, text));
    for (const Alias& alias : kAliases)
      if (alias.argument == name) return give(alias.field, text, name);
    for (const Switch& one : kSwitches)
      if (one.argument == name) return TRY(is_on(name, text)) ? give(one.field, one.value, name) : Status{};
    if (std::find(std::begin(kDependent), std::end(kDependent), name) != std::end(kDependent))
      return dependent(name, text);
    if (find_job_field(name) != nullptr) return field(name, text);
    if (argument_use(name) == ArgumentUse::kUnknown || !is_off(text)) {
      const bool modelled = std::none_of(std::begin(kUnmodelled), std::end(kUnmodelled),
                                         [&](const Unmodelled& one) { return one.argument == name; });
      if (modelled) settings_.emplace_back(name, text);
    }
    return {};
  }

  Status field(const std::string& name, const std::string& text) {
    // Megatron writes both back: the switch is off by default, and a backend by name decides.
    if (name == "use_flash_attn" && is_off(text) && flash_by_backend()) return {};
    // Megatron reads the number of groups only where there are any.
    if (name == "num_query_groups" && mentions("group_query_attention") && !is_switched_on("group_query_attention"))
      return {};
    // With a gated activation it is another fusion that counts.
    if (name == "bias_gelu_fusion" && is_switched_on("swiglu") && mentions("bias_swiglu_fusion")) return {};
    if (name == "params_dtype" && text.starts_with("torch.")) return give(name, text.substr(6), name);
    return give(name, text, name);
  }

  Status dependent(const std::string& name, const std::string& text) {
    if (is_unset(text)) return {};
    if (name == "group_query_attention") {
      if (TRY(is_on(name, text)) && !mentions("num_query_groups")) return give("num_query_groups", "1", name);
    } else if (name == "bias_swiglu_fusion") {
      if (is_switched_on("swiglu")) return give("bias_gelu_fusion", text, name);
    } else if (name == "attention_backend") {
      if (const auto flash = flash_by_backend()) return give("use_flash_attn", *flash ? "true" : "false", name);
    } else if (name == "no_position_embedding") {
      const bool other = is_switched_on("use_rotary_position_embeddings") || mentions("position_embedding_type");
      if (TRY(is_on(name, text)) && !other) return give("position_embedding_type", "none", name);
    } else if (name == "padded_vocab_size") {
      if (!mentions("vocab_size")) return give("vocab_size", text, name);
    } else if (name == "nnodes") {
      return nodes(text);
    } else if (name == "reduce_dtype") {
      const bool wide = text == "fp32" || text == "float32" || text == "float";
      return give("grad_reduce_in_fp32", wide ? "true" : "false", name);
    } else {
      settings_.emplace_back(name, text);
    }
    return {};
  }

  /// Whether attention_backend asks for one kernel that does all of attention; nothing where it leaves the choice.
  std::optional<bool> flash_by_backend() const {
    // "AttnBackend.flash" is how Megatron writes it back.
    const std::string_view text = text_of("attention_backend"), backend = text.substr(text.find('.') + 1);
    if (backend == "flash" || backend == "fused") return true;
    if (backend == "unfused" || backend == "local") return false;
    return std::nullopt;
  }

  /// torchrun's nodes times GPUs are the world, where nothing else says so.
  Status nodes(const std::string& text) {
    const std::optional<int64_t> count = whole_number(text);
    const std::string_view each = mentions("nproc_per_node") ? text_of("nproc_per_node") : text_of("gpus_per_node");
    const std::optional<int64_t> gpus = whole_number(each);
    constexpr int64_t kMost = 1'000'000;
    if (!count || *count < 1 || *count > kMost)
      return fail(ErrorKind::kUsage, "nnodes: '{}' is not a number of nodes", text);
    if (!gpus || *gpus < 1 || *gpus > kMost || mentions("world_size")) return {};
    return give("world_size", fmt::format("{}", *count * *gpus), "nnodes");
  }

  /// Megatron trains in fp32 unless told otherwise.
  Status neither_half_type() {
    const bool both_off = mentions("bf16") && mentions("fp16") && !is_switched_on("bf16") && !is_switched_on("fp16");
    return both_off && !mentions("params_dtype") ? give("params_dtype", "fp32", "bf16 and fp16") : Status{};
  }

  /// Values are compared as the field reads them: "true" and "True" agree.
  Status give(std::string_view name, std::string_view text, std::string_view argument) {
    const auto same = std::find_if(given_.begin(), given_.end(), [&](const Given& one) { return one.field == name; });
    if (same == given_.end()) {
      given_.push_back({std::string(name), std::string(text), std::string(argument)});
      return {};
    }
    if (is_unset(text)) return {};
    if (is_unset(same->text)) {
      *same = {std::string(name), std::string(text), std::string(argument)};
      return {};
    }
    Job one, other;
    const JobField& field = *find_job_field(name);
    TRY_STATUS(set_job_field(one, field, same->text));
    TRY_STATUS(set_job_field(other, field, text));
    if (job_field_text(one, field) == job_field_text(other, field)) return {};
    return fail(ErrorKind::kUsage, "{} makes {} {}, {} makes it {}: leave one of them out", same->argument, name,
                same->text, argument, text);
  }

  std::vector<JobSetting> arguments_;
  std::vector<Given> given_;
  std::vector<JobSetting> settings_;  ///< first those without a field
};

}  // namespace

ArgumentUse argument_use(std::string_view name) {
  const auto among = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  if (among(kLeftOut)) return ArgumentUse::kLeftOut;
  const bool family = std::any_of(std::begin(kPrefixesWithoutEffect), std::end(kPrefixesWithoutEffect),
                                  [&](std::string_view prefix) { return name.starts_with(prefix); });
  return family || among(kWithoutEffect) ? ArgumentUse::kWithoutEffect : ArgumentUse::kUnknown;
}

std::string argument_name(std::string_view as_written) {
  std::string name(as_written.substr(as_written.starts_with("--") ? 2 : 0));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

Result<std::vector<JobSetting>> settings_from_arguments(const std::vector<JobSetting>& arguments) {
  return Translation(arguments).run();
}

std::vector<std::string_view> translated_argument_names() {
  std::vector<std::string_view> names;
  for (const Alias& one : kAliases) names.push_back(one.argument);
  for (const Switch& one : kSwitches) names.push_back(one.argument);
  for (std::string_view one : kDependent) names.push_back(one);
  return names;
}

}  // namespace lumos
