#include "lumos/search/shard.h"

#include <charconv>
#include <cstdlib>

namespace lumos {
namespace {

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<int64_t> number_in(const Environment& environment, std::string_view name) {
  const std::optional<std::string> text = environment(name);
  const std::optional<int64_t> value = text ? whole_number(*text) : std::nullopt;
  if (!value) return fail(ErrorKind::kUsage, "--shard auto: {} is not set to a whole number", name);
  return *value;
}

Result<Shard> checked(int64_t index, int64_t count, std::string_view what) {
  if (count < 1 || index < 1 || index > count) {
    return fail(ErrorKind::kUsage, "--shard {}: part {} of {} does not exist; parts are 1/N to N/N", what, index,
                count);
  }
  return Shard{index, count};
}

/// Launchers of processes, innermost first: torchrun and mpirun run inside Slurm steps, and count all of them.
struct Launcher {
  std::string_view rank, size;
};
constexpr Launcher kLaunchers[] = {{"RANK", "WORLD_SIZE"},
                                   {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   // A batch script has a SLURM_PROCID too, but only a step has a number of tasks.
                                   {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

Result<std::optional<Shard>> process_shard(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers) {
    if (!environment(launcher.rank) || !environment(launcher.size)) continue;
    const int64_t rank = TRY(number_in(environment, launcher.rank));
    return std::optional<Shard>(TRY(checked(rank + 1, TRY(number_in(environment, launcher.size)), "auto")));
  }
  return std::optional<Shard>();
}

Result<std::optional<Shard>> array_shard(const Environment& environment) {
  if (!environment("SLURM_ARRAY_TASK_ID")) return std::optional<Shard>();
  const int64_t task = TRY(number_in(environment, "SLURM_ARRAY_TASK_ID"));
  const int64_t first = TRY(number_in(environment, "SLURM_ARRAY_TASK_MIN"));
  const int64_t last = TRY(number_in(environment, "SLURM_ARRAY_TASK_MAX"));
  const int64_t count = TRY(number_in(environment, "SLURM_ARRAY_TASK_COUNT"));
  const int64_t step = environment("SLURM_ARRAY_TASK_STEP") ? TRY(number_in(environment, "SLURM_ARRAY_TASK_STEP")) : 1;
  // A list such as 1,3,7 has no rule by which a task could know its place.
  if (step < 1 || (last - first) / step + 1 != count) {
    return fail(ErrorKind::kUsage, "--shard auto: a Slurm array must be a range such as 1-{}; use --shard I/N", count);
  }
  return std::optional<Shard>(TRY(checked((task - first) / step + 1, count, "auto")));
}

Result<Shard> automatic(const Environment& environment) {
  const std::optional<Shard> array = TRY(array_shard(environment));
  const std::optional<Shard> process = TRY(process_shard(environment));
  if (!array && !process) {
    return fail(
        ErrorKind::kUsage,
        "--shard auto: no Slurm array, Slurm step, torchrun or Open MPI has started this process; use --shard I/N");
  }
  const Shard outer = array.value_or(Shard{}), inner = process.value_or(Shard{});
  return Shard{(outer.index - 1) * inner.count + inner.index, outer.count * inner.count};
}

}  // namespace

std::optional<std::string> process_environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<Shard> parse_shard(std::string_view text, const Environment& environment) {
  if (text == "auto") return automatic(environment);
  const size_t slash = text.find('/');
  const std::optional<int64_t> index = whole_number(text.substr(0, slash));
  const std::optional<int64_t> count =
      slash == std::string_view::npos ? std::nullopt : whole_number(text.substr(slash + 1));
  if (!index || !count) return fail(ErrorKind::kUsage, "--shard {}: expected I/N, such as 2/8, or auto", text);
  return checked(*index, *count, text);
}

std::string shard_path(const std::string& path, const Shard& shard) {
  const size_t dot = path.rfind('.');
  const bool has_suffix = dot != std::string::npos && path.find('/', dot) == std::string::npos;
  const size_t end = has_suffix ? dot : path.size();
  return fmt::format("{}.{}-of-{}{}", path.substr(0, end), shard.index, shard.count, path.substr(end));
}

}  // namespace lumos
