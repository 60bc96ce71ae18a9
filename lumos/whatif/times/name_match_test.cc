#include "lumos/whatif/times/name_match.h"

#include <gtest/gtest.h>

#include <string>

namespace lumos {
namespace {

bool matches(const std::string& pattern, const std::string& name) {
  NamePool pool;
  const NameId id = pool.intern(name);
  const std::regex expression = *compile_pattern("--scale", pattern);
  return NameMatcher(pool, expression).matches(id);
}

std::string repeated(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST(NameMatch, AsksForTheWholeName) {
  EXPECT_TRUE(matches("ampere_.*", "ampere_sgemm_128x64_nn"));
  EXPECT_FALSE(matches("sgemm", "ampere_sgemm_128x64_nn"));
  EXPECT_TRUE(matches(".*(gemm|conv)_[0-9]+x\\d{2}_n[nt]?", "ampere_sgemm_128x64_nn"));
  EXPECT_TRUE(matches("(?!nccl).*", "ampere_sgemm"));
  EXPECT_FALSE(matches("(?!nccl).*", "ncclDevKernel_AllReduce"));
  EXPECT_TRUE(matches(".*?\\bgemm\\b.*", "void gemm<float>"));
}

// A quarter of a million characters is what a template of templates may come to.
TEST(NameMatch, TakesNamesOfAnyLength) {
  const std::string name = "void " + repeated("cutlass::gemm<float, ", 12'000) + "end";
  for (const char* pattern : {".*", ".*gemm.*end", "void (c|.)*", "(.|\\n)*", "(?=void).*d"}) {
    EXPECT_TRUE(matches(pattern, name)) << pattern;
  }
  for (const char* pattern : {".*nccl.*", "(.|v)*[0-9]"}) EXPECT_FALSE(matches(pattern, name)) << pattern;
}

TEST(NameMatch, EndsWhateverTheExpression) {
  const std::string name = repeated("x", 5'000);
  for (const char* pattern : {"(x+x+)+y", "(x*)*y", "(x|x)*y", "(x|xx)+y"}) EXPECT_FALSE(matches(pattern, name));
}

TEST(NameMatch, SaysWhyAnExpressionIsNone) {
  for (const char* pattern : {"(", "[a", "a{2", "*", "(a)\\1", "a{1000000}"}) {
    const auto expression = compile_pattern("--scale kernel", pattern);
    ASSERT_FALSE(expression) << pattern;
    EXPECT_EQ(expression.error().kind, ErrorKind::kUsage);
    EXPECT_NE(expression.error().message.find(pattern), std::string::npos) << expression.error().message;
    EXPECT_EQ(expression.error().message.find("polynomial"), std::string::npos) << expression.error().message;
  }
}

}  // namespace
}  // namespace lumos
