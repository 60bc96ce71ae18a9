// The program of a traced job, as the commands that predict and search need it: traces read, checked against the job
// file, recovered.
#pragma once

#include <string>
#include <vector>

#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/model/job/job_file.h"
#include "lumos/program/lower/plan.h"

namespace lumos {

/// What the traces say about the job must agree with its file. Errors: kUsage.
Status check_job_against_traces(const Job& job, const std::vector<EventTable>& tables, const std::string& job_file,
                                int threads);

/// The job file of traced ranks, completed from what they say and checked against it. Errors: kUsage.
Result<JobFile> read_traced_job(const std::string& job_file, const std::vector<EventTable>& tables, int threads);

/// Builds the graphs, one rank each, and recovers the program. `network` is for tiers that no trace shows. Errors:
/// those of recover_job; kInterrupted once `stop` is asked for.
Result<Recovery> recover_tables(std::vector<EventTable> tables, const Job& job, const Network& network, int threads,
                                const std::stop_token& stop);

}  // namespace lumos
