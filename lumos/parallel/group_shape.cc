#include "lumos/parallel/group_shape.h"

#include <algorithm>
#include <set>

namespace lumos {

GroupShape shape_on_nodes(int64_t size, int64_t nodes) {
  return size <= 0 || nodes <= 0 ? GroupShape{} : GroupShape{size, (size + nodes - 1) / nodes};
}

GroupShape group_shape(int64_t size, int64_t stride, int64_t gpus_per_node) {
  if (size <= 1) return {size, 1};
  // Members that are further apart than a node is large have one each; others leave no node out.
  const int64_t apart = std::max<int64_t>(stride, 1);
  const int64_t nodes = apart >= gpus_per_node ? size : (size - 1) * apart / gpus_per_node + 1;
  return shape_on_nodes(size, nodes);
}

GroupShape group_shape(const std::vector<int32_t>& ranks, int64_t gpus_per_node) {
  const std::set<int32_t> members(ranks.begin(), ranks.end());
  std::set<int64_t> nodes;
  for (int32_t rank : members) nodes.insert(rank / gpus_per_node);
  return shape_on_nodes(static_cast<int64_t>(members.size()), static_cast<int64_t>(nodes.size()));
}

}  // namespace lumos
