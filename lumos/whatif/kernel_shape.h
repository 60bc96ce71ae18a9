// What a kernel computes, told by the operator that launched it: a product of which size, attention over which
// sequences. Read by whatif/other_cluster, whose models take such shapes.
#pragma once

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "lumos/model/attention.h"
#include "lumos/model/gemm.h"
#include "lumos/whatif/tensor_shapes.h"

namespace lumos {

using ProductShape = std::variant<GemmShape, AttentionShape>;

/// The product of one operator ("aten::addmm", "aten::scaled_dot_product_attention" ...), or nothing: another operator,
/// or shapes that do not fit.
std::optional<ProductShape> product_of(std::string_view operator_name, const std::vector<TensorShape>& tensors);

}  // namespace lumos
