// A plan for one step of a job: which recovered block stands for which piece of work of which stage. What exists in the
// trace is taken as it is; what is new (stages, layers, micro-batches) is drawn from the recovered repetitions by seed.
// Made from a Program and two Jobs; lowered by program/lower.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/model/job/job.h"
#include "lumos/parallel/mesh.h"
#include "lumos/program/blocks/catalog.h"
#include "lumos/program/lower/lower.h"
#include "lumos/program/lower/measured_loads.h"
#include "lumos/program/measure/fitted_kernels.h"
#include "lumos/program/measure/network.h"
#include "lumos/program/measure/transfers.h"

namespace lumos {

/// All that recovery found, with what it means under the job that was traced.
struct Recovery {
  Job job;
  Program program;
  std::vector<RankTransfers> transfers;    ///< parallel to program.ranks
  std::vector<RankCatalog> catalogs;       ///< parallel to program.ranks
  std::vector<Position> places;            ///< parallel to program.ranks
  Network network;                         ///< as the transfers show it
  MeasuredLoads loads;                     ///< what ran beside what
  std::vector<std::vector<RoleOf>> roles;  ///< per rank and launch
  std::vector<Gpu> kernels;                ///< per rank
};

/// Recovers the program of a job from its graphs, one rank each. Errors: kFailed when no whole step was recovered on
/// some rank or a pipeline end was not traced, with what is missing. `threads` 0: the processors of this machine.
Result<Recovery> recover_job(const std::vector<ExecGraph>& graphs, const Job& job, const Network& network_defaults,
                             int threads = 0);

/// `base` with as many layers in as many stages as `target`, in its own sizes.
Job with_layers_of(const Job& base, const Job& target);

ScheduleShape schedule_shape(const Job& job);

/// What a job file tells recovery about one rank.
RecoverHints hints_from_job(const Job& job, int64_t rank);

/// Plans one replica's stages (one rank each). Deterministic in `seed`. Errors: kUsage where the schedule is
/// impossible.
Result<LowerPlan> plan_step(const Recovery& recovery, const Job& target, const Network& network, uint64_t seed);

}  // namespace lumos
