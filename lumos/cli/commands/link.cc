#include "lumos/cli/commands/link.h"

#include <fmt/format.h>

#include <memory>

#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/cli/schemas/link_schema.h"
#include "lumos/graph/job/graph_file.h"
#include "lumos/report/text/link_report.h"
#include "lumos/report/text_table.h"
#include "lumos/search/shard.h"

namespace lumos {

namespace {

struct LinkArguments {
  ReadArguments read;
  std::string out, shard;
  bool json = false;
};

/// Turns the arguments into those of one part: every N-th trace, and a file of its own.
Status take_part(LinkArguments& arguments) {
  if (arguments.out.empty()) return fail(ErrorKind::kUsage, "--shard needs --out FILE to write its part beside");
  const Shard shard = TRY(parse_shard(arguments.shard));
  std::vector<std::string> files = TRY(find_traces(arguments.read.paths));
  arguments.read.paths.clear();
  for (size_t i = 0; i < files.size(); ++i) {
    if (shard.has(i)) arguments.read.paths.push_back(std::move(files[i]));
  }
  if (arguments.read.paths.empty()) {
    return fail(ErrorKind::kUsage, "--shard {}/{}: there are only {} traces", shard.index, shard.count, files.size());
  }
  arguments.out = shard_path(arguments.out, shard);
  return {};
}

/// A trace without a rank gets a number among those it is read with, which a part does not know.
Status check_ranks(const LinkedJob& job) {
  for (const RankTasks& rank : job.linked.graph.ranks) {
    if (rank.table->info.rank_source != TraceInfo::RankSource::kUnknown) continue;
    return fail(ErrorKind::kUsage, "{}: the trace does not say its rank; with --shard, tell it with --rank-regex",
                rank.table->info.file);
  }
  return {};
}

Status run(LinkArguments arguments, Console& console) {
  const bool is_part = !arguments.shard.empty();
  if (is_part) TRY_STATUS(take_part(arguments));
  const LinkedJob job = TRY(load_for(arguments.read, BuildOptions{}, console));
  if (is_part) TRY_STATUS(check_ranks(job));
  if (!arguments.out.empty()) TRY_STATUS(write_graph_file(job, arguments.out));
  const LinkReport report = link_report(job);
  console.print(arguments.json ? link_json(report) + "\n" : fold_lines(link_text(report)));
  return {};
}

}  // namespace

Command link_command() {
  auto arguments = std::make_shared<LinkArguments>();
  Command command;
  command.name = "link";
  command.summary = "Link the ranks of a job into one graph, and keep it in a file";
  command.description =
      "Matches collectives and transfers across ranks, aligns the ranks' clocks, and splits every collective into "
      "waiting and transfer, with bandwidth by group. With --out, the linked job is written to a graph file, which "
      "every command takes in place of the traces: nothing is parsed again.";
  command.example = "lumos link traces/ --out job.lumos && lumos replay job.lumos";
  command.schema = {"lumos.link.v1", kLinkSchema};
  command.options = {
      {"--out", "FILE", "Write the linked job to this graph file", &arguments->out, false, {}, Completion::kFile},
      {"--shard", "I/N",
       "Read only part I of N of the traces, or the part that 'auto' finds in the environment; 'lumos merge' joins the "
       "graph files",
       &arguments->shard},
      {"--json", "", "Print one JSON object instead of text", &arguments->json},
  };
  add_read_options(command, arguments->read);
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos
