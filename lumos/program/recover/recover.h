// Recovery: from the events of one rank to the program that made them. Every launch gets a label (phase, micro-batch,
// chunk, layer) and launches with one label in a row form a pass over the model. Read by program/lower/cut_blocks,
// inspect and predict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/program/recover/launches.h"
#include "lumos/program/recover/phase.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// What the job file or the process groups tell; 0 or -1: find out from the trace.
struct RecoverHints {
  int stages = 0;      ///< pipeline_model_parallel_size
  int stage = -1;      ///< of this rank
  int chunks = 0;      ///< virtual_pipeline_model_parallel_size
  int num_layers = 0;  ///< of the whole model
};

/// A run of launches of one phase, micro-batch and chunk.
struct Pass {
  Phase phase = Phase::kUnknown;
  int16_t step = -1;
  int16_t microbatch = -1;
  int16_t chunk = -1;
  uint32_t begin = 0;  ///< launches [begin, end)
  uint32_t end = 0;
  uint32_t forward = kNoIndex;  ///< of a backward: index of the forward pass it belongs to
};

struct RecoveredRank {
  LaunchList list;
  std::vector<Label> labels;           ///< one per launch
  std::vector<Pass> passes;            ///< in launch order; they partition the launches
  std::vector<int64_t> step_start_ns;  ///< host time at which each step starts, and the end of the last one
  int stages = 1;
  int stage = 0;
  int chunks = 1;
  int layers_per_chunk = 0;  ///< 0: no repetition found
  int microbatches = 0;      ///< of a whole step
  uint64_t unplaced = 0;     ///< launches with Phase::kUnknown
  double layer_match = 0;    ///< how well the layers agree with each other, 0..1
};

/// Labels every launch of one rank. Never fails: what cannot be placed is kUnknown.
RecoveredRank recover(const EventTable& table, const RecoverHints& hints);

/// Stages and stage of this rank from its pipeline process group, where the trace lists it; else 0 and -1.
RecoverHints hints_from_groups(const EventTable& table);

}  // namespace lumos
