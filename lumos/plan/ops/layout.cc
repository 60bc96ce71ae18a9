#include "lumos/plan/ops/layout.h"

#include <algorithm>
#include <string_view>

#include "lumos/model/job/job_fields.h"

namespace lumos {
namespace {

/// The dimensions of the dense mesh from fastest to slowest: those that rank_order names, then the others.
std::vector<Dimension> order_of_ranks(const Job& job) {
  std::vector<Dimension> order;
  const auto add = [&](Dimension dimension) {
    const bool known = std::find(order.begin(), order.end(), dimension) != order.end();
    if (row_of(dimension).own_ranks && !known) order.push_back(dimension);
  };
  const std::string_view names = job.rank_order;
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find('-', begin), names.size());
    if (const auto dimension = find_dimension(names.substr(begin, end - begin))) add(*dimension);
    begin = end + 1;
  }
  for (size_t i = 0; i < dimension_table().size(); ++i) add(Dimension(i));
  return order;
}

}  // namespace

int64_t dimension_size(const Job& job, Dimension dimension) {
  switch (dimension) {
    case Dimension::kTensor:
      return job.tensor_model_parallel_size;
    case Dimension::kContext:
      return job.context_parallel_size;
    case Dimension::kExpert:
      return job.expert_model_parallel_size;
    case Dimension::kData:
      return job.data_parallel_size;
    case Dimension::kPipeline:
      return job.pipeline_model_parallel_size;
    default:
      return job.further_sizes[dimension];
  }
}

Layout layout_of(const Job& job, int64_t gpus_per_node) {
  Layout layout{Mesh(gpus_per_node), Mesh(gpus_per_node), Mesh(gpus_per_node)};
  const std::vector<Dimension> order = order_of_ranks(job);
  for (Dimension dimension : order) layout.dense.add(dimension, dimension_size(job, dimension));
  return layout;
}

Mesh mesh_of(const Job& job) { return layout_of(job, job.gpus_per_node).dense; }

Position position_of(const Job& job, int64_t rank) { return mesh_of(job).position(rank); }

GroupShape stage_border(const Mesh& mesh, int64_t virtual_stage) {
  const int64_t stages = mesh.size(Dimension::kPipeline);
  return mesh.pair(Dimension::kPipeline, virtual_stage % stages, (virtual_stage + 1) % stages);
}

}  // namespace lumos
