#include "lumos/program/lower/repeats.h"

#include <algorithm>

namespace lumos {
namespace {

/// An eager optimizer takes about a dozen kernels per tensor; longer units are not looked for.
constexpr size_t kLongestUnit = 64;

Repeat longest_from(const std::vector<uint64_t>& shapes, size_t begin) {
  Repeat best{begin, 1, 1};
  const size_t left = shapes.size() - begin;
  for (size_t unit = 1; unit <= std::min(kLongestUnit, left / 2); ++unit) {
    size_t same = 0;
    while (begin + unit + same < shapes.size() && shapes[begin + same] == shapes[begin + unit + same]) ++same;
    const size_t count = 1 + same / unit;
    if (count > 1 && unit * count > best.unit * best.count) best = {begin, unit, count};
  }
  return best;
}

}  // namespace

std::vector<Repeat> find_repeats(const std::vector<uint64_t>& shapes) {
  std::vector<Repeat> repeats;
  for (size_t begin = 0; begin < shapes.size(); begin = repeats.back().end())
    repeats.push_back(longest_from(shapes, begin));
  return repeats;
}

}  // namespace lumos
