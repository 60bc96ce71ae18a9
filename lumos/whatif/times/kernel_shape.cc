#include "lumos/whatif/times/kernel_shape.h"

#include <algorithm>
#include <utility>

#include "lumos/whatif/times/launching_operator.h"

namespace lumos {

namespace {

const TensorShape* argument(const std::vector<TensorShape>& tensors, uint32_t position) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const TensorShape& tensor) { return tensor.argument == position; });
  return found == tensors.end() ? nullptr : &*found;
}

/// A[.., m, k] B[.., k, n]; of B[n, k] where `transposed`.
std::optional<ProductShape> product(const std::vector<TensorShape>& tensors, uint32_t first, bool transposed) {
  const TensorShape* a = argument(tensors, first);
  const TensorShape* b = argument(tensors, first + 1);
  if (a == nullptr || b == nullptr || a->dims.size() < 2 || b->dims.size() < 2) return std::nullopt;
  GemmShape shape;
  shape.k = a->dims.back();
  shape.n = transposed ? b->dims[b->dims.size() - 2] : b->dims.back();
  const bool batched = b->dims.size() > 2;
  const size_t rows_from = batched ? a->dims.size() - 2 : 0;
  shape.m = 1;
  for (size_t i = 0; i + 1 < a->dims.size(); ++i) (i < rows_from ? shape.batch : shape.m) *= a->dims[i];
  shape.element_bytes = a->element_bytes;
  if (shape.m <= 0 || shape.n <= 0 || shape.k <= 0 || shape.batch <= 0) return std::nullopt;
  return shape;
}

/// Q, K, V as [batch, heads, length, size], or with heads and length the other way round.
std::optional<ProductShape> attention(const std::vector<TensorShape>& tensors, uint32_t first, size_t heads_at,
                                      bool backward) {
  const TensorShape* query = argument(tensors, first);
  const TensorShape* key = argument(tensors, first + 1);
  if (query == nullptr || key == nullptr || query->dims.size() != 4 || key->dims.size() != 4) return std::nullopt;
  const size_t length_at = 3 - heads_at;
  AttentionShape shape;
  shape.batch = query->dims[0];
  shape.heads = query->dims[heads_at];
  shape.key_heads = key->dims[heads_at];
  shape.query_length = query->dims[length_at];
  shape.key_length = key->dims[length_at];
  shape.head_size = query->dims[3];
  shape.causal = false;
  shape.backward = backward;
  shape.element_bytes = query->element_bytes;
  return shape;
}

/// The two products of a linear layer backwards are dY W, of [rows, out] and [out, in], and dY^T X, of [out, rows] and
/// [rows, in]: the rows of either are the sum of the other. Autograd computes the gradient of the input first, so the
/// later one sums over the rows. Looks at what stands before `at` under the same function of the backward pass.
bool sums_rows(const EventTable& table, const Nesting& nested, const ShapeTable& shapes, uint32_t at,
               const GemmShape& shape) {
  const uint32_t parent = nested.parent[at];
  if (parent == kNoIndex || shape.batch != 1) return false;
  if (table.name_of(parent).find("Backward") == std::string_view::npos) return false;
  const auto place = [&](uint32_t row) { return std::pair(table.lane[row], table.ts_ns[row]); };
  auto it = std::partition_point(nested.order.begin(), nested.order.end(),
                                 [&](uint32_t row) { return place(row) < place(at); });
  while (it != nested.order.begin() && *--it != parent) {
    if (nested.parent[*it] != parent) continue;
    const auto other = product_of(table.name_of(*it), shapes.of_row(*it));
    const auto* gemm = other ? std::get_if<GemmShape>(&*other) : nullptr;
    if (gemm == nullptr || gemm->batch != 1 || gemm->m != shape.k) continue;
    // The weight's gradient may be written either way round.
    if (std::minmax(gemm->k, gemm->n) == std::minmax(shape.m, shape.n)) return true;
  }
  return false;
}

}  // namespace

std::optional<ProductShape> product_of(std::string_view operator_name, const std::vector<TensorShape>& tensors) {
  if (operator_name == "aten::mm" || operator_name == "aten::bmm" || operator_name == "aten::matmul") {
    return product(tensors, 0, false);
  }
  if (operator_name == "aten::addmm" || operator_name == "aten::baddbmm") return product(tensors, 1, false);
  if (operator_name == "aten::linear") return product(tensors, 0, true);
  if (operator_name == "aten::_flash_attention_forward") return attention(tensors, 0, 2, false);
  if (operator_name == "aten::_flash_attention_backward") return attention(tensors, 1, 2, true);
  if (operator_name.starts_with("aten::_scaled_dot_product") || operator_name.starts_with("aten::scaled_dot_product")) {
    const bool backward = operator_name.ends_with("_backward");
    return attention(tensors, backward ? 1 : 0, 1, backward);
  }
  return std::nullopt;
}

std::optional<ProductShape> product_around(const EventTable& table, const Nesting& nested, const ShapeTable& shapes,
                                           uint32_t row) {
  std::optional<ProductShape> product;
  const uint32_t found = first_around(nested, row, [&](uint32_t at) {
    product = product_of(table.name_of(at), shapes.of_row(at));
    return product.has_value();
  });
  // aten::matmul may stand between the function and aten::mm.
  if (auto* gemm = product ? std::get_if<GemmShape>(&*product) : nullptr) {
    const uint32_t around = nested.parent[found];
    const bool wrapped = around != kNoIndex && table.name_of(around) == "aten::matmul";
    gemm->sums_rows = sums_rows(table, nested, shapes, wrapped ? around : found, *gemm);
  }
  return product;
}

double product_us(const ProductShape& shape, const Gpu& gpu) {
  if (const auto* gemm = std::get_if<GemmShape>(&shape)) return gemm_us(*gemm, gpu);
  return attention_us(std::get<AttentionShape>(shape), gpu);
}

}  // namespace lumos
