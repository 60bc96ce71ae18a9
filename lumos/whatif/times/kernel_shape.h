// What a kernel computes, told by the operator that launched it: a product of which size, attention over which
// sequences. Read by whatif/times/other_cluster and
// whatif/edit/scale_batch, whose models take such shapes.
#pragma once

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "lumos/model/kernels/attention.h"
#include "lumos/model/kernels/gemm.h"
#include "lumos/trace/table/nesting.h"
#include "lumos/whatif/times/tensor_shapes.h"

namespace lumos {

using ProductShape = std::variant<GemmShape, AttentionShape>;

/// The product of one operator ("aten::addmm", "aten::scaled_dot_product_attention" ...), or nothing: another operator,
/// or shapes that do not fit.
std::optional<ProductShape> product_of(std::string_view operator_name, const std::vector<TensorShape>& tensors);

/// The product of the innermost operator around `row` that is one.
std::optional<ProductShape> product_around(const EventTable& table, const Nesting& nested, const ShapeTable& shapes,
                                           uint32_t row);

/// Microseconds of a product by its model.
double product_us(const ProductShape& shape, const Gpu& gpu);

}  // namespace lumos
