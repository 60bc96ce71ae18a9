// Shapes of all operators of a table, parsed once per distinct text. Read by whoever must know what a kernel worked on.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/trace/table/event_table.h"
#include "lumos/trace/words/tensor_shapes.h"

namespace lumos {

class ShapeTable {
 public:
  explicit ShapeTable(const EventTable& table);

  /// Whether the operator's arguments were recorded at all: true for one that was called without tensors.
  bool recorded(uint32_t row) const;
  /// The tensors of an operator's row, none where nothing was recorded.
  const std::vector<TensorShape>& of_row(uint32_t row) const;

 private:
  const EventTable& table_;
  std::vector<std::vector<TensorShape>> distinct_;
  std::vector<uint32_t> of_detail_;  ///< into distinct_, of each of EventTable::ops
};

}  // namespace lumos
