// Finds the repeated part of a sequence of tokens: the layers of a model in the kernels of one pass over it.
#pragma once

#include <cstdint>
#include <vector>

namespace lumos {

/// `count` repetitions of `length` tokens from `begin` on. count 0: nothing repeats.
struct Repetition {
  uint32_t begin = 0;
  uint32_t length = 0;
  uint32_t count = 0;
  double match = 0;  ///< share of the tokens that equal the one a period later
};

/// The repetition that covers most of the sequence, with the shortest period; `known_count` > 0 fixes how often it
/// repeats. Single tokens may differ (another algorithm for one layer). O(tokens * longest period).
Repetition find_repetition(const std::vector<uint32_t>& tokens, uint32_t known_count);

}  // namespace lumos
