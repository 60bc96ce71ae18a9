#include "lumos/graph/constants.h"

#include <algorithm>

namespace lumos {

namespace {

// Samples further from the median than this many median deviations are strays; clocks in whole microseconds make the
// deviation itself as small as zero.
constexpr int64_t kMiddleDeviations = 6;
constexpr int64_t kNarrowestMiddleNs = 1000;

}  // namespace

int64_t middle_mean(std::vector<int64_t> samples) {
  if (samples.empty()) return 0;
  auto median_of = [](std::vector<int64_t>& v) {
    std::nth_element(v.begin(), v.begin() + v.size() / 2, v.end());
    return v[v.size() / 2];
  };
  const int64_t median = median_of(samples);
  std::vector<int64_t> deviations;
  deviations.reserve(samples.size());
  for (int64_t s : samples) deviations.push_back(s > median ? s - median : median - s);
  const int64_t width = std::max(kMiddleDeviations * median_of(deviations), kNarrowestMiddleNs);
  int64_t sum = 0, count = 0;
  for (int64_t s : samples) {
    if (s < median - width || s > median + width) continue;
    sum += s;
    ++count;
  }
  return sum / count;
}

std::vector<Constant> ConstantFitter::fit() const {
  std::vector<Constant> out;
  for (const auto& [name, samples] : samples_)
    if (!samples.empty()) out.push_back({name, middle_mean(samples), samples.size()});
  return out;
}

ConstantTable::ConstantTable(std::vector<Constant> constants) : constants_(std::move(constants)) {
  std::sort(constants_.begin(), constants_.end(), [](const Constant& a, const Constant& b) { return a.name < b.name; });
}

int64_t ConstantTable::value(const std::string& name, int64_t otherwise) const {
  auto find = [&](const std::string& wanted) {
    const auto it = std::lower_bound(constants_.begin(), constants_.end(), wanted,
                                     [](const Constant& c, const std::string& n) { return c.name < n; });
    return it != constants_.end() && it->name == wanted ? &*it : nullptr;
  };
  if (const Constant* c = find(name)) return c->value_ns;
  if (const Constant* c = find(name.substr(0, name.find(':')))) return c->value_ns;
  return otherwise;
}

}  // namespace lumos
