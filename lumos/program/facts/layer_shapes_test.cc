#include "lumos/program/facts/layer_shapes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lumos/base/test_data.h"
#include "lumos/graph/test_table.h"
#include "lumos/trace/kineto/reader.h"

namespace lumos {
namespace {

/// How a library spells a layer.
struct LayerStyle {
  int64_t samples = 2, length = 16;
  bool fused_queries = true;  ///< one product for queries, keys and values
  bool fused_gate = true;     ///< one product for both parts of a gated FFN
  bool heads_first = false;   ///< queries are [samples, heads, length, size]
};

/// Operators with sizes, one after the other on one thread.
class ShapedTrace {
 public:
  ShapedTrace() : thread_(table_.thread()) {}

  void op(std::string_view name, std::string_view dims) {
    const uint32_t row = table_.op(thread_, name, ts_ns_ += 1000, 500);
    EventTable& table = table_.table();
    table.detail[row] = static_cast<uint32_t>(table.ops.size());
    OpDetail detail;
    dims_.emplace_back(dims);
    table.ops.push_back(detail);
  }
  void product(int64_t rows, int64_t sums_over, int64_t columns) {
    op("aten::linear", fmt::format("[[{}, {}], [{}, {}]]", rows, sums_over, columns, sums_over));
    op("aten::mm", fmt::format("[[{}, {}], [{}, {}]]", rows, sums_over, sums_over, columns));
  }

  void forward(const LayerShapes& layer, const LayerStyle& style) {
    const int64_t rows = style.samples * style.length;
    const int64_t width = layer.heads * layer.head_size, keys = layer.key_heads * layer.head_size;
    if (style.fused_queries) {
      product(rows, layer.hidden, width + 2 * keys);
    } else {
      for (int64_t columns : {width, keys, keys}) product(rows, layer.hidden, columns);
    }
    const int64_t first = style.heads_first ? layer.heads : style.length;
    const int64_t second = style.heads_first ? style.length : layer.heads;
    op("aten::scaled_dot_product_attention",
       fmt::format("[[{0}, {1}, {2}, {3}]]", style.samples, first, second, layer.head_size));
    product(rows, width, layer.hidden);
    if (layer.gated && !style.fused_gate) product(rows, layer.hidden, layer.ffn);
    product(rows, layer.hidden, layer.ffn * (layer.gated && style.fused_gate ? 2 : 1));
    product(rows, layer.ffn, layer.hidden);
  }

  std::shared_ptr<const EventTable> finish() {
    // The pool of names is the table's own.
    std::shared_ptr<const EventTable> made = table_.finish();
    auto table = std::make_shared<EventTable>(*made);
    auto names = std::make_shared<NamePool>();
    for (NameId& name : table->name) name = names->intern(made->names->text(name));
    for (size_t i = 0; i < table->ops.size(); ++i) table->ops[i].input_dims = names->intern(dims_[i]);
    table->names = names;
    return table;
  }

 private:
  TestTable table_;
  std::vector<std::string> dims_;
  uint32_t thread_;
  int64_t ts_ns_ = 0;
};

// Any sizes, equal ones among them, in any library's spelling.
RC_GTEST_PROP(LayerShapes, TheOrderOfProductsTellsWhatTheirSizesDoNot, ()) {
  LayerShapes layer;
  layer.head_size = *rc::gen::element<int64_t>(4, 16, 64);
  layer.key_heads = *rc::gen::element<int64_t>(1, 2, 4);
  layer.heads = layer.key_heads * *rc::gen::element<int64_t>(1, 2, 4);
  layer.hidden = *rc::gen::element<int64_t>(16, 64, 128, 256);
  layer.ffn = *rc::gen::element<int64_t>(16, 64, 128, 192, 256, 512);
  layer.gated = *rc::gen::arbitrary<bool>();
  LayerStyle style;
  style.length = *rc::gen::element<int64_t>(4, 16, 64, 128);
  style.fused_queries = *rc::gen::arbitrary<bool>();
  style.fused_gate = *rc::gen::arbitrary<bool>();
  style.heads_first = *rc::gen::arbitrary<bool>();
  ShapedTrace trace;
  for (int i = 0; i < 3; ++i) trace.forward(layer, style);
  trace.product(style.samples * style.length, layer.hidden, 5000);  // the head
  RC_ASSERT(layer_shapes(*trace.finish()) == layer);
}

TEST(LayerShapes, LayersThatDifferTellNothing) {
  const LayerShapes one{64, 4, 16, 256, 4, false}, other{64, 4, 16, 128, 4, false};
  ShapedTrace trace;
  for (const LayerShapes& layer : {one, one, other, other}) trace.forward(layer, {});
  EXPECT_EQ(layer_shapes(*trace.finish()), LayerShapes{});
  EXPECT_EQ(layer_shapes(*ShapedTrace().finish()), LayerShapes{});
}

// Queries, keys and values by a product each, and two products into the FFN.
TEST(LayerShapes, OfAModelOnARealGpu) {
  const std::string path = data_path("traces/h100/qwen1.5-0.5b.json.gz");
  SKIP_WITHOUT_DATA(path);
  const auto table = read_trace(path, {});
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(layer_shapes(*table), (LayerShapes{1024, 16, 64, 2816, 16, true}));
}

}  // namespace
}  // namespace lumos
