// The tensors that an operator was called with, as the trace records them: "Input Dims" and "Input type" as numbers.
// Read by the changes that must know what a kernel worked on.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

struct TensorShape {
  std::vector<int64_t> dims;  ///< never empty
  uint32_t argument = 0;      ///< position among the operator's arguments; tensors of one list share it
  int64_t element_bytes = 4;

  int64_t elements() const;
  int64_t bytes() const { return elements() * element_bytes; }
  bool operator==(const TensorShape&) const = default;
};

/// The tensors of "[[16, 512], [], [[8], [8]]]" with the types of "["c10::Half", "Scalar", ...]"; arguments that are no
/// tensors, and text that is not of this form, give none. Unknown types count four bytes.
std::vector<TensorShape> parse_shapes(std::string_view dims, std::string_view types);

/// Shapes of all operators of a table, parsed once each.
class ShapeTable {
 public:
  explicit ShapeTable(const EventTable& table);

  /// Whether the operator's arguments were recorded at all: true for one that was called without tensors.
  bool recorded(uint32_t row) const;
  /// The tensors of an operator's row, none where nothing was recorded.
  const std::vector<TensorShape>& of_row(uint32_t row) const;

 private:
  const EventTable& table_;
  std::vector<std::vector<TensorShape>> of_detail_;
  std::vector<TensorShape> none_;
};

}  // namespace lumos
