#include "lumos/program/facts/layer_shapes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "lumos/program/facts/traced_shapes.h"

namespace lumos {
namespace {

using Products = std::vector<ProductShape>;

/// A product or an attention, where its thread runs it.
struct PlacedOp {
  uint32_t lane = 0;
  int64_t ts_ns = 0;
  uint32_t row = 0;
  bool attention = false;
  std::vector<int64_t> queries;  ///< sizes of the first argument of an attention
  ProductShape product;
};

/// In each thread's order. Where aten::linear shows, the product inside of it does, too, and stands for it.
std::vector<PlacedOp> placed_ops(const EventTable& table) {
  std::map<std::pair<NameId, NameId>, std::optional<PlacedOp>> known;  // by name and sizes
  std::vector<PlacedOp> ops;
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] != EventKind::kCpuOp) continue;
    const OpDetail* detail = table.op_detail(row);
    if (detail == nullptr || detail->input_dims == kNoName) continue;
    const auto [entry, is_new] = known.try_emplace({table.name[row], detail->input_dims});
    if (is_new) {
      PlacedOp op;
      const auto dims = parse_dims(table.text(detail->input_dims));
      op.attention = is_attention_operator(table.name_of(row)) && !dims.empty() && dims[0].size() > 2;
      if (op.attention) op.queries = dims[0];
      const bool product = table.name_of(row) != "aten::linear" && is_product(table.name_of(row), dims, &op.product);
      if (op.attention || product) entry->second = op;
    }
    if (!entry->second) continue;
    ops.push_back(*entry->second);
    ops.back().lane = table.lane[row];
    ops.back().ts_ns = table.ts_ns[row];
    ops.back().row = row;
  }
  std::sort(ops.begin(), ops.end(), [](const PlacedOp& a, const PlacedOp& b) {
    return std::tie(a.lane, a.ts_ns, a.row) < std::tie(b.lane, b.ts_ns, b.row);
  });
  return ops;
}

/// The products between an attention and the next one of its thread.
struct Segment {
  std::vector<int64_t> queries;  ///< of the attention before
  Products products;
};

std::vector<Segment> segments_of(const std::vector<PlacedOp>& ops) {
  std::vector<Segment> all;
  Segment open;
  const PlacedOp* before = nullptr;  // the last attention
  for (const PlacedOp& op : ops) {
    if (before != nullptr && op.lane != before->lane) before = nullptr;
    if (!op.attention) {
      if (before != nullptr) open.products.push_back(op.product);
      continue;
    }
    if (before != nullptr && !open.products.empty()) all.push_back(open);
    open = {op.queries, {}};
    before = &op;
  }
  return all;
}

/// Reads off a segment that is whole layer's rest: the projection, one product or two into the FFN, the one out of it,
/// and the next layer's queries, keys and values, made by one product or by three.
std::optional<LayerShapes> read_layer(const Segment& segment) {
  const Products& products = segment.products;
  const ProductShape &projection = products.front(), &last = products.back();
  LayerShapes found;
  found.hidden = projection.columns;
  found.head_size = segment.queries.back();
  const int64_t width = projection.sums_over;  // of all heads
  if (found.head_size < 1 || width < 1 || width % found.head_size != 0) return std::nullopt;
  found.heads = width / found.head_size;
  // Queries are [samples, length, heads, size], with heads and length the other way round, or without samples.
  const auto& sizes = segment.queries;
  if (std::find(sizes.begin(), sizes.end() - 1, found.heads) == sizes.end() - 1) return std::nullopt;
  if (last.sums_over != found.hidden) return std::nullopt;
  const bool fused = last.columns > width;
  const int64_t keys = fused ? (last.columns - width) / 2 : last.columns;
  if (fused && (last.columns - width) % 2 != 0) return std::nullopt;
  if (keys < 1 || keys % found.head_size != 0 || width % keys != 0) return std::nullopt;
  found.key_heads = keys / found.head_size;
  const size_t inputs = fused ? 1 : 3;
  if (products.size() != inputs + 3 && products.size() != inputs + 4) return std::nullopt;
  const size_t ffn_end = products.size() - inputs;
  const ProductShape& out = products[ffn_end - 1];
  int64_t in = 0;
  for (size_t i = 1; i + 1 < ffn_end; ++i) {
    if (products[i].sums_over != found.hidden || products[i].columns != products[1].columns) return std::nullopt;
    in += products[i].columns;
  }
  if (out.columns != found.hidden || (in != out.sums_over && in != 2 * out.sums_over)) return std::nullopt;
  found.ffn = out.sums_over;
  found.gated = in != out.sums_over;
  return found;
}

}  // namespace

bool is_product(std::string_view name, const std::vector<std::vector<int64_t>>& dims, ProductShape* shape) {
  const size_t first = name == "aten::addmm" ? 1 : 0;
  const bool linear = name == "aten::linear";
  if (name != "aten::mm" && name != "aten::addmm" && !linear) return false;
  if (dims.size() < first + 2 || dims[first].size() < 2 || dims[first + 1].size() != 2) return false;
  *shape = {dims[first].back(), dims[first + 1][linear ? 0 : 1]};
  return true;
}

bool is_attention_operator(std::string_view name) {
  return name == "FlashAttnFunc" || name == "aten::scaled_dot_product_attention" ||
         name == "flash_attn::_flash_attn_forward";
}

LayerShapes layer_shapes(const EventTable& table) {
  std::optional<LayerShapes> found;
  for (const Segment& segment : segments_of(placed_ops(table))) {
    const std::optional<LayerShapes> layer = read_layer(segment);
    if (!layer) continue;
    if (found && *found != *layer) return {};
    found = layer;
  }
  return found.value_or(LayerShapes{});
}

}  // namespace lumos
