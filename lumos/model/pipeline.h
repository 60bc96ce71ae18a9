// In which order a pipeline stage runs its micro-batches, and how long a pipeline takes whose stages take given times:
// GPipe, 1F1B and Megatron's interleaved schedule. Exact for any imbalance, by walking the schedule; the closed forms
// (m + p - 1) (f + b) are what it gives for equal stages. Read by estimates; the order also by lowering.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/model/job.h"

namespace lumos {

/// One forward or backward pass of a micro-batch through one chunk of a stage.
struct PipelineSlot {
  bool forward = true;
  int32_t chunk = 0;
  int32_t microbatch = 0;
  bool operator==(const PipelineSlot&) const = default;
};

/// The slots of `stage` in order: every micro-batch once forward and once backward per chunk.
std::vector<PipelineSlot> stage_schedule(PipelineSchedule schedule, int64_t num_stages, int64_t num_chunks,
                                         int64_t num_microbatches, int64_t stage);

/// How many chunk forward passes are waiting for their backward pass at most on `stage`.
int64_t passes_in_flight(PipelineSchedule schedule, int64_t num_stages, int64_t num_chunks, int64_t num_microbatches,
                         int64_t stage);

/// Times of one pass, by stage and chunk (index stage * num_chunks + chunk), and of one message between stages.
struct PipelineTimes {
  int64_t num_stages = 1;
  int64_t num_chunks = 1;
  int64_t num_microbatches = 1;
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  std::vector<double> forward_us;
  std::vector<double> backward_us;
  double message_us = 0;
  bool message_blocks_sender = true;  ///< without overlap_p2p_comm the sender's stream carries the message
};

/// What a stage did from the beginning of the step to the end of its last backward pass.
struct StageRun {
  double end_us = 0;
  double busy_us = 0;     ///< passes
  double message_us = 0;  ///< sending
  double waiting_us = 0;  ///< for messages: fill, drain and imbalance
};

/// One StageRun per stage. O(stages x chunks x micro-batches).
std::vector<StageRun> run_pipeline(const PipelineTimes& times);

/// For each stage a time before which run_pipeline cannot end it; O(stages x chunks), whatever the micro-batches.
/// Proof, for any schedule in which a stage runs its slots one after the other, begins with the forward pass of
/// micro-batch 0 through its chunk 0 and ends with the last micro-batch's backward pass through chunk 0, as all of ours
/// do:
///  (a) That first pass needs the one of the stage before and its message, so stage i starts no sooner than
///      S_i = sum over j < i of (f_j0 + message).
///  (b) From there to the end of its last pass the stage runs all passes and, where messages block the sender, all
///      messages but the one that follows the last pass: T_i. So its last pass ends no sooner than S_i + T_i.
///  (c) The last pass of stage i - 1 needs that of stage i and its message. So stage k ends no sooner than
///      max over i >= k of S_i + T_i + sum over k <= j < i of (b_j0 + message).
/// Both sums are rounded differently from the walk's; one part in 1e9 is taken off, a thousand times the error of 1e4
/// additions of doubles.
std::vector<double> pipeline_end_bounds_us(const PipelineTimes& times);

}  // namespace lumos
