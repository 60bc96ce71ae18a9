// The answer of a search as text for people and as JSON for programs: how many configurations there were, the best, and
// the front.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lumos/search/search.h"
#include "lumos/search/space.h"

namespace lumos {

/// What a search was asked and what it found. References: the caller keeps the parts.
struct SearchAnswer {
  const std::vector<Configuration>& configurations;
  const SearchResult& result;
  const Anchor& anchor;
  const Enumeration& enumeration;  ///< its jobs are not read
  std::vector<std::string> names;  ///< settings to show of each configuration
  size_t top = 10;                 ///< 0: all
  double tokens = 0;               ///< of the training run to cost; 0: none
  std::optional<Job> base;         ///< the job that was changed, where there is one
  double base_ms = 0;              ///< its measured step; 0: it was not traced
};

/// The best configurations and the front, 80 columns.
std::string search_text(const SearchAnswer& answer);

/// "2x2x8": tensor, pipeline and data parallel sizes.
std::string split_text(const Job& job);

/// "sel,sp,do": recomputation, sequence parallelism and distributed optimizer, which a split does not say.
std::string options_text(const Job& job);

/// One object, schema lumos.search.v1.
std::string search_json(const SearchAnswer& answer);

}  // namespace lumos
