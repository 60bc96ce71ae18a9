// How many bytes a collective moves, and NCCL's definitions of bandwidth. Read by graph/match/match, whatif/ and
// report/. (Which kernels communicate, and which kind of collective a name means, is trace/words.)
#pragma once

#include <cstdint>

#include "lumos/trace/table/event_table.h"
#include "lumos/trace/words/collective_kind.h"
#include "lumos/trace/words/element_type.h"

namespace lumos {

/// Bytes that a collective moves by NCCL's definition of "size": the larger of the two buffers for gathers and
/// scatters, the buffer of one rank for the rest. -1 if the metadata does not tell.
int64_t collective_bytes(CollectiveKind kind, const CollectiveDetail& detail, ElementType type);

/// The same of a row's metadata; 0 if it does not tell.
int64_t collective_bytes(const EventTable& table, const CollectiveDetail& detail);

/// Bus bandwidth over algorithm bandwidth: NCCL tests' factor for `kind` among `ranks` members.
double bus_factor(CollectiveKind kind, int32_t ranks);

}  // namespace lumos
