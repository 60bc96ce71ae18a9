#include "lumos/cli/arguments/read_arguments.h"

#include <algorithm>

#include "lumos/base/progress.h"
#include "lumos/graph/job/graph_file.h"
#include "lumos/trace/sets/trace_warnings.h"

namespace lumos {

namespace {

constexpr int64_t kMaxThreads = 1024;  // more than any machine has; a larger number is a slip of the keyboard

Result<ReadOptions> read_options(const ReadArguments& arguments, const Console& console) {
  if (arguments.threads < 0 || arguments.threads > kMaxThreads) {
    return fail(ErrorKind::kUsage, "--threads must be from 0 to {}, not {}", kMaxThreads, arguments.threads);
  }
  ReadOptions options;
  options.threads = static_cast<int>(arguments.threads);
  options.strict = arguments.strict;
  options.rank_regex = arguments.rank_regex;
  options.stop = console.stop;
  return options;
}

/// What could not be read, and what a user must know of what could.
void note_faults(const std::vector<TraceSet::Failure>& failures, const std::vector<const EventTable*>& tables,
                 Console& console) {
  for (const TraceSet::Failure& failure : failures)
    console.note(fmt::format("warning: left out: {}", failure.error.message));
  for (const std::string& warning : trace_warnings(tables)) console.note("warning: " + warning);
}

std::vector<const EventTable*> tables_of(const LinkedJob& job) {
  std::vector<const EventTable*> tables;
  for (const RankTasks& rank : job.linked.graph.ranks) tables.push_back(rank.table.get());
  return tables;
}

}  // namespace

void add_read_options(Command& command, ReadArguments& arguments) {
  command.options.insert(command.options.begin(),
                         {"PATH",
                          "",
                          "Trace files (.json, .json.gz, .json.zst), folders of them, '-' for stdin, or a graph file",
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
  const ReadOptions options = TRY(read_options(arguments, console));
  Progress progress;
  progress.show("reading traces");
  if (std::any_of(arguments.paths.begin(), arguments.paths.end(), is_graph_file)) {
    JobOptions job_options;
    job_options.read = options;
    const LinkedJob job = TRY(load_job(arguments.paths, job_options));
    TraceSet set;
    for (const RankTasks& rank : job.linked.graph.ranks) set.tables.push_back(*rank.table);
    note_faults(set.failures, tables_of(job), console);
    return set;
  }
  TraceSet set = TRY(read_traces(arguments.paths, options));
  std::vector<const EventTable*> tables;
  for (const EventTable& table : set.tables) tables.push_back(&table);
  note_faults(set.failures, tables, console);
  return set;
}

Result<LinkedJob> load_for(const ReadArguments& arguments, const BuildOptions& build, Console& console) {
  JobOptions options;
  options.read = TRY(read_options(arguments, console));
  options.build = build;
  Progress progress;
  progress.show("reading and linking traces");
  LinkedJob job = TRY(load_job(arguments.paths, options));
  note_faults(job.failures, tables_of(job), console);
  return job;
}

Status check_something_ran(const LinkedJob& job) {
  const auto& ranks = job.linked.graph.ranks;
  const bool ran = std::any_of(ranks.begin(), ranks.end(), [](const RankTasks& rank) { return !rank.steps.empty(); });
  if (ran || ranks.empty()) return {};
  return fail(ErrorKind::kFailed, "{}{}: nothing ran in {}, so there is no step to look at",
              ranks.front().table->info.file, ranks.size() > 1 ? " and the other ranks" : "",
              ranks.size() > 1 ? "these traces" : "this trace");
}

}  // namespace lumos
