#include "lumos/cli/commands/convert.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "lumos/cli/arguments/read_arguments.h"
#include "lumos/graph/job/anonymise_job.h"
#include "lumos/graph/job/chakra_writer.h"
#include "lumos/graph/job/graph_file.h"
#include "lumos/report/files/trace_files.h"
#include "lumos/sim/simulate.h"
#include "lumos/trace/sets/anonymise.h"

namespace lumos {

namespace {

constexpr std::string_view kGraphFormat = ".lumos";

struct ConvertArguments {
  ReadArguments read;
  std::string out;
  std::string chakra;
  bool replayed = false;
  bool anonymise = false;
};

/// What is asked for must make sense before anything is read.
Status check(const ConvertArguments& arguments) {
  if (!arguments.chakra.empty() && (arguments.anonymise || arguments.replayed)) {
    return fail(ErrorKind::kUsage, "convert: --chakra takes neither --anonymize nor --replayed");
  }
  if (arguments.out.empty()) {
    if (!arguments.chakra.empty()) return {};
    return fail(ErrorKind::kUsage, "convert: say where to write, with --out FILE or --chakra DIR");
  }
  const std::string& path = arguments.out;
  if (arguments.replayed && path.ends_with(kGraphFormat)) {
    return fail(ErrorKind::kUsage, "convert: --replayed writes traces; a graph file holds the recorded run");
  }
  static constexpr std::array<std::string_view, 5> kFormats = {".json", ".json.gz", ".pftrace", ".pftrace.gz",
                                                               kGraphFormat};
  const bool known =
      std::any_of(kFormats.begin(), kFormats.end(), [&](std::string_view format) { return path.ends_with(format); });
  if (known) return {};
  return fail(ErrorKind::kUsage,
              "convert: --out {}: the name must end with .json, .json.gz, .pftrace, .pftrace.gz or .lumos", path);
}

/// The tables of the traces, or of the job in a graph file.
Result<std::vector<EventTable>> measured_tables(const ReadArguments& arguments, Console& console) {
  if (arguments.paths.size() != 1 || !is_graph_file(arguments.paths[0])) {
    return TRY(read_for(arguments, console)).tables;
  }
  const LinkedJob job = TRY(load_for(arguments, BuildOptions{}, console));
  std::vector<EventTable> tables;
  for (const RankTasks& rank : job.linked.graph.ranks) tables.push_back(*rank.table);
  return tables;
}

Result<std::vector<std::string>> convert_measured(const ConvertArguments& arguments, Console& console) {
  std::vector<EventTable> tables = TRY(measured_tables(arguments.read, console));
  Anonymiser anonymiser;
  if (arguments.anonymise) {
    for (const EventTable& table : tables) anonymiser.learn(table);
  }
  return write_trace_files(
      tables.size(),
      [&](size_t i) {
        EventTable table = std::move(tables[i]);
        return measured_rank_trace(arguments.anonymise ? anonymiser.replace(table) : std::move(table));
      },
      arguments.out);
}

Result<std::vector<std::string>> convert_replayed(const ConvertArguments& arguments, Console& console) {
  const LinkedJob job = TRY(load_for(arguments.read, BuildOptions{}, console));
  const ExecGraph& graph = job.linked.graph;
  const Timeline timeline = simulate(graph);
  Anonymiser anonymiser;
  if (arguments.anonymise) {
    for (const RankTasks& rank : graph.ranks) anonymiser.learn(*rank.table);
  }
  return write_trace_files(
      graph.ranks.size(),
      [&](size_t r) {
        RankTrace trace = replayed_rank_trace(graph, timeline, static_cast<uint32_t>(r));
        if (arguments.anonymise) trace.table = anonymiser.replace(trace.table);
        return trace;
      },
      arguments.out);
}

Result<std::vector<std::string>> convert_to_graph_file(const ConvertArguments& arguments, Console& console) {
  LinkedJob job = TRY(load_for(arguments.read, BuildOptions{}, console));
  if (arguments.anonymise) job = anonymised(std::move(job));
  TRY_STATUS(write_graph_file(job, arguments.out));
  return std::vector<std::string>{arguments.out};
}

Result<std::vector<std::string>> convert_to_chakra(const ConvertArguments& arguments, Console& console) {
  return write_chakra_traces(TRY(load_for(arguments.read, BuildOptions{}, console)), arguments.chakra);
}

Status run(const ConvertArguments& arguments, Console& console) {
  TRY_STATUS(check(arguments));
  std::vector<std::string> files;
  if (!arguments.chakra.empty()) files = TRY(convert_to_chakra(arguments, console));
  if (!arguments.out.empty()) {
    const auto convert = arguments.out.ends_with(kGraphFormat) ? convert_to_graph_file
                         : arguments.replayed                  ? convert_replayed
                                                               : convert_measured;
    auto more = TRY(convert(arguments, console));
    files.insert(files.end(), more.begin(), more.end());
  }
  for (const std::string& file : files) console.print(file + "\n");
  return {};
}

}  // namespace

Command convert_command() {
  auto arguments = std::make_shared<ConvertArguments>();
  Command command;
  command.name = "convert";
  command.summary = "Write traces in another format, replayed, or without names";
  command.description =
      "Writes what Lumos reads of the traces as Chrome JSON, one file per rank (FILE-rankN if there are several), as "
      "one Perfetto file of all ranks, with curves of utilisation and bandwidth, or as a graph file of the linked job, "
      "and prints the files' names. With "
      "--anonymize, paths, file names, hosts, addresses and users are replaced by numbered words, the same name by the "
      "same word in all ranks; kernels, operators, process groups and times stay. Look through the result before you "
      "share it: a name that looks like neither is not found.";
  command.example = "lumos convert traces/ --out shared.json.gz --anonymize";
  command.options = {
      {"--out",
       "FILE",
       "Where to write; its end tells the format: .json, .json.gz, .pftrace, .pftrace.gz or .lumos",
       &arguments->out,
       false,
       {},
       Completion::kFile},
      {"--chakra",
       "DIR",
       "Write Chakra execution traces, trace.RANK.et, and comm_groups.json into this folder, for ASTRA-sim",
       &arguments->chakra,
       false,
       {},
       Completion::kFile},
      {"--replayed", "", "Write the replayed steps instead of the recorded run", &arguments->replayed},
      {"--anonymize", "", "Replace names of files, hosts, users and paths", &arguments->anonymise},
  };
  add_read_options(command, arguments->read);
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos
