#include "lumos/cli/commands/merge.h"

#include <algorithm>
#include <memory>

#include "lumos/base/file.h"
#include "lumos/graph/job/graph_file.h"
#include "lumos/graph/job/job.h"
#include "lumos/report/text/estimate_render.h"
#include "lumos/search/results_file.h"

namespace lumos {

namespace {

struct MergeArguments {
  std::vector<std::string> parts;
  std::string out = "-";
};

/// The first letters of a line tell what wrote it.
bool holds_estimates(const std::string& path) {
  const Result<std::string> content = read_file(path);
  return content && content->starts_with("{\"line\":");
}

Status run(const MergeArguments& arguments, Console& console) {
  const std::vector<std::string>& parts = arguments.parts;
  if (std::any_of(parts.begin(), parts.end(), is_graph_file)) {
    if (arguments.out == "-") return fail(ErrorKind::kUsage, "merging graph files needs --out FILE");
    return write_graph_file(TRY(load_job(parts, {})), arguments.out);
  }
  if (std::any_of(parts.begin(), parts.end(), holds_estimates)) {
    return write_file(arguments.out, TRY(join_estimates(parts)) + "\n");
  }
  std::vector<std::string> dropped;
  const std::string merged = TRY(merge_results(parts, &dropped));
  if (merged.empty() && !dropped.empty()) {
    return fail(ErrorKind::kUnreadable, "{}: its only line is damaged, and no other part has a result: nothing to join",
                dropped.front());
  }
  for (const std::string& path : dropped) console.note(path + ": the last line is damaged and was left out");
  return write_file(arguments.out, merged);
}

}  // namespace

Command merge_command() {
  auto arguments = std::make_shared<MergeArguments>();
  Command command;
  command.name = "merge";
  command.summary = "Join what the parts of a search, of estimates or of a link have written";
  command.description =
      "Joins the files that commands with --shard have written, in any order. Results of a search become one file that "
      "'lumos search --results' reads, each configuration once, sorted by id. Estimates become what 'lumos estimate "
      "--jobs --json' prints. Graph files become one job, with its ranks linked to each other.";
  command.example = "lumos merge results.*-of-8.jsonl --out results.jsonl";
  command.options = {
      {"PART", "", "Results files, estimates or graph files", &arguments->parts, true, {}, Completion::kFile},
      {"--out", "FILE", "Where the joined results go; - is stdout", &arguments->out, false, {}, Completion::kFile},
  };
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos
