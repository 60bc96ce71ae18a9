// How long blocks of equal work take that go over the multiprocessors of a GPU in waves: the tiles of products, the
// blocks of attention, and those of kernels that are measured and grow.
#pragma once

#include <algorithm>
#include <cmath>

namespace lumos {

/// Times of one full wave, for `waves` times as many blocks as run at once: a last wave that is not full costs between
/// its share and a whole one, since the blocks before it do not all end together.
inline double rounds(double waves) { return 0.5 * std::ceil(waves) + 0.5 * waves; }

/// The same for blocks that run one to a multiprocessor: fewer than those take as long as one.
inline double rounds_of_blocks(double blocks, double multiprocessors) {
  return rounds(std::max(1.0, blocks / multiprocessors));
}

}  // namespace lumos
