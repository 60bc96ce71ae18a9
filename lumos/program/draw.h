// A small random source whose numbers are the same on every machine. Every use takes a seed.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/base/result.h"

namespace lumos {

/// SplitMix64 (Steele, Lea, Flood 2014).
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

  template <class T>
  const T& pick(const std::vector<T>& items) {
    CHECK(!items.empty());
    return items[next() % items.size()];
  }

 private:
  uint64_t state_;
};

}  // namespace lumos
