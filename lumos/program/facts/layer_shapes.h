// What a transformer layer's products are by their order around attention: equal sizes cannot be told apart by their
// shapes alone. Made from the shapes of one rank's operators; read by program/traced_shapes.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

/// Sizes of one rank's part of a layer; 0 for those that its layers do not agree on.
struct LayerShapes {
  int64_t hidden = 0;
  int64_t heads = 0;  ///< of queries
  int64_t head_size = 0;
  int64_t ffn = 0;        ///< what the last product of the FFN sums over
  int64_t key_heads = 0;  ///< heads of keys and values
  bool gated = false;     ///< the FFN has a second product from the hidden state, or one twice as wide

  bool operator==(const LayerShapes&) const = default;
};

LayerShapes layer_shapes(const EventTable& table);

/// A product of matrices: how long its sums are, and how many columns come out.
struct ProductShape {
  int64_t sums_over = 0;
  int64_t columns = 0;
};

/// Whether the operator `name` with arguments of these sizes is one.
bool is_product(std::string_view name, const std::vector<std::vector<int64_t>>& dims, ProductShape* shape);

/// Whether the operator is the forward of attention, with queries as its first argument.
bool is_attention_operator(std::string_view name);

}  // namespace lumos
