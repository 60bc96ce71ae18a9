// The program of a traced job, as the commands that predict and search need it: its traces checked against the job
// file, and recovered.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/model/job/job_file.h"
#include "lumos/program/lower/plan.h"

namespace lumos {

/// The ranks of a job, as whoever read them shares them.
using SharedTables = std::vector<std::shared_ptr<const EventTable>>;

SharedTables share_tables(std::vector<EventTable> tables);

/// The job of traced ranks, with what was found on the way to it.
struct TracedJob {
  JobFile file;
  std::map<size_t, LaunchList> launches;  ///< of the ranks that were looked at, by index of table
};

/// The job file of traced ranks, completed from what they say and checked against it. `file` is what the job file
/// holds. Errors: kUsage.
Result<TracedJob> traced_job(const ValueView& file, const std::string& job_file, const SharedTables& tables,
                             int threads);

/// The same of a file that nobody has read yet.
Result<TracedJob> read_traced_job(const std::string& job_file, const SharedTables& tables, int threads);

/// Builds the graphs, one rank each, and recovers the program. `network` is for tiers that no trace shows. Errors:
/// those of recover_job; kInterrupted once `stop` is asked for.
Result<Recovery> recover_tables(const SharedTables& tables, TracedJob traced, const Network& network, int threads,
                                const std::stop_token& stop);

}  // namespace lumos
