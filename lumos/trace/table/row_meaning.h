// What rows of a table are, by their kind, their metadata and what their names mean: which communicate, and which
// family of kernels they belong to. Read by graph/, program/, whatif/ and report/.
#pragma once

#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

/// True for a GPU row with collective metadata or a communication kernel's name, and for a CPU row that is a gloo
/// operation itself (gloo works on the CPU, so that row is the transfer).
bool is_communication(const EventTable& table, size_t row);

/// is_communication() of every row. One byte a row: 0 or 1.
std::vector<uint8_t> communication_rows(const EventTable& table);

/// The family of a GPU row, collective metadata and kind of row included.
KernelFamily row_family(const EventTable& table, size_t row);

/// The meaning of any row's name as an operator's; nothing of rows that are no operators or annotations.
OperatorMeaning operator_of(const EventTable& table, size_t row);

/// True for the profiler's mark of a step; old traces have them among the operators.
bool is_step_mark(const EventTable& table, size_t row);

/// The collective that the name of a communicating row tells, of a kernel or of a gloo operation.
CollectiveKind collective_by_name(const EventTable& table, size_t row);

/// What a collective's metadata tells of its kind, nothing where it names none.
CollectiveHint hint_of(const EventTable& table, const CollectiveDetail& detail);

/// The type of the elements that a collective moves.
ElementType type_of(const EventTable& table, const CollectiveDetail& detail);

}  // namespace lumos
