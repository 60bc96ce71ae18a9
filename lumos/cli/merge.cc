#include "lumos/cli/merge.h"

#include <memory>

#include "lumos/base/file.h"
#include "lumos/search/results_file.h"

namespace lumos {

namespace {

struct MergeArguments {
  std::vector<std::string> parts;
  std::string out = "-";
};

Status run(const MergeArguments& arguments, Console& console) {
  std::vector<std::string> dropped;
  const std::string merged = TRY(merge_results(arguments.parts, &dropped));
  for (const std::string& path : dropped) console.note(path + ": the last line is damaged and was left out");
  return write_file(arguments.out, merged);
}

}  // namespace

Command merge_command() {
  auto arguments = std::make_shared<MergeArguments>();
  Command command;
  command.name = "merge";
  command.summary = "Join the results of a search's parts";
  command.description =
      "Joins the results files that searches with --shard have written, in any order, into one that 'lumos search "
      "--results' reads. Each configuration is there once, sorted by id.";
  command.example = "lumos merge results.*-of-8.jsonl --out results.jsonl";
  command.options = {
      {"PART", "", "Results files", &arguments->parts, true, {}, Completion::kFile},
      {"--out", "FILE", "Where the joined results go; - is stdout", &arguments->out, false, {}, Completion::kFile},
  };
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos
