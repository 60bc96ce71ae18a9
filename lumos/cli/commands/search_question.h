// What a search is asked: the configurations to look at and what they are timed with - a cluster alone, or a cluster
// anchored on the traces of a job. Read from the command line by `lumos search`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lumos/cli/arguments/job_arguments.h"
#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/search/refine.h"
#include "lumos/search/space.h"

namespace lumos {

struct QuestionArguments {
  ReadArguments read;  ///< no paths: from the job and the cluster alone
  JobArguments common;
  std::string space, configs;
  int64_t gpus = 0;             ///< 0: the job's
  int64_t samples_per_gpu = 0;  ///< 0: the job's global batch
};

/// `simulate` is set where jobs can be simulated in full.
struct SearchQuestion {
  Anchor anchor;
  Enumeration enumeration;
  std::vector<uint32_t> lines;     ///< of the table; empty for a space
  std::vector<std::string> names;  ///< settings to show
  std::optional<Job> base;         ///< that the space changes
  double base_ms = 0;              ///< measured step of the traced job; 0 without traces
  SimulateJob simulate;
};

/// Errors: kUsage for options that do not go together, and those of reading. What is left out is noted on the console.
Result<SearchQuestion> read_question(const QuestionArguments& arguments, Console& console);

}  // namespace lumos
