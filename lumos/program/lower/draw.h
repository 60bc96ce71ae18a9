// A small random source whose numbers are the same on every machine. Every use takes a seed.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/base/result.h"

namespace lumos {

inline constexpr uint64_t kSplitMixStep = 0x9e3779b97f4a7c15ull;

/// One step of SplitMix64 (Steele, Lea, Flood 2014): also a hash, for chances that depend on nothing but their key.
constexpr uint64_t split_mix(uint64_t state) {
  uint64_t z = state + kSplitMixStep;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    const uint64_t drawn = split_mix(state_);
    state_ += kSplitMixStep;
    return drawn;
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
