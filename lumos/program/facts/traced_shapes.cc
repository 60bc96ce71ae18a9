#include "lumos/program/facts/traced_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace lumos {
namespace {

using Dims = std::vector<std::vector<int64_t>>;

/// An operator with the shapes and types of its arguments, as often as it comes.
struct ShapedOp {
  std::string_view name, dims_text, types;
  Dims dims;

  std::string text() const { return fmt::format("{} {}", name, dims_text); }
};

/// Each combination once, in order of names and shapes.
std::vector<ShapedOp> shaped_ops(const EventTable& table) {
  std::set<std::pair<NameId, std::pair<NameId, NameId>>> seen;
  std::vector<ShapedOp> ops;
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] != EventKind::kCpuOp) continue;
    const OpDetail* detail = table.op_detail(row);
    if (detail == nullptr || detail->input_dims == kNoName) continue;
    if (!seen.insert({table.name[row], {detail->input_dims, detail->input_types}}).second) continue;
    ShapedOp op{table.name_of(row), table.text(detail->input_dims), {}, {}};
    if (detail->input_types != kNoName) op.types = table.text(detail->input_types);
    op.dims = parse_dims(op.dims_text);
    ops.push_back(std::move(op));
  }
  return ops;
}

/// The type of the first argument, in a job file's spelling.
std::string_view type_of(std::string_view types) {
  const size_t begin = types.find('"') == std::string_view::npos ? types.find('\'') : types.find('"');
  if (begin == std::string_view::npos) return "";
  const std::string_view first = types.substr(begin + 1, types.find(types[begin], begin + 1) - begin - 1);
  if (first == "c10::BFloat16") return "bf16";
  if (first == "c10::Half") return "fp16";
  return first == "float" ? "fp32" : "";
}

class ShapeReader {
 public:
  explicit ShapeReader(const EventTable& table) : table_(table), ops_(shaped_ops(table)) {}

  TracedShapes run() {
    read_embedding();
    read_attention();
    read_products();
    return out_;
  }

 private:
  /// Tokens come as [samples, length]. Beside the words there may be a table of positions, which a vocabulary in parts
  /// can be smaller than: of several tables none is said to be the words'.
  void read_embedding() {
    std::set<std::pair<int64_t, int64_t>> tables, tokens;
    for (const ShapedOp& op : ops_) {
      if (op.name != "aten::embedding" || op.dims.size() < 2 || op.dims[0].size() != 2) continue;
      tables.insert({op.dims[0][1], op.dims[0][0]});
      if (op.dims[1].size() == 2) tokens.insert({op.dims[1][0], op.dims[1][1]});
      out_.embedding = op.text();
    }
    if (tables.empty()) return;
    if (tables.size() == 1) out_.vocabulary = tables.begin()->second;
    if (tables.begin()->first == tables.rbegin()->first) out_.hidden = tables.begin()->first;
    if (tokens.size() == 1) std::tie(out_.samples, out_.sequence) = *tokens.begin();
  }

  /// Queries are [samples, length, heads, size], or with heads and length the other way round.
  void read_attention() {
    std::set<std::pair<int64_t, int64_t>> found;
    for (const ShapedOp& op : ops_) {
      if (!is_attention_operator(op.name) || op.dims.empty() || op.dims[0].size() != 4 || out_.sequence == 0) continue;
      const std::vector<int64_t>& query = op.dims[0];
      if ((query[1] == out_.sequence) == (query[2] == out_.sequence)) continue;
      found.insert({query[1] == out_.sequence ? query[2] : query[1], query[3]});
      out_.attention = op.text();
    }
    if (found.size() == 1) std::tie(out_.heads, out_.head_size) = *found.begin();
  }

  void read_products() {
    std::set<std::string_view> types;
    std::set<int64_t> into_hidden;
    ProductShape product;
    for (const ShapedOp& op : ops_) {
      if (!is_product(op.name, op.dims, &product)) continue;
      types.insert(type_of(op.types));
      if (product.columns == out_.hidden) into_hidden.insert(product.sums_over);
    }
    if (types.size() == 1) out_.dtype = std::string(*types.begin());
    out_.layer = layer_shapes(table_);
    out_.ffn = out_.layer.ffn;
    if (out_.ffn > 0 || out_.heads == 0 || out_.hidden == 0) return;
    // Of a single layer the order does not tell. Besides the FFN's, attention's output and, backwards, what came out of
    // the hidden state turns into it again.
    const int64_t width = out_.heads * out_.head_size;
    for (int64_t known : {out_.hidden, width, 3 * width, out_.vocabulary, out_.samples * out_.sequence})
      into_hidden.erase(known);
    if (into_hidden.size() == 1 || (into_hidden.size() == 2 && *into_hidden.rbegin() == 2 * *into_hidden.begin()))
      out_.ffn = *into_hidden.begin();
  }

  const EventTable& table_;
  std::vector<ShapedOp> ops_;
  TracedShapes out_;
};

}  // namespace

std::vector<std::vector<int64_t>> parse_dims(std::string_view text) {
  Dims dims;
  int depth = 0;
  int64_t value = -1;
  const auto close_value = [&] {
    if (value >= 0 && depth == 2) dims.back().push_back(value);
    value = -1;
  };
  for (char c : text) {
    if (c == '[') {
      if (++depth == 2) dims.emplace_back();
    } else if (c == ']') {
      close_value();
      --depth;
    } else if (c >= '0' && c <= '9') {
      constexpr int64_t kLargest = INT64_MAX / 16;
      value = std::min(kLargest, std::max<int64_t>(value, 0) * 10 + (c - '0'));
    } else {
      close_value();
    }
  }
  return dims;
}

TracedShapes traced_shapes(const EventTable& table) { return ShapeReader(table).run(); }

}  // namespace lumos
