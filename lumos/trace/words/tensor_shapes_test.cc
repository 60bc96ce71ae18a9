#include "lumos/trace/words/tensor_shapes.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(TensorShapes, ArgumentsAreTensorsListsOrNeither) {
  const auto shapes =
      parse_shapes("[[16, 512], [], [[8, 2], [4]], [3]]", R"(["c10::Half", "Scalar", ["float", "float"], "long int"])");
  ASSERT_EQ(shapes.size(), 4u);
  EXPECT_EQ(shapes[0], (TensorShape{{16, 512}, 0, 2, ElementType::kFloat16}));
  EXPECT_EQ(shapes[1], (TensorShape{{8, 2}, 2, 4, ElementType::kFloat32}));
  EXPECT_EQ(shapes[2], (TensorShape{{4}, 2, 4, ElementType::kFloat32}));
  EXPECT_EQ(shapes[3], (TensorShape{{3}, 3, 8, ElementType::kInt64}));
  EXPECT_EQ(shapes[0].bytes(), 16 * 512 * 2);
}

TEST(TensorShapes, TextOfAnotherFormGivesNone) {
  for (const char* text : {"", "[", "3", "[[\"a\"]]", "[3, 4]"}) EXPECT_TRUE(parse_shapes(text, "").empty()) << text;
}

TEST(TensorShapes, ArgumentsAreFoundByPosition) {
  const auto shapes = parse_shapes("[[], [[5], [6]], [7, 8]]", "");
  EXPECT_EQ(argument_of(shapes, 0), nullptr);
  EXPECT_TRUE(dims_of(shapes, 0).empty() && dims_of(shapes, 9).empty());
  EXPECT_EQ(dims_of(shapes, 1), (std::vector<int64_t>{5}));
  EXPECT_EQ(dims_of(shapes, 2), (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(shapes[2].element_bytes, 4);
}

TEST(TensorShapes, BytesOfAllTensorsAreKnownIfAllTypesAre) {
  const auto bytes = [](const char* dims, const char* types) { return bytes_of(parse_shapes(dims, types)); };
  EXPECT_EQ(bytes("[[263808]]", R"(["float"])"), 4 * 263808);
  EXPECT_EQ(bytes("[[2,3],[],[4]]", R"(["c10::BFloat16","Scalar","double"])"), 12 + 32);
  EXPECT_EQ(bytes("[[2]]", R"(["unheard of"])"), -1);
  EXPECT_EQ(bytes("[]", "[]"), -1);
  EXPECT_EQ(bytes("", ""), -1);
}

TEST(TensorShapes, SizesThatNoMachineHoldsSaturate) {
  const auto shapes = parse_shapes("[[99999999999999999999999, 99999999999], [9223372036854775807]]", R"(["double"])");
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_GT(shapes[0].elements(), INT64_MAX / 32);
  EXPECT_GT(shapes[0].bytes(), 0);
}

}  // namespace
}  // namespace lumos
