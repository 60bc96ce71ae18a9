// The step time of a job on a cluster without any trace: kernel lists timed by the cluster's constants, the pipeline
// walked once, gradients reduced, the optimizer run. Ranks of a stage are alike, so the cost does not depend on the
// number of GPUs. Read by `lumos estimate`, by calibration and by searches that want a cheap first answer.
#pragma once

#include <string>
#include <vector>

#include "lumos/model/cluster/cluster.h"
#include "lumos/model/job/job.h"
#include "lumos/model/kernels/kernel_work.h"
#include "lumos/plan/memory.h"
#include "lumos/plan/ops/plan.h"

namespace lumos {

/// The four parts of a step, in ms; mean over the stages. They sum to the step. Waiting for another stage's message is
/// exposed communication, as it is inside NCCL's kernels in a trace; waiting for the host is other.
struct StepBreakdown {
  double exposed_compute_ms = 0;
  double overlapped_ms = 0;
  double exposed_comm_ms = 0;
  double other_ms = 0;
};

struct Estimate {
  double step_ms = 0;
  StepBreakdown breakdown;
  double pipeline_ms = 0;            ///< to the end of the last backward pass
  double pipeline_wait_ms = 0;       ///< of it: filling, draining and imbalance, mean over stages
  double gradient_reduction_ms = 0;  ///< exposed, longest stage
  double optimizer_ms = 0;           ///< with the gathering of parameters, longest stage
  double tokens_per_s = 0;
  double tflops_per_gpu = 0;  ///< model FLOPs, flops.h
  double mfu_pct = 0;
  double hfu_pct = 0;  ///< with recomputed FLOPs
  std::vector<StageMemory> memory;
  std::string shortage;  ///< "" when it fits; see memory_shortage
};

/// Factors on the model's times, measured / modelled, where a trace of the job has shown its parts; 1: as the cluster's
/// constants have it. Made by program/anchor.
struct EstimateScales {
  using Part = WorkScale;
  Part layer_forward;   ///< of one layer
  Part layer_backward;  ///< with what it recomputes
  Part embedding;       ///< both passes
  Part head;
  double optimizer = 1;        ///< whichever of GPU and host takes longer
  double step = 1;             ///< all times: what no part shows, such as interference and uneven ranks
  double message_host_us = 0;  ///< of the host, to post an exchange between stages; 0: as for any launch
};

/// The estimate of a valid job. Errors (kUsage): the cluster is too small for the job.
Result<Estimate> estimate(const Job& job, const Cluster& cluster, const EstimateScales& scales = {});

/// A time that no estimate of this job is below, without walking the pipeline: its cost does not depend on the number
/// of micro-batches. A step is max over stages of (end + exposed reduction), then max of (optimizer + gather), then the
/// host's share; all terms but the ends are computed as estimate() does, and the ends are replaced by
/// pipeline_end_bounds_us, each of which is proven to be no larger. A maximum and a sum grow with their terms.
double step_lower_bound_ms(const Job& job, const Cluster& cluster, const EstimateScales& scales = {});

/// Forward and backward pass of one micro-batch through one layer, the embedding and the head. Backward contains what
/// is recomputed.
struct PassTimes {
  WorkTimes layer_forward, layer_backward;
  WorkTimes embedding_forward, embedding_backward;
  WorkTimes head_forward, head_backward;
};

PassTimes pass_times(const Plan& plan, const Cluster& cluster, const EstimateScales& scales = {});

}  // namespace lumos
