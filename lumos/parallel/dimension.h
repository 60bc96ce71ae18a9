// The dimensions along which a job is split over its ranks, one row each: what they are called in rank orders, in
// settings and in the process groups of traces. The one place that knows these words; read by meshes, by the job's
// fields, by whoever names groups and by whoever recognises them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace lumos {

/// Row of the table. Further rows have the numbers that add_dimension gave them.
enum class Dimension : uint8_t {
  kTensor,
  kContext,
  kExpert,
  kData,
  kPipeline,
  kShard,      ///< of kData: the ranks that share out one copy of the parameters
  kReplicate,  ///< of kData: the copies
};
inline constexpr size_t kMostDimensions = 16;

struct DimensionRow {
  std::string_view name;     ///< in rank orders: "tp"
  std::string_view setting;  ///< the job's field that has its size; "" for what follows from other fields
  /// How the descriptions of its process groups begin: Megatron's words, then those of PyTorch's DeviceMesh. The first
  /// is written into synthesized traces.
  std::vector<std::string_view> group_words;
  /// Whether its members run the same kernels on as many elements, so that one stands for all.
  bool equal_work = true;
  /// Whether its ranks hold the same layers and take part in one pass each, so that they multiply the world's size.
  /// The others are cut out of these.
  bool own_ranks = true;
};

/// In the order of Dimension.
const std::vector<DimensionRow>& dimension_table();

const DimensionRow& row_of(Dimension dimension);

/// By its name in rank orders.
std::optional<Dimension> find_dimension(std::string_view name);

/// By the description of a process group.
std::optional<Dimension> dimension_of_group(std::string_view description);

/// One more row, for a program that brings a dimension of its own. To be called before any job is read.
Dimension add_dimension(DimensionRow row);

/// A set of dimensions.
class DimensionSet {
 public:
  constexpr DimensionSet() = default;
  constexpr DimensionSet(Dimension dimension) : bits_(bit(dimension)) {}  // NOLINT: a set of one
  constexpr DimensionSet(std::initializer_list<Dimension> dimensions) {
    for (Dimension dimension : dimensions) bits_ |= bit(dimension);
  }

  constexpr bool has(Dimension dimension) const { return (bits_ & bit(dimension)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr DimensionSet with(DimensionSet other) const { return DimensionSet(bits_ | other.bits_, 0); }
  constexpr bool operator==(const DimensionSet&) const = default;
  /// An order for maps.
  constexpr bool operator<(const DimensionSet& other) const { return bits_ < other.bits_; }

 private:
  static constexpr uint16_t bit(Dimension dimension) {
    return static_cast<uint16_t>(1u << static_cast<unsigned>(dimension));
  }
  constexpr DimensionSet(int bits, int) : bits_(static_cast<uint16_t>(bits)) {}

  uint16_t bits_ = 0;
};

}  // namespace lumos
