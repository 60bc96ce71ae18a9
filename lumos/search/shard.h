// Which part of a search this process does when several share it, named on the command line or found in what the
// machine's launcher tells its processes. Read by the command line; search takes the configurations of its part.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lumos/base/result.h"

namespace lumos {

/// Part `index` of `count`, from 1.
struct Shard {
  int64_t index = 1;
  int64_t count = 1;

  /// Whether the item at `position` of a list that all parts agree on belongs to this one: parts take turns, so that
  /// good and bad items, which lists have sorted, are dealt evenly.
  bool has(size_t position) const { return static_cast<int64_t>(position) % count == index - 1; }
  bool operator==(const Shard&) const = default;
};

/// The value of an environment variable, if it is set.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;

/// The environment of this process.
std::optional<std::string> process_environment(std::string_view name);

/// "2/8", or "auto": torchrun's, Open MPI's or the Slurm step's rank, whichever is found first, times the Slurm array's
/// task where there is one. Errors (kUsage) say what is expected.
Result<Shard> parse_shard(std::string_view text, const Environment& environment = process_environment);

/// Where a part of the results goes: "out/results.jsonl" becomes "out/results.2-of-8.jsonl".
std::string shard_path(const std::string& path, const Shard& shard);

}  // namespace lumos
