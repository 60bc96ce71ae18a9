// Which kind of collective a communication kernel runs, how many bytes it moves, and NCCL's definitions of bandwidth.
// Read by graph/match/match, whatif/ and report/. (Which kernels communicate at all is trace/collective_names.)
#pragma once

#include <cstdint>
#include <string_view>

#include "lumos/trace/table/event_table.h"

namespace lumos {

enum class CollectiveKind : uint8_t {
  kUnknown,  ///< communication, but neither the metadata nor the name tell which
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kSendRecv,  ///< point to point; by name alone it may also be an all-to-all, which NCCL runs with the same kernel
  kBarrier,
};

/// "allreduce", "allgather" ...: what selectors match and tables print.
std::string_view text_of(CollectiveKind kind);

/// The kind that a kernel's name tells.
CollectiveKind kind_of_kernel_name(std::string_view kernel_name);

/// The kind that "Collective name" of the metadata tells ("_allgather_base", "send" ...).
CollectiveKind kind_of_metadata(std::string_view collective_name);

/// Bytes of one element, by c10's dtype names; 0 if unknown.
int64_t element_bytes(std::string_view dtype);

/// Bytes that a collective moves by NCCL's definition of "size": the larger of the two buffers for gathers and
/// scatters, the buffer of one rank for the rest. -1 if the metadata does not tell.
int64_t collective_bytes(CollectiveKind kind, const CollectiveDetail& detail, std::string_view dtype);

/// The same of a row's metadata; 0 if it does not tell.
int64_t collective_bytes(const EventTable& table, const CollectiveDetail& detail);

/// Bus bandwidth over algorithm bandwidth: NCCL tests' factor for `kind` among `ranks` members.
double bus_factor(CollectiveKind kind, int32_t ranks);

}  // namespace lumos
