#include "lumos/parallel/mesh.h"

#include <algorithm>
#include <set>

#include "lumos/base/result.h"

namespace lumos {

Mesh::Mesh(int64_t gpus_per_node) : gpus_per_node_(std::max<int64_t>(gpus_per_node, 1)) {
  size_.fill(1);
  stride_.fill(1);
}

void Mesh::add(Dimension dimension, int64_t size) {
  CHECK(std::find(order_.begin(), order_.end(), dimension) == order_.end());
  order_.push_back(dimension);
  size_[static_cast<size_t>(dimension)] = size;
  stride_[static_cast<size_t>(dimension)] = ranks_;
  ranks_ *= size;
}

int64_t Mesh::size(DimensionSet dimensions) const {
  int64_t members = 1;
  for (Dimension dimension : order_) members *= dimensions.has(dimension) ? size(dimension) : 1;
  return members;
}

Position Mesh::position(int64_t rank) const {
  Position position;
  for (Dimension dimension : order_) position[dimension] = rank / stride(dimension) % size(dimension);
  return position;
}

int64_t Mesh::rank_at(const Position& position) const {
  int64_t rank = 0;
  for (Dimension dimension : order_) rank += position[dimension] * stride(dimension);
  return rank;
}

std::vector<int32_t> Mesh::members(const Position& position, DimensionSet dimensions) const {
  Position first = position;
  for (Dimension dimension : order_)
    if (dimensions.has(dimension)) first[dimension] = 0;
  std::vector<int32_t> ranks = {static_cast<int32_t>(rank_at(first))};
  // Slowest last: what is there already is repeated further on, in ascending order.
  for (Dimension dimension : order_) {
    if (!dimensions.has(dimension)) continue;
    const size_t count = ranks.size();
    for (int64_t i = 1; i < size(dimension); ++i)
      for (size_t k = 0; k < count; ++k) ranks.push_back(ranks[k] + static_cast<int32_t>(i * stride(dimension)));
  }
  return ranks;
}

GroupShape Mesh::shape(DimensionSet dimensions) const {
  Dimension only = Dimension::kTensor;
  int count = 0;
  for (Dimension dimension : order_) {
    if (!dimensions.has(dimension) || size(dimension) == 1) continue;
    only = dimension;
    ++count;
  }
  if (count == 0) return {1, 1};
  if (count == 1) return group_shape(size(only), stride(only), gpus_per_node_);
  if (size(dimensions) == ranks_) return group_shape(ranks_, 1, gpus_per_node_);
  return group_shape(members(Position(), dimensions), gpus_per_node_);
}

GroupShape Mesh::pair(Dimension dimension, int64_t one, int64_t other) const {
  if (one == other) return {1, 1};
  const auto node = [&](int64_t at) { return at * stride(dimension) / gpus_per_node_; };
  return {2, node(one) == node(other) ? 2 : 1};
}

DimensionSet Mesh::spanned(const std::vector<int32_t>& ranks) const {
  DimensionSet found;
  if (ranks.empty()) return found;
  const Position first = position(ranks.front());
  for (int32_t rank : ranks) {
    const Position other = position(rank);
    for (Dimension dimension : order_)
      if (other[dimension] != first[dimension]) found = found.with(dimension);
  }
  return found;
}

DimensionSet Mesh::all() const {
  DimensionSet found;
  for (Dimension dimension : order_) found = found.with(dimension);
  return found;
}

}  // namespace lumos
