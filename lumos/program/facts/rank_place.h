// How the groups of a job lie on its own nodes, in the words of the network model.
#pragma once

#include <cstdint>

#include "lumos/plan/ops/layout.h"

namespace lumos {

using Axis = Dimension;

/// Members of a group and how many of them share a node.
struct GroupSpan {
  int64_t members = 1;
  int64_t per_node = 1;
  bool crosses_nodes() const { return members > per_node; }
  bool operator==(const GroupSpan&) const = default;
};

/// The group along `axis`.
inline GroupSpan span_along(const Job& job, Axis axis) {
  const GroupShape shape = mesh_of(job).shape(axis);
  return {shape.size, shape.per_node};
}

struct RankPlace {
  int64_t stage = 0;
};

inline RankPlace place_of(const Job& job, int64_t rank) { return {position_of(job, rank)[Dimension::kPipeline]}; }

/// Stages `stage` and `other` of one pipeline.
inline GroupSpan span_of_stages(const Job& job, int64_t stage, int64_t other) {
  if (stage == other) return {2, 2};
  const GroupShape shape = mesh_of(job).pair(Dimension::kPipeline, stage, other);
  return {2, shape.per_node};
}

/// The stage that holds `virtual_stage` and the one that holds the next.
inline GroupSpan span_of_border(const Job& job, int64_t virtual_stage) {
  const GroupShape shape = stage_border(mesh_of(job), virtual_stage);
  return {2, shape.per_node};
}

}  // namespace lumos
