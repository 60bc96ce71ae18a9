// The template that each row of a trace belongs to: the recurring part of the program that made it. Made from what
// recovery finds, with or without a job file; comparisons of runs and of predictions sum time by it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lumos/program/recover/recover.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

enum class RowTemplate : uint8_t {
  kInit,
  kForward,       ///< outside of layers: embedding, head, loss; all of it where no layers repeat
  kForwardLayer,  ///< the repeated layers
  kBackward,
  kBackwardLayer,
  kRecompute,
  kExchange,  ///< between pipeline stages
  kGradSync,
  kOptimizer,
  kLog,
  kNotPlaced,
};

std::string_view template_name(RowTemplate part);

/// One per row. A GPU row or launch call has that of its launch; any other host row what its thread launches next,
/// else what it launched last: it is on the way there.
std::vector<RowTemplate> row_templates(const EventTable& table, const RecoveredRank& recovered);

/// The same, of a trace that nothing else tells about.
std::vector<RowTemplate> row_templates(const EventTable& table);

}  // namespace lumos
