// GPUs that a trace names, with their data sheets and what kernels usually reach of them. For who has a device's name
// and no cluster file.
#pragma once

#include <optional>
#include <string_view>

#include "lumos/model/cluster.h"

namespace lumos {

/// The GPU called `device` in a trace ("NVIDIA H100 80GB HBM3"), by the part of its name that data sheets use.
std::optional<Gpu> known_gpu(std::string_view device);

/// The name of the cluster file that comes with Lumos for `device`, such as dgx-h100; "" where there is none.
std::string_view known_cluster(std::string_view device);

}  // namespace lumos
