#include "lumos/cli/read_arguments.h"

#include "lumos/base/progress.h"

namespace lumos {

namespace {

constexpr int64_t kMaxThreads = 1024;  // more than any machine has; a larger number is a slip of the keyboard

}  // namespace

void add_read_options(Command& command, ReadArguments& arguments) {
  command.options.insert(command.options.begin(),
                         {"PATH",
                          "",
                          "Trace files (.json, .json.gz, .json.zst), folders of them, or '-' for stdin",
                          &arguments.paths,
                          true,
                          {},
                          Completion::kFile});
  command.options.push_back({"--strict", "", "Fail on whatever would be repaired or skipped", &arguments.strict});
  command.options.push_back({"--rank-regex", "REGEX",
                             "Take the rank from the file's path: the first group of the match",
                             &arguments.rank_regex});
  command.options.push_back({"--threads", "N", "Workers; by default one per processor", &arguments.threads});
}

Result<TraceSet> read_for(const ReadArguments& arguments, Console& console) {
  if (arguments.threads < 0 || arguments.threads > kMaxThreads) {
    return fail(ErrorKind::kUsage, "--threads must be from 0 to {}, not {}", kMaxThreads, arguments.threads);
  }
  ReadOptions options;
  options.threads = static_cast<int>(arguments.threads);
  options.strict = arguments.strict;
  options.rank_regex = arguments.rank_regex;
  Progress progress;
  progress.show("reading traces");
  TraceSet set = TRY(read_traces(arguments.paths, options));
  for (const TraceSet::Failure& failure : set.failures) console.note(failure.error.message);
  return set;
}

}  // namespace lumos
