#include "lumos/plan/layer_work.h"

#include <utility>

namespace lumos {
namespace {

WorkShape shape_of(const Op& op, const Plan& plan) {
  const PlanSizes& sizes = plan.sizes;
  const auto element = static_cast<int64_t>(plan.bytes(NumberType::kModel));
  switch (op.kind) {
    case OpKind::kProduct:
      return GemmShape{sizes.of(op.rows), sizes.of(op.columns), sizes.of(op.inner), sizes.of(op.batch),
                       element,           op.sums_rows};
    case OpKind::kAttention: {
      AttentionShape shape{sizes.of(op.batch), sizes.of(op.rows),      sizes.of(op.columns),
                           sizes.of(op.heads), sizes.of(op.key_heads), sizes.of(op.inner)};
      shape.backward = op.backward;
      shape.element_bytes = element;
      return shape;
    }
    case OpKind::kCollective:
      return Collective{op.collective, term_bytes(plan, op.moved.front()), plan.layout.dense.shape(op.along)};
    case OpKind::kElementwise:
    case OpKind::kLookup:
    case OpKind::kLoss:
      break;
  }
  double bytes = 0;
  for (const Term& term : op.moved) bytes += term_bytes(plan, term);
  return ElementwiseWork{bytes};
}

}  // namespace

std::vector<KernelWork> kernel_work(const std::vector<Op>& ops, const Plan& plan) {
  std::vector<KernelWork> work;
  work.reserve(ops.size());
  for (const Op& op : ops) {
    WorkShape shape = shape_of(op, plan);
    // A group of one has no kernel.
    if (const auto* collective = std::get_if<Collective>(&shape); collective && collective->group.size <= 1) continue;
    work.push_back({op.role, std::move(shape), op.kernels, op.beside_compute, op.along});
  }
  return work;
}

LayerWork layer_work(const ModelPart& part, const Plan& plan) {
  return {kernel_work(part.forward, plan), kernel_work(part.backward, plan)};
}

}  // namespace lumos
