// How the ranks of a group lie on nodes of consecutive ranks: all that the network knows of a group. Read by the models
// of collectives.
#pragma once

#include <cstdint>
#include <vector>

namespace lumos {

/// The ranks of a group as the network sees them: `size` members, `per_node` of them in each node they touch.
struct GroupShape {
  int64_t size = 1;
  int64_t per_node = 1;

  int64_t nodes() const { return (size + per_node - 1) / per_node; }
  bool crosses_nodes() const { return size > per_node; }
  bool operator==(const GroupShape&) const = default;
};

/// The shape of `size` members that touch `nodes` nodes: where these share them unevenly, each has the mean, rounded
/// up.
GroupShape shape_on_nodes(int64_t size, int64_t nodes);

/// The shape of a group whose members are `stride` ranks apart on nodes of `gpus_per_node` ranks.
/// The first begins a node, as those of a job's dimensions do.
GroupShape group_shape(int64_t size, int64_t stride, int64_t gpus_per_node);

/// The shape of a group of these ranks, which fill nodes in order. Of more than one node exactly when they are not all
/// on one.
GroupShape group_shape(const std::vector<int32_t>& ranks, int64_t gpus_per_node);

}  // namespace lumos
