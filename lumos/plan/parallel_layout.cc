#include "lumos/plan/parallel_layout.h"

#include <algorithm>
#include <vector>

namespace lumos {
namespace {

std::string_view axis_name(ParallelAxis axis) {
  switch (axis) {
    case ParallelAxis::kTensor:
      return "tp";
    case ParallelAxis::kPipeline:
      return "pp";
    case ParallelAxis::kData:
      return "dp";
  }
  return "";
}

/// The three axes from fastest to slowest. Names without members here ("cp", "ep") have size one.
std::vector<ParallelAxis> axes_in_order(const Job& job) {
  std::vector<ParallelAxis> axes;
  const auto add = [&axes](std::string_view name) {
    for (ParallelAxis axis : {ParallelAxis::kTensor, ParallelAxis::kData, ParallelAxis::kPipeline}) {
      const bool known = std::find(axes.begin(), axes.end(), axis) != axes.end();
      if (axis_name(axis) == name && !known) axes.push_back(axis);
    }
  };
  const std::string& order = job.rank_order;
  for (size_t begin = 0; begin <= order.size();) {
    const size_t end = std::min(order.find('-', begin), order.size());
    add(std::string_view(order).substr(begin, end - begin));
    begin = end + 1;
  }
  for (std::string_view name : {"tp", "dp", "pp"}) add(name);
  return axes;
}

}  // namespace

int64_t axis_size(const Job& job, ParallelAxis axis) {
  switch (axis) {
    case ParallelAxis::kTensor:
      return job.tensor_model_parallel_size;
    case ParallelAxis::kPipeline:
      return job.pipeline_model_parallel_size;
    case ParallelAxis::kData:
      return job.data_parallel_size;
  }
  return 1;
}

int64_t axis_stride(const Job& job, ParallelAxis axis) {
  int64_t stride = 1;
  for (ParallelAxis faster : axes_in_order(job)) {
    if (faster == axis) return stride;
    stride *= axis_size(job, faster);
  }
  return stride;
}

GroupShape axis_group(const Job& job, const Cluster& cluster, ParallelAxis axis) {
  return group_shape(axis_size(job, axis), axis_stride(job, axis), cluster.gpus_per_node);
}

GroupShape stage_pair(const Job& job, const Cluster& cluster, int64_t one, int64_t other) {
  if (one == other) return {1, 1};
  const int64_t node = rank_at(job, 0, one, 0) / cluster.gpus_per_node;
  return {2, node == rank_at(job, 0, other, 0) / cluster.gpus_per_node ? 2 : 1};
}

GroupShape model_group(const Job& job, const Cluster& cluster) {
  const int64_t tp = job.tensor_model_parallel_size, pp = job.pipeline_model_parallel_size;
  int64_t in_first_node = 0;
  for (int64_t stage = 0; stage < pp; ++stage) {
    for (int64_t tensor = 0; tensor < tp; ++tensor)
      in_first_node += rank_at(job, tensor, stage, 0) < cluster.gpus_per_node ? 1 : 0;
  }
  return {tp * pp, std::max<int64_t>(in_first_node, 1)};
}

int64_t rank_at(const Job& job, int64_t tensor, int64_t pipeline, int64_t data) {
  return tensor * axis_stride(job, ParallelAxis::kTensor) + pipeline * axis_stride(job, ParallelAxis::kPipeline) +
         data * axis_stride(job, ParallelAxis::kData);
}

}  // namespace lumos
