#include "lumos/plan/ops/plan.h"

namespace lumos {

std::vector<Op> Plan::repeated() const {
  if (repeats == Repeats::kNothing) return {};
  if (repeats == Repeats::kLayer) return layer.forward;
  std::vector<Op> core;
  for (const Op& op : layer.forward)
    if (op.attention_core) core.push_back(op);
  return core;
}

double term_bytes(const Plan& plan, const Term& term) {
  return term.passes * plan.bytes(term.type) * static_cast<double>(plan.sizes.of(term.elements));
}

}  // namespace lumos
