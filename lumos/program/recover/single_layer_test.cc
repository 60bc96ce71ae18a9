#include "lumos/program/recover/single_layer.h"

#include <gtest/gtest.h>

#include <string>

namespace lumos {
namespace {

/// A pass of kernels by their first letters: e(mbedding), n(orm), g(emm), a(ttention), s(oftmax), + (element-wise).
class Pass {
 public:
  explicit Pass(const std::string& letters) {
    const auto names = std::make_shared<NamePool>();
    for (char letter : letters) {
      const std::string_view name = letter == 'e'   ? "indexSelectLargeIndex"
                                    : letter == 'n' ? "layer_norm::ln_fwd_kernel"
                                    : letter == 'g' ? "cutlass_gemm"
                                    : letter == 'a' ? "flash_fwd_kernel"
                                    : letter == 's' ? "softmax_warp_forward"
                                                    : "vectorized_elementwise_kernel";
      rows.push_back(static_cast<uint32_t>(table.name.size()));
      table.name.push_back(names->intern(name));
      table.kind.push_back(EventKind::kKernel);
      table.ts_ns.push_back(0);
      table.dur_ns.push_back(1);
      table.lane.push_back(0);
      table.correlation.push_back(-1);
      table.external_id.push_back(0);
      table.detail.push_back(kNoIndex);
    }
    table.names = names;
  }

  EventTable table;
  std::vector<uint32_t> rows;
};

std::string cut(const std::string& letters, Repetition found) { return letters.substr(found.begin, found.length); }

std::string forward(const std::string& letters, bool is_last) {
  const Pass pass(letters);
  return cut(letters, single_forward_layer(pass.table, pass.rows, is_last));
}

std::string backward(const std::string& letters, bool is_first, bool is_last) {
  const Pass pass(letters);
  return cut(letters, single_backward_layer(pass.table, pass.rows, is_first, is_last));
}

TEST(SingleLayer, LiesBetweenTheEmbeddingAndTheHead) {
  EXPECT_EQ(forward("e++ngag+ng+g+ng+", true), "ngag+ng+g+");
  EXPECT_EQ(forward("e++ngag+ng+g+", false), "ngag+ng+g+");
  EXPECT_EQ(forward("ngag+ng+g+", false), "ngag+ng+g+");
  EXPECT_EQ(forward("e+++", true), "");
}

TEST(SingleLayer, OfABackwardLiesBetweenTheHeadAndTheEmbedding) {
  EXPECT_EQ(backward("+ggnn+gg+ggnn+ggaggnn+e", true, true), "+gg+ggnn+ggaggnn");
  EXPECT_EQ(backward("+gg+ggnn+ggaggnn", false, false), "+gg+ggnn+ggaggnn");
}

TEST(SingleLayer, AttentionsAreCountedOnceEachAndALossIsNone) {
  const auto count = [](const std::string& letters) {
    const Pass pass(letters);
    return count_attentions(pass.table, pass.rows);
  };
  EXPECT_EQ(count("engag+ng+gngs"), 1u);
  EXPECT_EQ(count("engs+gg+ng+gng"), 1u);
  EXPECT_EQ(count("engagngg+ngaagngg+ng"), 2u);
  EXPECT_EQ(count("e+gg+gs"), 0u);
}

}  // namespace
}  // namespace lumos
