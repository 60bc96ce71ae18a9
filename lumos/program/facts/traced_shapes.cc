#include "lumos/program/facts/traced_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lumos/trace/words/tensor_shapes.h"

namespace lumos {
namespace {

/// An operator with the shapes and types of its arguments, as often as it comes.
struct ShapedOp {
  std::string_view name, dims_text;
  Operator op = Operator::kOther;
  std::vector<TensorShape> tensors;

  const std::vector<int64_t>& dims(uint32_t argument) const { return dims_of(tensors, argument); }
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
    const Operator op = table.operator_meaning(row).op;
    if (op != Operator::kEmbedding && !is_attention_operator(op) && !is_product_operator(op)) continue;
    if (!seen.insert({table.name[row], {detail->input_dims, detail->input_types}}).second) continue;
    const std::string_view dims = table.text(detail->input_dims);
    ops.push_back({table.name_of(row), dims, op, parse_shapes(dims, table.text(detail->input_types))});
  }
  return ops;
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
      const std::vector<int64_t>&words = op.dims(0), &looked_up = op.dims(1);
      if (op.op != Operator::kEmbedding || words.size() != 2) continue;
      tables.insert({words[1], words[0]});
      if (looked_up.size() == 2) tokens.insert({looked_up[0], looked_up[1]});
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
      const std::vector<int64_t>& query = op.dims(0);
      if (!is_attention_operator(op.op) || query.size() != 4 || out_.sequence == 0) continue;
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
      if (!is_product(op.op, op.tensors, &product)) continue;
      const TensorShape* first = argument_of(op.tensors, 0);
      types.insert(job_spelling(first == nullptr ? ElementType::kUnknown : first->type));
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

TracedShapes traced_shapes(const EventTable& table) { return ShapeReader(table).run(); }

}  // namespace lumos
