// Where the batch is in a rank's tensors: how large it was, and which operators work on it. Parameters, their copies
// and the optimizer do not; activations do, under whatever shape they have been given. Read by whatif/scale_batch.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "lumos/trace/event_table.h"
#include "lumos/trace/nesting.h"
#include "lumos/whatif/tensor_shapes.h"

namespace lumos {

/// Whether work grows with the batch.
enum class BatchUse : uint8_t {
  kNone,     ///< its tensors are parameters or constants
  kHolds,    ///< some tensor holds the batch, and so does what is made of it
  kSums,     ///< a product sums over the batch: a weight's gradient is as large as before
  kUnknown,  ///< no shapes were recorded
};

class BatchDimension {
 public:
  /// Finds the batch among the operators around `launches`, each with the weight of its GPU time. Convolutions, batch
  /// norms, embeddings and fused attention say it by definition; else it is the usual first extent of what linear
  /// layers read. `size` > 0 says what it is instead. All references must outlive this.
  BatchDimension(const EventTable& table, const Nesting& nested, const ShapeTable& shapes,
                 const std::vector<std::pair<uint32_t, int64_t>>& launches, int64_t size);

  /// 0: not found.
  int64_t size() const { return size_; }

  /// Whether the operator around a launching call works on the batch.
  BatchUse use_of(uint32_t launching_row) const;

  /// Whether a collective of so many elements moves activations: some tensor that holds the batch has as many.
  bool moves_activations(int64_t elements) const { return activation_elements_.contains(elements); }

 private:
  void learn(const std::vector<std::pair<uint32_t, int64_t>>& launches);
  void add_products(const std::vector<int64_t>& dims);
  bool holds(const TensorShape& tensor) const;
  bool sums(uint32_t row) const;
  bool is_parameter(uint32_t row, const TensorShape& tensor) const;

  const EventTable& table_;
  const Nesting& nested_;
  const ShapeTable& shapes_;
  int64_t size_ = 0;
  std::set<int64_t> extents_;                  ///< the batch, alone and flattened with what lies beside it
  std::set<std::vector<int64_t>> parameters_;  ///< shapes of parameters, as stored and transposed
  std::set<std::vector<int64_t>> data_;        ///< shapes that operators of known signature take as data
  std::set<int64_t> activation_elements_;
};

}  // namespace lumos
