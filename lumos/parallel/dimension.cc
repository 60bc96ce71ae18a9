#include "lumos/parallel/dimension.h"

#include "lumos/base/result.h"

namespace lumos {
namespace {

std::vector<DimensionRow>& rows() {
  static std::vector<DimensionRow> table = {
      {"tp", "tensor_model_parallel_size", {"TENSOR_MODEL_PARALLEL_GROUP", "mesh_tp"}},
      {"cp", "context_parallel_size", {"CONTEXT_PARALLEL_GROUP", "mesh_cp"}},
      {"ep", "expert_model_parallel_size", {"EXPERT_MODEL_PARALLEL_GROUP", "mesh_ep"}, false, false},
      // Its group with context parallelism, which has the same ranks where there is none.
      {"dp", "data_parallel_size", {"DATA_PARALLEL_GROUP_WITH_CP", "DATA_PARALLEL_GROUP", "mesh_dp"}},
      {"pp", "pipeline_model_parallel_size", {"PIPELINE_MODEL_PARALLEL_GROUP", "mesh_pp"}, false},
      {"dp_shard", "", {"INTRA_PARTIAL_DATA_PARALLEL_GROUP", "mesh_dp_shard", "mesh_fsdp"}, true, false},
      {"dp_replicate", "", {"INTER_PARTIAL_DATA_PARALLEL_GROUP", "mesh_dp_replicate"}, true, false},
  };
  return table;
}

}  // namespace

const std::vector<DimensionRow>& dimension_table() { return rows(); }

const DimensionRow& row_of(Dimension dimension) { return rows()[static_cast<size_t>(dimension)]; }

std::optional<Dimension> find_dimension(std::string_view name) {
  for (size_t i = 0; i < rows().size(); ++i)
    if (rows()[i].name == name) return Dimension(i);
  return std::nullopt;
}

std::optional<Dimension> dimension_of_group(std::string_view description) {
  // The longest word counts: "mesh_dp_shard" begins with "mesh_dp".
  std::optional<Dimension> found;
  size_t length = 0;
  for (size_t i = 0; i < rows().size(); ++i) {
    for (std::string_view word : rows()[i].group_words) {
      if (!description.starts_with(word) || word.size() <= length) continue;
      found = Dimension(i);
      length = word.size();
    }
  }
  return found;
}

Dimension add_dimension(DimensionRow row) {
  CHECK(rows().size() < kMostDimensions);
  rows().push_back(std::move(row));
  return Dimension(rows().size() - 1);
}

}  // namespace lumos
