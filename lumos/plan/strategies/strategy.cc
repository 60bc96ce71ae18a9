#include "lumos/plan/strategies/strategy.h"

namespace lumos {
namespace {

std::vector<Strategy>& rows() {
  static std::vector<Strategy> list = {precision_strategy(), tensor_strategy(), sequence_strategy(),
                                       recompute_strategy(), data_strategy(),   distributed_optimizer_strategy(),
                                       pipeline_strategy()};
  return list;
}

}  // namespace

const std::vector<Strategy>& strategies() { return rows(); }

void add_strategy(const Strategy& strategy) { rows().push_back(strategy); }

}  // namespace lumos
