// The arguments of every command that reads traces: paths, --strict, --rank-regex, --threads; and the reading itself.
#pragma once

#include <string>
#include <vector>

#include "lumos/cli/arguments/command.h"
#include "lumos/graph/job/job.h"
#include "lumos/trace/kineto/reader.h"

namespace lumos {

struct ReadArguments {
  std::vector<std::string> paths;
  bool strict = false;
  std::string rank_regex;
  int64_t threads = 0;
};

/// Adds the options that store into `arguments`; PATH... comes first, the rest last.
void add_read_options(Command& command, ReadArguments& arguments);

/// Reads, builds and links the job: from traces, or from the one graph file that the paths name. Files that fail while
/// others can be read are noted on the console and in the result.
Result<LinkedJob> load_for(const ReadArguments& arguments, const BuildOptions& build, Console& console);

/// Errors: kFailed when nothing ran in any rank: such a job has no step, and no command that answers about one can.
/// Those that describe or convert a trace (inspect, link, convert, export) take it as it is.
Status check_something_ran(const LinkedJob& job);

/// Reads the traces, or takes them out of a graph file. Files that fail while others can be read are noted on the
/// console and in the result.
Result<TraceSet> read_for(const ReadArguments& arguments, Console& console);

}  // namespace lumos
