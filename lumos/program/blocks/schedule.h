// Pipeline schedules as data: in which order each stage runs forwards and backwards of which micro-batch and chunk, and
// what it sends and receives in between. Made from a job's sizes; read by program/lower/lower, drawn as text for
// people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/base/result.h"

namespace lumos {

/// Labels, schedules and meetings number micro-batches and virtual stages with 16 bits, for there are many of each;
/// real jobs have some hundred.
inline constexpr int kMostMicrobatches = INT16_MAX;
inline constexpr int kMostVirtualStages = INT16_MAX;

enum class ScheduleKind : uint8_t { kGpipe, kOneForwardOneBackward, kInterleaved };

/// One activation or gradient that crosses a stage border: the output of (microbatch, virtual stage) forwards, or the
/// gradient of that output backwards.
struct Tensor {
  int16_t microbatch = -1;
  int16_t virtual_stage = -1;  ///< chunk * stages + stage of the forward producer
  bool backward = false;
  bool operator==(const Tensor&) const = default;
};

enum class ActionKind : uint8_t { kForward, kBackward, kExchange };

/// One thing that a stage does; an exchange is one or several transfers posted together.
struct Action {
  ActionKind kind = ActionKind::kForward;
  int16_t microbatch = -1;  ///< of forwards and backwards
  int16_t chunk = 0;
  std::vector<Tensor> sends;
  std::vector<Tensor> receives;
};

struct ScheduleShape {
  ScheduleKind kind = ScheduleKind::kOneForwardOneBackward;
  int stages = 1;
  int chunks = 1;  ///< model chunks per stage; above 1 only with kInterleaved
  int microbatches = 1;
  bool operator==(const ScheduleShape&) const = default;
};

/// Actions of every stage in their order. Errors: kUsage for a shape that cannot be scheduled (chunks without
/// interleaving, interleaved micro-batches that do not divide by the stages).
Result<std::vector<std::vector<Action>>> make_schedule(const ScheduleShape& shape);

/// One line per stage: F and B with the micro-batch (and a letter for the chunk), '.' while the stage waits, with all
/// forwards and backwards taking one slot. For tests and people.
std::string draw_schedule(const ScheduleShape& shape, const std::vector<std::vector<Action>>& schedule);

}  // namespace lumos
