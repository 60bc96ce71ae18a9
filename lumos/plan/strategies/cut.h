// What strategies do to lists of ops: divide a size wherever it stands, put collectives between. Used by
// plan/strategies alone.
#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include "lumos/plan/ops/plan.h"

namespace lumos {

/// Calls back with every list of ops of the plan.
void for_each_list(Plan& plan, const std::function<void(std::vector<Op>&)>& visit);

/// Divides the factors `sizes` of every extent of the op: of products, terms, weights and what it keeps.
void cut_op(Op& op, std::initializer_list<ModelSize> sizes, DimensionSet by);

/// Whether any extent of the op is divided by `by`.
bool is_cut(const Op& op, Dimension by);

/// Whether the sum of a product goes over a size that `by` cuts, so that each member has a part of every element.
inline bool sums_parts(const Op& op, Dimension by) {
  return op.kind == OpKind::kProduct && !op.sums_rows && op.inner.is_cut(by);
}

/// The result of a product that is not a weight's gradient.
inline Extent result_of(const Op& product) { return product.rows.times(product.columns); }

/// A collective as part of the op's role.
Op collective_op(const Op& of, CollectiveKind kind, Term size, DimensionSet along);

/// The list with what `before` and `after` give for each op put around it.
using OpsAround = std::function<std::vector<Op>(const Op&)>;
void insert_around(std::vector<Op>& list, const OpsAround& before, const OpsAround& after);

}  // namespace lumos
