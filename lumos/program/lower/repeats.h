// Where a sequence repeats itself: an optimizer that goes from tensor to tensor, or from bucket to bucket, launches the
// same few kernels again and again. Read by program/lower/plan, which makes more or fewer of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lumos {

/// `unit` items, `count` times in a row.
struct Repeat {
  size_t begin = 0;
  size_t unit = 1;
  size_t count = 1;

  size_t end() const { return begin + unit * count; }
  bool operator==(const Repeat&) const = default;
};

/// Cuts `shapes` into repeats, in order; what does not repeat is a unit of one, once. From each place on the unit that
/// covers most is taken, the shortest of those. O(items x longest unit), times the repeats that a unit has to be tried
/// on.
std::vector<Repeat> find_repeats(const std::vector<uint64_t>& shapes);

}  // namespace lumos
