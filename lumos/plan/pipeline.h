// How long a pipeline takes whose passes take given times on host and GPU, for any schedule and any imbalance, by
// walking every stage's steps: the recurrence that a full simulation of the same job amounts to. The closed forms
// (m + p - 1) (f + b) are what it gives for equal stages without messages. Read by estimates.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "lumos/model/kernels/kernel_work.h"
#include "lumos/plan/pipeline_schedule.h"

namespace lumos {

/// Collectives of gradients beside a chunk's last backward pass, one after the other as their gradients are complete.
struct BesideBackward {
  static constexpr double kNever = -std::numeric_limits<double>::infinity();
  double all_us = 0;              ///< of them
  double after_gpu_us = kNever;   ///< from when the GPU and
  double after_host_us = kNever;  ///< the host begin the pass to the last one's end, unless earlier ones are late
};

/// Collectives of parameters beside first forward passes, one after the other from a stage's first pass on.
struct BesideForward {
  double all_us = 0;
  double pass_end_us =
      0;  ///< the least time from that beginning to the end of the chunk's first pass, which needs them
};

/// Times of one pass, by stage and chunk (index stage * num_chunks + chunk), and of messages between stages.
struct PipelineTimes {
  PipelineShape shape;
  std::vector<LaunchedWork> forward, backward;
  std::vector<BesideBackward> reduced;  ///< likewise
  std::vector<BesideForward> gathered;  ///< likewise
  std::vector<double> message_us;       ///< of one message between a stage and the next; of the last, to the first
  double exchange_host_us = 0;          ///< of the host, to post an exchange
  double after_message_us = 0;          ///< of each message received, before a pass can read it
  /// Without overlap_p2p_comm an exchange is one kernel that begins when its stage and all that it exchanges with have
  /// come to it, ends with all its messages, and is waited for by what follows. With it messages run beside compute.
  bool exchange_blocks = true;
  bool host_waits = true;  ///< for all that the GPU does, after each blocking exchange: batch_p2p_sync
};

/// What a stage did from the beginning of the step to the end of its last backward pass and the exchange after it.
struct StageRun {
  double end_us = 0;       ///< of the GPU
  double host_end_us = 0;  ///< of the host
  double busy_us = 0;      ///< GPU in passes
  double message_us = 0;   ///< GPU in exchanges, from when all have come
  double waiting_us = 0;   ///< for other stages: fill, drain and imbalance
  double gather_us = 0;    ///< for parameters, in first passes
  double idle_us = 0;      ///< GPU waiting for its host
  double reduced_us = 0;   ///< end of what runs beside backward passes
};

/// One StageRun per stage. O(stages x chunks x micro-batches).
std::vector<StageRun> run_pipeline(const PipelineTimes& times);

/// For each stage a time before which run_pipeline cannot end it; O(stages x chunks), whatever the micro-batches.
/// Proof, for any schedule in which a stage runs its slots one after the other, begins with the forward pass of
/// micro-batch 0 through its chunk 0 and ends with the last micro-batch's backward pass through chunk 0, as all of ours
/// do. A pass keeps the GPU for its gpu_us and the host for its host_us; from an idle GPU it takes idle_us.
///  (a) That first pass needs the one of the stage before and its message, so stage i starts no sooner than
///      S_i = sum over j < i of (f_j0 + message_j), with f_j0 the GPU's time, and for j = 0 idle_us as well.
///  (b) From there to the end of its last pass the GPU runs all passes and, where exchanges block, all exchanges but
///      those that follow the last pass. An exchange takes at least a message for each tensor that it sends: T_i. The
///      last pass sends at most one. So it ends no sooner than S_i + T_i. Nor does it before the host has launched all
///      passes before it and the GPU has run it, H_i.
///  (c) The last pass of stage i - 1 needs that of stage i and its message. So stage k ends no sooner than
///      max over i >= k of max(S_i + T_i, H_i) + sum over k <= j < i of (b_j0 + message_j).
/// Both sums are rounded differently from the walk's; one part in 1e9 is taken off, a thousand times the error of 1e4
/// additions of doubles.
std::vector<double> pipeline_end_bounds_us(const PipelineTimes& times);

}  // namespace lumos
