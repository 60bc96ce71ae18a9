#include "lumos/graph/constants.h"

#include <algorithm>

namespace lumos {

int64_t middle_mean(std::vector<int64_t> samples) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const size_t low = samples.size() * 5 / 100;
  const size_t high = std::max(low + 1, samples.size() * 90 / 100);
  int64_t sum = 0;
  for (size_t i = low; i < high; ++i) sum += samples[i];
  return sum / static_cast<int64_t>(high - low);
}

std::vector<Constant> ConstantFitter::fit() const {
  std::vector<Constant> out;
  for (const auto& [name, samples] : samples_) out.push_back({name, middle_mean(samples), samples.size()});
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
