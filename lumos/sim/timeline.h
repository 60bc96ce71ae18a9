// When each task of a graph ran and what it waited for. Made by sim/simulate; read by report/.
#pragma once

#include <cstdint>
#include <vector>

namespace lumos {

struct Timeline {
  std::vector<int64_t> start_ns;
  std::vector<int64_t> end_ns;
  std::vector<uint32_t> binding;  ///< index into ExecGraph::edges of the dependency that decided the start, or kNoIndex
};

}  // namespace lumos
