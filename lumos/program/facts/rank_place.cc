#include "lumos/program/facts/rank_place.h"

#include <algorithm>
#include <string_view>

namespace lumos {
namespace {

std::string_view axis_name(Axis axis) {
  switch (axis) {
    case Axis::kTensor:
      return "tp";
    case Axis::kData:
      return "dp";
    case Axis::kPipeline:
      break;
  }
  return "pp";
}

int64_t size_along(const Job& job, Axis axis) {
  switch (axis) {
    case Axis::kTensor:
      return job.tensor_model_parallel_size;
    case Axis::kData:
      return job.data_parallel_size;
    case Axis::kPipeline:
      break;
  }
  return job.pipeline_model_parallel_size;
}

}  // namespace

int64_t stride_of(const Job& job, Axis axis) {
  const size_t own = job.rank_order.find(axis_name(axis));
  int64_t stride = 1;
  for (Axis other : {Axis::kTensor, Axis::kData, Axis::kPipeline}) {
    // An axis that the order does not name comes after all that it does.
    if (other != axis && job.rank_order.find(axis_name(other)) < own) stride *= size_along(job, other);
  }
  return stride;
}

RankPlace place_of(const Job& job, int64_t rank) {
  auto along = [&](Axis axis) { return rank / stride_of(job, axis) % size_along(job, axis); };
  return {along(Axis::kTensor), along(Axis::kData), along(Axis::kPipeline)};
}

GroupSpan span_along(const Job& job, Axis axis) {
  const int64_t members = size_along(job, axis);
  const int64_t per_node = std::clamp<int64_t>(job.gpus_per_node / stride_of(job, axis), 1, members);
  return {members, per_node};
}

GroupSpan span_of_shards(const Job& job) {
  const int64_t per_node = job.gpus_per_node / stride_of(job, Axis::kData);
  return {job.fsdp_shard_size, std::clamp<int64_t>(per_node, 1, job.fsdp_shard_size)};
}

GroupSpan span_of_shard_holders(const Job& job) {
  const int64_t per_node = job.gpus_per_node / (stride_of(job, Axis::kData) * job.fsdp_shard_size);
  return {job.fsdp_replicate_size, std::clamp<int64_t>(per_node, 1, job.fsdp_replicate_size)};
}

GroupSpan span_of_stages(const Job& job, int64_t stage, int64_t other) {
  const int64_t stride = stride_of(job, Axis::kPipeline);
  const bool same_node = stage * stride / job.gpus_per_node == other * stride / job.gpus_per_node;
  return {2, same_node ? 2 : 1};
}

GroupSpan span_of_border(const Job& job, int64_t virtual_stage) {
  const int64_t stages = job.pipeline_model_parallel_size;
  return span_of_stages(job, virtual_stage % stages, (virtual_stage + 1) % stages);
}

}  // namespace lumos
