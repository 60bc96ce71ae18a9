#include "lumos/whatif/tensor_shapes.h"

#include <gtest/gtest.h>

#include "lumos/whatif/kernel_shape.h"

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

}  // namespace
}  // namespace lumos
