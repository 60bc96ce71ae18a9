#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "lumos/base/toml.h"
#include "lumos/whatif/edit/change.h"
#include "lumos/whatif/times/name_match.h"

namespace lumos {

namespace {

using Prefixes = std::vector<std::pair<std::string_view, ChangeKind>>;

/// "kernel:REGEX" by the first prefix that fits.
Result<Change> with_pattern(Change change, std::string_view value, const Prefixes& prefixes, std::string_view usage) {
  for (const auto& [prefix, kind] : prefixes) {
    if (!value.starts_with(prefix)) continue;
    change.kind = kind;
    change.pattern = value.substr(prefix.size());
    TRY(compile_pattern(change.text, change.pattern));
    return change;
  }
  return fail(ErrorKind::kUsage, "{}: write {}", change.text, usage);
}

/// "inter=2x": how many times as much.
Result<Change> with_links(Change change, std::string_view value) {
  constexpr std::array<std::pair<std::string_view, LinkTier>, 2> kTiers = {
      {{"inter=", LinkTier::kAcrossNodes}, {"intra=", LinkTier::kWithinNodes}}};
  for (const auto& [prefix, tier] : kTiers) {
    if (!value.starts_with(prefix)) continue;
    std::string_view factor = value.substr(prefix.size());
    if (factor.ends_with('x')) factor.remove_suffix(1);
    const auto [end, error] = std::from_chars(factor.data(), factor.data() + factor.size(), change.factor);
    const double least = change.kind == ChangeKind::kBandwidth ? 1 / kLargestFactor : 0;
    const bool within = change.factor >= least && change.factor <= kLargestFactor;  // nan is neither
    if (error == std::errc() && end == factor.data() + factor.size() && within) {
      change.tier = tier;
      return change;
    }
    return fail(ErrorKind::kUsage, "{}: '{}' is no factor from {:g} to {:g}, as in inter=2x", change.text, factor,
                least, kLargestFactor);
  }
  return fail(ErrorKind::kUsage, "{}: write inter=FACTOR (across nodes) or intra=FACTOR (within them)", change.text);
}

/// "4", "0.25": how many times the samples.
Result<Change> with_batch_factor(Change change, std::string_view value) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), change.factor);
  const bool number = error == std::errc() && end == value.data() + value.size() && std::isfinite(change.factor);
  if (!number || change.factor <= 0) {
    return fail(ErrorKind::kUsage, "{}: '{}' is no factor; 4 means four times the samples", change.text, value);
  }
  if (change.factor > kLargestFactor || change.factor < 1 / kLargestFactor)
    return fail(ErrorKind::kUsage, "{}: a factor from {:g} to {:g} can be asked for", change.text, 1 / kLargestFactor,
                kLargestFactor);
  return change;
}

/// A text, or a number as it is written.
Result<std::string> text_of(const ValueView& view) {
  if (!view.exists() || view.value()->get<std::string>() != nullptr) return view.as_string();
  const Value::Kind kind = view.value()->kind();
  if (kind == Value::Kind::kInt || kind == Value::Kind::kDouble) return fmt::format("{}", TRY(view.as_double()));
  return view.error("must be a text or a number, or a list of them");
}

/// One text or a list of them. {"host": 0.5} is another way to write "host=0.5".
Result<std::vector<std::string>> texts_of(const ValueView& view) {
  std::vector<std::string> texts;
  if (view.value()->is_array()) {
    for (const ValueView& item : TRY(view.items())) texts.push_back(TRY(text_of(item)));
  } else if (view.value()->kind() == Value::Kind::kObject) {
    for (const auto& [key, value] : TRY(view.members())) texts.push_back(key + "=" + TRY(text_of(value)));
  } else {
    texts.push_back(TRY(text_of(view)));
  }
  return texts;
}

/// A number that counts something, or what it was where it is missing.
Result<int64_t> count_of(const ValueView& view, int64_t otherwise) {
  const int64_t count = TRY(view.int_or(otherwise));
  if (view.exists() && count < 1) return view.error(fmt::format("must be 1 or more, not {}", count));
  return count;
}

}  // namespace

Result<Change> parse_change(std::string_view option, std::string_view value) {
  using enum ChangeKind;
  Change change;
  change.text = fmt::format("--{}{}{}", option, value.empty() ? "" : " ", value);
  if (option == "remove") {
    return with_pattern(change, value, {{"kernel:", kRemoveKernel}, {"op:", kRemoveOperator}},
                        "kernel:REGEX or op:REGEX");
  }
  if (option == "fuse") return with_pattern(change, value, {{"op:", kFuse}}, "op:REGEX");
  if (option == "drop-sync") return with_pattern(change, value, {{"", kDropSync}}, "REGEX");
  if (option == "overlap") {
    return with_pattern(change, value, {{"none:", kOverlapNone}, {"full:", kOverlapFull}},
                        "none:REGEX or full:REGEX, matching groups");
  }
  if (option == "no-launch-overhead") {
    change.kind = kNoLaunchOverhead;
    return change;
  }
  if (option == "scale-batch") {
    change.kind = kScaleBatch;
    return with_batch_factor(change, value);
  }
  if (option == "cluster") {
    change.kind = kCluster;
    change.cluster = TRY(read_shared_cluster(std::string(value)));
    return change;
  }
  if (option == "kernel-times") {
    change.kind = kKernelTimes;
    change.kernel_times = std::make_shared<const KernelTimes>(TRY(read_kernel_times(std::string(value))));
    return change;
  }
  change.kind = option == "bandwidth" ? kBandwidth : kLatency;
  return with_links(change, value);
}

Result<std::shared_ptr<const Cluster>> read_shared_cluster(const std::string& path) {
  return std::make_shared<const Cluster>(TRY(read_cluster_file(path)));
}

Status read_changes(const std::string& path, ChangeList& list) {
  const Value root = TRY(read_value_file(path));
  const ValueView view(root, path);
  TRY_STATUS(
      view.only_keys({"scale", "remove", "fuse", "drop_sync", "overlap", "bandwidth", "latency", "no_launch_overhead",
                      "gpus_per_node", "scale_batch", "batch_size", "cluster", "from_cluster", "kernel_times"}));
  if (view.at("scale").exists()) {
    for (const std::string& text : TRY(texts_of(view.at("scale")))) list.scales.push_back(TRY(parse_scale(text)));
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kLists = {{{"scale_batch", "scale-batch"},
                                                                                    {"cluster", "cluster"},
                                                                                    {"kernel_times", "kernel-times"},
                                                                                    {"remove", "remove"},
                                                                                    {"fuse", "fuse"},
                                                                                    {"drop_sync", "drop-sync"},
                                                                                    {"overlap", "overlap"},
                                                                                    {"bandwidth", "bandwidth"},
                                                                                    {"latency", "latency"}}};
  for (const auto& [key, option] : kLists) {
    if (!view.at(key).exists()) continue;
    for (const std::string& text : TRY(texts_of(view.at(key)))) {
      list.changes.push_back(TRY(parse_change(option, text)));
    }
  }
  if (TRY(view.at("no_launch_overhead").bool_or(false))) {
    list.changes.push_back(TRY(parse_change("no-launch-overhead", "")));
  }
  if (view.at("from_cluster").exists()) {
    list.from_cluster = TRY(read_shared_cluster(TRY(view.at("from_cluster").as_string())));
  }
  list.batch_size = TRY(count_of(view.at("batch_size"), list.batch_size));
  list.gpus_per_node = TRY(count_of(view.at("gpus_per_node"), list.gpus_per_node));
  return {};
}

}  // namespace lumos
