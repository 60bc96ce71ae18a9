// One rank of a job that nobody has run: the program that recovery would find in its trace, made from the model's
// kernels, the pipeline's schedule and the cluster's constants. Lowered and simulated by program/synthetic_job.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/model/cluster/cluster.h"
#include "lumos/model/job/job.h"
#include "lumos/program/blocks/program.h"
#include "lumos/program/synth/work_writer.h"

namespace lumos {

struct SyntheticRank {
  RankProgram program;  ///< `recovered` stays empty: the blocks carry their labels
  std::vector<SyntheticTransfer> transfers;
};

/// Errors (kUsage): context and expert parallelism, and schedules that cannot be.
Status check_synthesis(const Job& job);

/// The rank's trace of `steps` steps. Ranks of one stage differ in their groups only, row by row. The job must have
/// passed check_synthesis.
SyntheticRank synthesize_rank(const Job& job, const Cluster& cluster, int64_t rank, int steps);

}  // namespace lumos
