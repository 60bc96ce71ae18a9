// The ranks of a job as a grid: dimensions with sizes, the first varying fastest, on nodes of consecutive ranks. Says
// where a rank is, who forms a group with it, how groups lie on nodes, and along which dimensions a list of ranks
// extends. Made by plan/layout from a job; read by whoever needs to know which ranks talk to each other.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lumos/parallel/dimension.h"
#include "lumos/parallel/group_shape.h"

namespace lumos {

/// A rank's coordinates, by dimension; 0 along those that a mesh does not have.
class Position {
 public:
  int64_t& operator[](Dimension dimension) { return along_[static_cast<size_t>(dimension)]; }
  int64_t operator[](Dimension dimension) const { return along_[static_cast<size_t>(dimension)]; }
  bool operator==(const Position&) const = default;

 private:
  std::array<int64_t, kMostDimensions> along_ = {};
};

class Mesh {
 public:
  explicit Mesh(int64_t gpus_per_node = 1);

  /// The next dimension, slower than those before it. Each may be added once.
  void add(Dimension dimension, int64_t size);

  /// From fastest to slowest.
  const std::vector<Dimension>& order() const { return order_; }
  int64_t gpus_per_node() const { return gpus_per_node_; }
  int64_t ranks() const { return ranks_; }

  /// Members along a dimension; 1 along those that the mesh does not have.
  int64_t size(Dimension dimension) const { return size_[static_cast<size_t>(dimension)]; }
  /// Of the members along all of `dimensions`.
  int64_t size(DimensionSet dimensions) const;
  /// Ranks between neighbours along a dimension.
  int64_t stride(Dimension dimension) const { return stride_[static_cast<size_t>(dimension)]; }

  Position position(int64_t rank) const;
  int64_t rank_at(const Position& position) const;
  /// The group of `position` along `dimensions`, ascending.
  std::vector<int32_t> members(const Position& position, DimensionSet dimensions) const;

  /// The groups along `dimensions`, by the one of rank 0. O(1) for one dimension, else O(members).
  GroupShape shape(DimensionSet dimensions) const;
  /// Two positions along `dimension`, of rank 0 otherwise: {2, 2} on a node or {2, 1}; {1, 1} for one position.
  GroupShape pair(Dimension dimension, int64_t one, int64_t other) const;

  /// The dimensions along which `ranks` differ.
  DimensionSet spanned(const std::vector<int32_t>& ranks) const;

  /// All its dimensions.
  DimensionSet all() const;

 private:
  int64_t gpus_per_node_;
  int64_t ranks_ = 1;
  std::vector<Dimension> order_;
  std::array<int64_t, kMostDimensions> size_;
  std::array<int64_t, kMostDimensions> stride_;
};

/// The grids of one job. Experts are dealt to the ranks that share tensor, context and data parallelism; a sharded
/// job's replicas are sharding groups, side by side.
struct Layout {
  Mesh dense;
  Mesh expert;
  Mesh sharded;
};

}  // namespace lumos
