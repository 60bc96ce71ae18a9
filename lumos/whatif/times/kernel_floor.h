// What even an empty kernel takes on a rank's GPU, and how full each kernel has the GPU: the two things a kernel's time
// is split by before a part of it is changed. From the trace alone; read by whatif/edit/scale_batch and
// whatif/other_cluster.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lumos/graph/exec_graph.h"

namespace lumos {

/// Blocks over what fills the GPU: all that it holds at once, or for products, which keep a multiprocessor busy each,
/// one on every multiprocessor. 0 where the trace does not tell, or where there are just as many blocks as
/// multiprocessors: then they are a crew that shares the work, and their number says nothing about it.
double kernel_waves(const EventTable& table, uint32_t row, bool one_per_multiprocessor);

/// Kernels that only move data keep the memory busy with this part of all blocks that the GPU holds, and take the same
/// time with fewer.
inline constexpr double kSmallWaves = 0.1;

/// Nanoseconds that kernels of a rank take with next to no work: the usual time of those too small to fill a tenth of
/// the GPU, by the kernel's short name where there are a few, else of all; without such kernels, what the shortest
/// fiftieth takes.
class KernelFloors {
 public:
  KernelFloors(const ExecGraph& graph, const RankTasks& rank);

  int64_t usual_ns() const { return usual_ns_; }
  int64_t of_row(const EventTable& table, uint32_t row) const;

 private:
  int64_t usual_ns_ = 0;
  std::map<std::string, int64_t, std::less<>> of_name_;
};

}  // namespace lumos
