// The part of `lumos predict` that changes the job: recovers the program of the traces, changes and lowers it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/report/results/predict_result.h"

namespace lumos {

struct JobChange {
  std::string job_file;
  std::vector<std::string> settings;  ///< "name=value"
  int64_t seeds = 8;
  bool plain = false;
  std::string out;      ///< file for the predicted timeline, "" for none
  std::string ignore;   ///< metadata to do without, "shapes,collectives,annotations"
  std::string cluster;  ///< cluster file for what the traces do not show
};

/// Errors: what reading, recovery and the job file say; kUsage for a setting that cannot be.
Result<PredictResult> predict_job(const ReadArguments& read, const JobChange& change, Console& console);

}  // namespace lumos
