// Sizes of a model as the recorded shapes of its operators have them, on one rank. Made from an EventTable; read by
// program/traced_facts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/program/facts/layer_shapes.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// Sizes of one rank's part; 0 or "" for what the shapes do not tell beyond doubt.
struct TracedShapes {
  int64_t vocabulary = 0;  ///< rows of its embedding, with padding
  int64_t hidden = 0;
  int64_t samples = 0;   ///< of a micro-batch
  int64_t sequence = 0;  ///< tokens of a sample
  int64_t heads = 0;
  int64_t head_size = 0;
  int64_t ffn = 0;        ///< what the second product of the FFN sums over
  LayerShapes layer;      ///< by the order of its products
  std::string dtype;      ///< of the matrix products: bf16, fp16 or fp32
  std::string embedding;  ///< "aten::embedding [[25600, 1024], [1, 2048]]", where the first four come from
  std::string attention;  ///< the same of heads and their size
};

TracedShapes traced_shapes(const EventTable& table);

/// Sizes of "[[2, 3], [], [4]]": one list per argument, empty where it is no tensor.
std::vector<std::vector<int64_t>> parse_dims(std::string_view text);

}  // namespace lumos
