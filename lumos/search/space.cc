#include "lumos/search/space.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "lumos/base/suggest.h"
#include "lumos/model/job/job_fields.h"
#include "lumos/model/job/job_file.h"
#include "lumos/search/configuration.h"

namespace lumos {
namespace {

constexpr int64_t kLargestMicroBatch = 16;

Result<SearchAxis> axis_from_value(std::string_view name, const ValueView& place) {
  const JobField* field = find_job_field(name);
  if (field == nullptr) {
    const std::string_view near = nearest(name, job_field_names());
    return place.error(near.empty() ? "no setting of a job is called so" : fmt::format("did you mean {}?", near));
  }
  SearchAxis axis{std::string(name), {}};
  if (place.exists() && place.value()->is_array()) {
    for (const ValueView& item : TRY(place.items())) axis.values.push_back(TRY(setting_text(item)));
  } else {
    axis.values.push_back(TRY(setting_text(place)));
  }
  if (axis.values.empty()) return place.error("the list of values is empty");
  Job scratch;
  for (std::string& value : axis.values) {
    if (value == "null") continue;  // As in a job file: unset.
    if (const Status status = set_job_field(scratch, *field, value); !status)
      return place.error(status.error().message);
    value = job_field_text(scratch, *field);  // One spelling: "1.6e1" is 16.
  }
  return axis;
}

bool has_axis(const SearchSpace& space, std::string_view name) {
  return std::any_of(space.axes.begin(), space.axes.end(), [&](const SearchAxis& axis) { return axis.name == name; });
}

/// The batch that `samples_per_gpu` makes on so many GPUs, written as a setting.
Result<int64_t> batch_of(int64_t samples_per_gpu, const std::string& world_size) {
  int64_t gpus = 0, batch = 0;
  const auto [end, error] = std::from_chars(world_size.data(), world_size.data() + world_size.size(), gpus);
  if (error != std::errc() || gpus < 1 || __builtin_mul_overflow(samples_per_gpu, gpus, &batch) ||
      batch > kLargestBatch) {
    return fail(ErrorKind::kUsage, "{} samples per GPU on {} GPUs are out of range: a batch has 1 to {}",
                samples_per_gpu, world_size, kLargestBatch);
  }
  return batch;
}

/// Of the axis world_size, which is there.
Result<int64_t> largest_batch(const SearchSpace& space) {
  int64_t largest = 1;
  for (const SearchAxis& axis : space.axes) {
    if (axis.name != "world_size") continue;
    for (const std::string& value : axis.values)
      largest = std::max(largest, TRY(batch_of(space.samples_per_gpu, value)));
  }
  return largest;
}

/// Divisors of `of` up to `limit`, increasing.
std::vector<std::string> divisors(int64_t of, int64_t limit) {
  std::vector<std::string> found;
  for (int64_t d = 1; d <= std::min(of, limit); ++d) {
    if (of % d == 0) found.push_back(std::to_string(d));
  }
  return found;
}

/// The settings of one combination. What only exists with a distributed optimizer goes where that is turned off, and
/// the batch stays what it is although its parts change.
Result<std::vector<JobSetting>> settings_of(const SearchSpace& space, const std::vector<size_t>& choice,
                                            const Job& base) {
  std::vector<JobSetting> settings;
  bool distributed = true;
  std::string batch = std::to_string(base.global_batch_size);
  for (size_t i = 0; i < space.axes.size(); ++i) {
    const SearchAxis& axis = space.axes[i];
    settings.emplace_back(axis.name, axis.values[choice[i]]);
    if (axis.name == "use_distributed_optimizer") distributed = axis.values[choice[i]] == "true";
    if (axis.name == "world_size" && space.samples_per_gpu > 0)
      batch = std::to_string(TRY(batch_of(space.samples_per_gpu, axis.values[choice[i]])));
  }
  if (!has_axis(space, "global_batch_size") && !has_axis(space, "num_microbatches")) {
    settings.emplace_back("global_batch_size", batch);
  }
  if (!distributed && !has_axis(space, "overlap_param_gather")) settings.emplace_back("overlap_param_gather", "false");
  return settings;
}

/// Goes to the next combination; false after the last.
bool advance(const SearchSpace& space, std::vector<size_t>& choice) {
  for (size_t i = space.axes.size(); i-- > 0;) {
    if (++choice[i] < space.axes[i].values.size()) return true;
    choice[i] = 0;
  }
  return false;
}

}  // namespace

Result<SearchSpace> space_from_value(const ValueView& file) {
  SearchSpace space;
  for (const auto& [name, place] : TRY(file.members())) space.axes.push_back(TRY(axis_from_value(name, place)));
  return space;
}

Result<SearchSpace> complete_space(SearchSpace space, const Job& base, const Cluster& cluster, int64_t num_gpus) {
  const auto add = [&](std::string name, std::vector<std::string> values) {
    if (!has_axis(space, name)) space.axes.push_back({std::move(name), std::move(values)});
  };
  const int64_t gpus = num_gpus > 0 ? num_gpus : base.world_size;
  if (num_gpus > 0) std::erase_if(space.axes, [](const SearchAxis& axis) { return axis.name == "world_size"; });
  add("world_size", {std::to_string(gpus)});
  add("tensor_model_parallel_size", divisors(cluster.gpus_per_node, cluster.gpus_per_node));
  add("pipeline_model_parallel_size", divisors(base.num_layers, base.num_layers));
  add("virtual_pipeline_model_parallel_size", divisors(base.num_layers, base.num_layers));
  const int64_t batch = space.samples_per_gpu > 0 ? TRY(largest_batch(space)) : base.global_batch_size;
  add("micro_batch_size", divisors(batch, kLargestMicroBatch));
  // Fused attention keeps no matrix of scores that selective recomputation could drop.
  const bool has_scores = !base.use_flash_attn;
  add("recompute_granularity",
      has_scores ? std::vector<std::string>{"none", "selective", "full"} : std::vector<std::string>{"none", "full"});
  add("sequence_parallel", {"false", "true"});
  add("use_distributed_optimizer", {"false", "true"});
  return space;
}

Result<Enumeration> enumerate_space(const SearchSpace& space, const Job& base, const Cluster& cluster) {
  Enumeration result;
  result.combinations = 1;
  for (const SearchAxis& axis : space.axes) {
    if (axis.values.empty()) return fail(ErrorKind::kUsage, "the space has no value for {}", axis.name);
    result.combinations *= axis.values.size();
    if (result.combinations > kMostCombinations) {
      return fail(ErrorKind::kUsage, "the space has more than {} combinations: narrow it with --space",
                  kMostCombinations);
    }
  }
  const int64_t available = cluster.num_nodes * cluster.gpus_per_node;
  std::unordered_set<std::string> seen;
  std::vector<size_t> choice(space.axes.size(), 0);
  do {
    const Result<Job> job = change_job(base, TRY(settings_of(space, choice, base)));
    if (job && (available == 0 || job->world_size <= available)) {
      if (seen.insert(config_id(*job, "")).second) {
        result.jobs.push_back(*job);
        if (result.jobs.size() > kMostJobs) {
          return fail(ErrorKind::kUsage, "the space has more than {} legal configurations: narrow it with --space",
                      kMostJobs);
        }
      } else {
        ++result.repeated;
      }
      continue;
    }
    if (result.illegal++ == 0) {
      result.example =
          job ? fmt::format("world_size {} is more than the {} GPUs of the cluster", job->world_size, available)
              : job.error().message;
    }
  } while (advance(space, choice));
  return result;
}

}  // namespace lumos
