#include "lumos/trace/words/element_type.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

TEST(ElementType, BothSpellingsOfPyTorchMeanOneType) {
  EXPECT_EQ(type_of_collective("BFloat16"), ElementType::kBFloat16);
  EXPECT_EQ(type_of_argument("c10::BFloat16"), ElementType::kBFloat16);
  EXPECT_EQ(type_of_argument("long"), type_of_argument("long int"));
  EXPECT_EQ(bytes_of(type_of_collective("Float8_e4m3fn")), 1);
  EXPECT_EQ(bytes_of(type_of_argument("c10::complex<double>")), 16);
  EXPECT_EQ(type_of_argument("Scalar"), ElementType::kUnknown);
  EXPECT_EQ(type_of_collective(""), ElementType::kUnknown);
  EXPECT_EQ(bytes_of(ElementType::kUnknown), 0);
}

TEST(ElementType, JobFilesHaveWordsForThreeTypes) {
  EXPECT_EQ(job_spelling(ElementType::kBFloat16), "bf16");
  EXPECT_EQ(job_spelling(ElementType::kFloat16), "fp16");
  EXPECT_EQ(job_spelling(ElementType::kFloat32), "fp32");
  EXPECT_EQ(job_spelling(ElementType::kFloat64), "");
}

}  // namespace
}  // namespace lumos
