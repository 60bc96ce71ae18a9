// Where the batch is in a rank's tensors: how large it was, and which operators work on it. Parameters, their copies
// and the optimizer do not; activations do, under whatever shape they have been given. Read by whatif/scale_batch.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "lumos/trace/table/event_table.h"
#include "lumos/trace/table/nesting.h"
#include "lumos/whatif/times/tensor_shapes.h"

namespace lumos {

/// Whether work grows with the batch.
enum class BatchUse : uint8_t {
  kNone,     ///< its tensors are parameters or constants
  kHolds,    ///< some tensor holds the batch, and so does what is made of it
  kSums,     ///< a product sums over the batch: a weight's gradient is as large as before
  kUnknown,  ///< no shapes were recorded
};

/// A call that launches, and the GPU time that it launches.
struct LaunchWeight {
  uint32_t row = 0;
  int64_t weight_ns = 0;
};

/// What operators of known signature say about batch and parameters, of one rank or of all together: a pipeline's later
/// stages have no embedding, but work on the same samples.
class BatchEvidence {
 public:
  void add(const EventTable& table, const Nesting& nested, const ShapeTable& shapes,
           const std::vector<LaunchWeight>& launches);

  /// Convolutions, batch norms, embeddings and fused attention say it by definition; else it is the usual first extent
  /// of what linear layers read. 0: nothing says it.
  int64_t batch_size() const;

  /// The batch of `size`, alone and flattened with what lies beside it.
  std::set<int64_t> extents(int64_t size) const;

  bool only_parameters_have(const std::vector<int64_t>& dims) const {
    return parameters_.contains(dims) && !data_.contains(dims);
  }

 private:
  std::map<int64_t, int64_t> by_definition_, of_linear_;             ///< weight by first extent
  std::map<int64_t, std::set<std::vector<int64_t>>> data_by_first_;  ///< shapes of data by their first extent
  std::set<std::vector<int64_t>> parameters_;                        ///< as stored and transposed
  std::set<std::vector<int64_t>> data_;
};

/// Which operators of a rank work on the batch.
class BatchDimension {
 public:
  /// All references must outlive this. `size` is at least 1.
  BatchDimension(const EventTable& table, const Nesting& nested, const ShapeTable& shapes,
                 const std::vector<LaunchWeight>& launches, const BatchEvidence& evidence, int64_t size);

  /// Whether the operator around a launching call works on the batch.
  BatchUse use_of(uint32_t launching_row) const;

  /// Whether a collective of so many elements moves activations: some tensor that holds the batch has as many.
  bool moves_activations(int64_t elements) const { return activation_elements_.contains(elements); }

 private:
  bool holds(const TensorShape& tensor) const;
  bool sums(uint32_t row) const;
  bool is_parameter(uint32_t row, const TensorShape& tensor) const;

  const EventTable& table_;
  const Nesting& nested_;
  const ShapeTable& shapes_;
  const BatchEvidence& evidence_;
  std::set<int64_t> extents_;
  std::set<int64_t> activation_elements_;
};

}  // namespace lumos
