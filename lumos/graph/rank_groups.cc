#include "lumos/graph/rank_groups.h"

#include <array>
#include <string_view>

namespace lumos {

namespace {

struct Dimension {
  std::string_view name;
  std::string_view description;
  int32_t size;
  int64_t stride = 0;  ///< 0: not placed yet
};

using Dimensions = std::array<Dimension, 5>;

Status place(Dimensions& dimensions, std::string_view order, int64_t& world) {
  world = 1;
  for (size_t at = 0; at <= order.size();) {
    const size_t end = std::min(order.find('-', at), order.size());
    const std::string_view name = order.substr(at, end - at);
    at = end + 1;
    bool found = false;
    for (Dimension& dimension : dimensions) {
      if (dimension.name != name) continue;
      if (dimension.stride != 0) return fail(ErrorKind::kUsage, "rank order '{}' names {} twice", order, name);
      dimension.stride = world;
      world *= dimension.size;
      found = true;
    }
    if (!found) {
      return fail(ErrorKind::kUsage, "rank order '{}': '{}' is none of tp, cp, ep, dp, pp", order, name);
    }
  }
  for (const Dimension& dimension : dimensions) {
    if (dimension.stride == 0 && dimension.size > 1) {
      return fail(ErrorKind::kUsage, "rank order '{}' leaves out {}, whose size is {}", order, dimension.name,
                  dimension.size);
    }
  }
  return {};
}

void add_groups(const Dimension& dimension, int64_t world, std::vector<ProcessGroup>& out) {
  for (int64_t first = 0; first < world; ++first) {
    if (first / dimension.stride % dimension.size != 0) continue;
    ProcessGroup group;
    group.name = fmt::format("{}:{}", dimension.name, first);
    group.description = dimension.description;
    group.size = dimension.size;
    for (int32_t i = 0; i < dimension.size; ++i) {
      group.ranks.push_back(static_cast<int32_t>(first + i * dimension.stride));
    }
    const bool embedding = dimension.name == "pp";
    out.push_back(group);
    if (!embedding) continue;
    group.name = fmt::format("embedding:{}", first);
    group.description = "EMBEDDING_GROUP";
    group.size = 2;
    group.ranks = {group.ranks.front(), group.ranks.back()};
    out.push_back(group);
  }
}

}  // namespace

Result<std::vector<ProcessGroup>> groups_of_layout(const RankLayout& layout) {
  Dimensions dimensions = {{{"tp", "TENSOR_MODEL_PARALLEL_GROUP", layout.tensor},
                            {"cp", "CONTEXT_PARALLEL_GROUP", layout.context},
                            {"ep", "EXPERT_MODEL_PARALLEL_GROUP", layout.expert},
                            {"dp", "DATA_PARALLEL_GROUP", layout.data},
                            {"pp", "PIPELINE_MODEL_PARALLEL_GROUP", layout.pipeline}}};
  for (const Dimension& dimension : dimensions) {
    if (dimension.size < 1) return fail(ErrorKind::kUsage, "{} size {} is below one", dimension.name, dimension.size);
  }
  int64_t world = 1;
  TRY_STATUS(place(dimensions, layout.order, world));
  std::vector<ProcessGroup> out;
  if (world > 1) {
    ProcessGroup all;
    all.name = "world";
    all.description = "default_pg";
    all.size = static_cast<int32_t>(world);
    for (int64_t rank = 0; rank < world; ++rank) all.ranks.push_back(static_cast<int32_t>(rank));
    out.push_back(std::move(all));
  }
  for (const Dimension& dimension : dimensions) {
    if (dimension.size > 1) add_groups(dimension, world, out);
  }
  return out;
}

}  // namespace lumos
