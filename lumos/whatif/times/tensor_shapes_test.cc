#include "lumos/whatif/times/tensor_shapes.h"

#include <gtest/gtest.h>

#include "lumos/trace/kineto/reader.h"
#include "lumos/whatif/times/kernel_shape.h"

namespace lumos {
namespace {

TEST(TensorShapes, ArgumentsAreTensorsListsOrNeither) {
  const auto shapes =
      parse_shapes("[[16, 512], [], [[8, 2], [4]], [3]]", R"(["c10::Half", "Scalar", ["float", "float"], "long int"])");
  ASSERT_EQ(shapes.size(), 4u);
  EXPECT_EQ(shapes[0], (TensorShape{{16, 512}, 0, 2}));
  EXPECT_EQ(shapes[1], (TensorShape{{8, 2}, 2, 4}));
  EXPECT_EQ(shapes[2], (TensorShape{{4}, 2, 4}));
  EXPECT_EQ(shapes[3], (TensorShape{{3}, 3, 8}));
  EXPECT_EQ(shapes[0].bytes(), 16 * 512 * 2);
}

TEST(TensorShapes, TextOfAnotherFormGivesNone) {
  for (const char* text : {"", "[", "3", "[[\"a\"]]", "[3, 4]"}) EXPECT_TRUE(parse_shapes(text, "").empty()) << text;
}

TEST(KernelShape, ProductsOfEveryOperatorThatMakesThem) {
  const auto gemm = [](std::string_view name, std::string_view dims) {
    const auto product = product_of(name, parse_shapes(dims, ""));
    return product ? std::get<GemmShape>(*product) : GemmShape{};
  };
  EXPECT_EQ(gemm("aten::mm", "[[8, 16], [16, 32]]"), (GemmShape{8, 32, 16, 1, 4}));
  EXPECT_EQ(gemm("aten::addmm", "[[32], [8, 16], [16, 32], [], []]"), (GemmShape{8, 32, 16, 1, 4}));
  EXPECT_EQ(gemm("aten::linear", "[[2, 4, 16], [32, 16], [32]]"), (GemmShape{8, 32, 16, 1, 4}));
  EXPECT_EQ(gemm("aten::bmm", "[[6, 8, 16], [6, 16, 32]]"), (GemmShape{8, 32, 16, 6, 4}));
  EXPECT_FALSE(product_of("aten::mm", parse_shapes("[[8]]", "")).has_value());
  EXPECT_FALSE(product_of("aten::add", parse_shapes("[[8, 8], [8, 8]]", "")).has_value());
}

TEST(KernelShape, AttentionInBothLayouts) {
  const auto one = product_of("aten::_scaled_dot_product_flash_attention",
                              parse_shapes("[[2, 8, 128, 64], [2, 4, 256, 64], [2, 4, 256, 64]]", ""));
  const auto other = product_of("aten::_flash_attention_forward",
                                parse_shapes("[[2, 128, 8, 64], [2, 256, 4, 64], [2, 256, 4, 64]]", ""));
  ASSERT_TRUE(one && other);
  EXPECT_EQ(std::get<AttentionShape>(*one), std::get<AttentionShape>(*other));
  EXPECT_EQ(std::get<AttentionShape>(*one).key_length, 256);
}

// Backwards a linear layer has two products; the second is the weight's gradient, which sums over the rows, however it
// is written and whatever else the function calls. A forward product never does.
TEST(KernelShape, TheGradientOfAWeightSumsOverTheRows) {
  struct Case {
    const char* parent;
    const char* first;
    const char* second;
    bool sums;
  };
  const Case cases[] = {{"AddmmBackward0", "[[1023, 48], [48, 32]]", "[[48, 1023], [1023, 32]]", true},  // dY W, dY^T X
                        {"AddmmBackward0", "[[1023, 48], [48, 32]]", "[[32, 1023], [1023, 48]]", true},  // X^T dY
                        {"LinearWithGradAccumulationBackward", "[[32, 32], [32, 32]]", "[[32, 32], [32, 32]]", true},
                        {"AddmmBackward0", "[[1023, 48], [48, 32]]", "[[1023, 48], [48, 32]]", false},
                        {"forward", "[[1023, 48], [48, 32]]", "[[48, 1023], [1023, 32]]", false}};
  for (const char* wrapper : {"", "aten::matmul"}) {
    for (const Case& c : cases) {
      std::string events;
      const auto add = [&](const std::string& name, int ts, int dur, const std::string& dims) {
        events += fmt::format(R"({}{{"ph": "X", "cat": "cpu_op", "name": "{}", "pid": 1, "tid": 1, "ts": {}, "dur": {},
            "args": {{"Input Dims": {}, "Input type": ["c10::Half", "c10::Half"]}}}})",
                              events.empty() ? "" : ",", name, ts, dur, dims);
      };
      add(c.parent, 10, 100, "[]");
      if (*wrapper != '\0') add(wrapper, 20, 20, c.first);
      add("aten::mm", 21, 10, c.first);
      add("aten::t", 45, 5, "[[48, 1023]]");
      if (*wrapper != '\0') add(wrapper, 50, 20, c.second);
      add("aten::mm", 51, 10, c.second);
      auto table = read_trace_bytes("[" + events + "]", "test", {});
      ASSERT_TRUE(table) << table.error().message;
      const Nesting nested = nesting(*table);
      const ShapeTable shapes(*table);
      std::vector<bool> sums;
      for (uint32_t row = 0; row < table->size(); ++row) {
        if (table->name_of(row) != "aten::mm") continue;
        sums.push_back(std::get<GemmShape>(*product_around(*table, nested, shapes, row)).sums_rows);
      }
      EXPECT_EQ(sums, (std::vector<bool>{false, c.sums})) << c.parent << c.second << wrapper;
    }
  }
}

}  // namespace
}  // namespace lumos
