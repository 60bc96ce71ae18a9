// The tensors that an operator was called with: "Input Dims" and "Input type" as numbers. The one parser of these
// texts; who reads many rows keeps a ShapeTable (table/shape_table.h), which parses each text once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lumos/trace/words/element_type.h"

namespace lumos {

struct TensorShape {
  std::vector<int64_t> dims;  ///< never empty
  uint32_t argument = 0;      ///< position among the operator's arguments; tensors of one list share it
  int64_t element_bytes = 4;  ///< of the type; 4 where it is unknown
  ElementType type = ElementType::kUnknown;

  /// Saturates.
  int64_t elements() const;
  int64_t bytes() const { return elements() * element_bytes; }
  bool operator==(const TensorShape&) const = default;
};

/// The tensors of "[[16, 512], [], [[8], [8]]]" with the types of "["c10::Half", "Scalar", ...]"; arguments that are no
/// tensors, and text that is not of this form, give none. O(length).
std::vector<TensorShape> parse_shapes(std::string_view dims, std::string_view types);

/// The first tensor of argument `position`, or nullptr.
const TensorShape* argument_of(const std::vector<TensorShape>& tensors, uint32_t position);

/// The sizes of argument `position`, none where it is no tensor.
const std::vector<int64_t>& dims_of(const std::vector<TensorShape>& tensors, uint32_t position);

/// Bytes of all tensors; -1 where there are none or a type is unknown.
int64_t bytes_of(const std::vector<TensorShape>& tensors);

}  // namespace lumos
