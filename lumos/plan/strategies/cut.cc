#include "lumos/plan/strategies/cut.h"

#include <algorithm>
#include <utility>

namespace lumos {

void for_each_list(Plan& plan, const std::function<void(std::vector<Op>&)>& visit) {
  for (ModelPart* part : {&plan.layer, &plan.embedding, &plan.head}) {
    visit(part->forward);
    visit(part->backward);
  }
}

void cut_op(Op& op, std::initializer_list<ModelSize> sizes, DimensionSet by) {
  const auto cut = [&](Extent& extent) {
    for (ModelSize size : sizes) extent.cut(size, by);
  };
  for (Extent* extent : {&op.rows, &op.columns, &op.inner, &op.batch, &op.heads, &op.key_heads}) cut(*extent);
  for (Term& term : op.moved) cut(term.elements);
  for (Term& term : op.kept) cut(term.elements);
  for (Extent& weight : op.weights) cut(weight);
}

bool is_cut(const Op& op, Dimension by) {
  const auto cut = [by](const Extent& extent) { return extent.is_cut(by); };
  const auto cut_term = [by](const Term& term) { return term.elements.is_cut(by); };
  return cut(op.rows) || cut(op.columns) || cut(op.inner) || cut(op.batch) || cut(op.heads) || cut(op.key_heads) ||
         std::any_of(op.moved.begin(), op.moved.end(), cut_term) ||
         std::any_of(op.kept.begin(), op.kept.end(), cut_term) ||
         std::any_of(op.weights.begin(), op.weights.end(), cut);
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
