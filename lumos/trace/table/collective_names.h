// Which rows of a trace are communication. The one place that knows the names of communication libraries' kernels
// (kineto-format.md "Collectives"); read by graph/, program/ and report/.
#pragma once

#include <string_view>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

/// True for kernels of NCCL, RCCL, oneCCL, HCCL, MSCCL, NVSHMEM, DeepEP dispatch and combine, custom all-reduces and
/// multimem.
bool is_communication_kernel(std::string_view name);

/// True for a GPU row with collective metadata or a communication kernel's name, and for a CPU row that is a gloo
/// operation itself (gloo works on the CPU, so that row is the transfer).
bool is_communication(const EventTable& table, size_t row);

/// is_communication() of every row; each distinct name is looked at once. One byte a row: 0 or 1.
std::vector<uint8_t> communication_rows(const EventTable& table);

}  // namespace lumos
