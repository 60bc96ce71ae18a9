// GPUs that a trace names, with their data sheets and what kernels usually reach of them. For who has a device's name
// and no cluster file.
#pragma once

#include <optional>
#include <string_view>

#include "lumos/model/cluster/cluster.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// The GPU called `device` in a trace ("NVIDIA H100 80GB HBM3"), by the whole words of its name that data sheets use.
/// GPUs of laptops and parts of a GPU share the name of a card whose data sheet is not theirs: they are not known.
std::optional<Gpu> known_gpu(std::string_view device);

/// The same with the memory and the multiprocessors that a trace tells of the very device.
std::optional<Gpu> known_gpu(const DeviceProperties& device);

/// The name of the cluster file that comes with Lumos for `device`, such as dgx-h100; "" where there is none.
std::string_view known_cluster(std::string_view device);

}  // namespace lumos
