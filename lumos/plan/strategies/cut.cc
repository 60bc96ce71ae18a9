#include "lumos/plan/strategies/cut.h"

#include <utility>

namespace lumos {

void for_each_list(Plan& plan, const std::function<void(std::vector<Op>&)>& visit) {
  for (ModelPart* part : {&plan.layer, &plan.embedding, &plan.head}) {
    visit(part->forward);
    visit(part->backward);
  }
}

void for_each_extent(Op& op, const std::function<void(Extent&)>& visit) {
  for (Extent* extent : {&op.rows, &op.columns, &op.inner, &op.batch, &op.heads, &op.key_heads}) visit(*extent);
  for (Term& term : op.moved) visit(term.elements);
  for (Term& term : op.kept) visit(term.elements);
  for (Extent& weight : op.weights) visit(weight);
}

void cut_op(Op& op, std::initializer_list<ModelSize> sizes, DimensionSet by) {
  for_each_extent(op, [&](Extent& extent) {
    for (ModelSize size : sizes) extent.cut(size, by);
  });
}

bool is_cut(const Op& op, Dimension by) {
  Op copy = op;
  bool found = false;
  for_each_extent(copy, [&](Extent& extent) { found |= extent.is_cut(by); });
  return found;
}

Op collective_op(const Op& of, CollectiveKind kind, Term size, DimensionSet along) {
  Op op;
  op.role = of.role;
  op.kind = OpKind::kCollective;
  op.backward = of.backward;
  op.collective = kind;
  op.moved.push_back(std::move(size));
  op.along = along;
  return op;
}

void insert_around(std::vector<Op>& list, const OpsAround& before, const OpsAround& after) {
  std::vector<Op> out;
  out.reserve(list.size() + 8);
  for (Op& op : list) {
    for (Op& added : before(op)) out.push_back(std::move(added));
    std::vector<Op> following = after(op);
    out.push_back(std::move(op));
    for (Op& added : following) out.push_back(std::move(added));
  }
  list = std::move(out);
}

}  // namespace lumos
