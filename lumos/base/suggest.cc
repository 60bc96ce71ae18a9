#include "lumos/base/suggest.h"

#include <algorithm>
#include <cstddef>

namespace lumos {

namespace {

// Optimal string alignment distance, O(a * b).
size_t edits(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> cost((a.size() + 1) * width);
  for (size_t i = 0; i <= a.size(); ++i) cost[i * width] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = cost[(i - 1) * width + j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      size_t best = std::min({cost[(i - 1) * width + j] + 1, cost[i * width + j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, cost[(i - 2) * width + j - 2] + 1);
      }
      cost[i * width + j] = best;
    }
  }
  return cost.back();
}

}  // namespace

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view best;
  // A third of the word may be wrong; more is another word.
  size_t best_edits = word.size() / 3 + 1;
  for (std::string_view candidate : known) {
    const size_t count = edits(word, candidate);
    if (count <= best_edits && (best.empty() || count < best_edits)) {
      best = candidate;
      best_edits = count;
    }
  }
  return best;
}

}  // namespace lumos
