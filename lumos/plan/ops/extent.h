// Sizes of what a job computes, kept as products of the model's sizes, each divided by the dimensions that cut it.
// Strategies divide them; a job and its mesh give them numbers. Read by everything in plan/.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "lumos/base/inline_list.h"
#include "lumos/model/job/job.h"
#include "lumos/parallel/mesh.h"

namespace lumos {

/// A model's sizes, of one micro-batch where they depend on it.
enum class ModelSize : uint8_t {
  kSequence,
  kKeySequence,  ///< what attention looks back at: not cut where queries are
  kBatch,
  kHidden,
  kQueryHeads,
  kKeyHeads,
  kHeadSize,
  kQkvWidth,        ///< queries, keys and values side by side
  kAttentionWidth,  ///< all query heads side by side
  kFfn,
  kFfnIn,  ///< twice as wide with a gate
  kVocabulary,
  kPositions,
};
inline constexpr size_t kNumModelSizes = 13;

/// One size, divided by the sizes of some dimensions.
struct Factor {
  ModelSize size = ModelSize::kHidden;
  DimensionSet by;
  bool operator==(const Factor&) const = default;
};

/// A product of a few sizes; of none: 1.
class Extent {
 public:
  Extent() = default;
  Extent(std::initializer_list<ModelSize> sizes) {
    for (ModelSize size : sizes) factors_.push_back({size, {}});
  }

  /// Divides the factor `size`, if there is one.
  void cut(ModelSize size, DimensionSet by) {
    for (Factor& factor : factors_)
      if (factor.size == size) factor.by = factor.by.with(by);
  }
  bool has(ModelSize size) const {
    for (const Factor& factor : *this)
      if (factor.size == size) return true;
    return false;
  }
  bool is_cut(Dimension by) const {
    for (const Factor& factor : *this)
      if (factor.by.has(by)) return true;
    return false;
  }
  /// With the factors of `other`.
  Extent times(const Extent& other) const {
    Extent product = *this;
    for (const Factor& factor : other) product.factors_.push_back(factor);
    return product;
  }

  const Factor* begin() const { return factors_.begin(); }
  const Factor* end() const { return factors_.end(); }

 private:
  InlineList<Factor, 5> factors_;
};

/// Numbers for the sizes of a job.
class PlanSizes {
 public:
  PlanSizes() = default;
  PlanSizes(const Job& job, const Mesh& mesh);

  int64_t operator[](ModelSize size) const { return sizes_[static_cast<size_t>(size)]; }
  /// The same for one rank. Parts are whole: what is left over is on no rank.
  int64_t of(const Extent& extent) const;
  /// Members along a dimension.
  int64_t members(Dimension dimension) const { return members_[static_cast<size_t>(dimension)]; }

 private:
  std::array<int64_t, kNumModelSizes> sizes_ = {};
  std::array<int64_t, kMostDimensions> members_ = {};
};

}  // namespace lumos
