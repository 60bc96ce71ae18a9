#include "lumos/cli/commands/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "lumos/base/file.h"
#include "lumos/base/json_writer.h"
#include "lumos/cli/arguments/job_arguments.h"
#include "lumos/cli/arguments/output_folder.h"
#include "lumos/cli/schemas/synth_schema.h"
#include "lumos/model/job/job_file.h"
#include "lumos/plan/estimate.h"
#include "lumos/program/synth/synthetic_job.h"
#include "lumos/report/text_table.h"
#include "lumos/trace/write/chrome_writer.h"

namespace lumos {

namespace {

constexpr std::string_view kJobFileName = "job.toml";
constexpr int64_t kMaxSteps = 100;
constexpr int64_t kMaxRanks = 4096;  // files; a folder with more of them is a slip of the keyboard

struct SynthArguments {
  JobArguments common;
  std::string ranks = "stages";
  std::string out;
  int64_t steps = 2;
  int64_t seed = 1;
  double jitter = 0;
  bool force = false;
  bool json = false;
};

/// A rank that was written.
struct WrittenRank {
  int64_t rank = 0;
  std::string file;
  size_t events = 0;
  double step_ms = 0;
};

/// "0,3,8-11" as ascending numbers.
Result<std::vector<int64_t>> parse_ranks(std::string_view text) {
  std::vector<int64_t> ranks;
  const auto number = [](std::string_view digits) -> Result<int64_t> {
    int32_t value = -1;  // No range of these can leave 64 bits.
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size() || value < 0)
      return fail(ErrorKind::kUsage, "synth: --ranks: {} is no rank; write all, stages, or a list as 0,3,8-11", digits);
    return int64_t{value};
  };
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    const size_t dash = item.find('-');
    const int64_t first = TRY(number(item.substr(0, dash)));
    const int64_t last = dash == std::string_view::npos ? first : TRY(number(item.substr(dash + 1)));
    if (last < first)
      return fail(ErrorKind::kUsage, "synth: --ranks: {} ends before it begins; write {}-{}", item, last, first);
    if (last - first >= kMaxRanks) return fail(ErrorKind::kUsage, "synth: --ranks: {} are too many", item);
    for (int64_t rank = first; rank <= last; ++rank) ranks.push_back(rank);
    begin = end + 1;
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

Result<std::vector<int64_t>> ranks_to_write(const std::string& text, const Job& job) {
  if (text == "stages") return ranks_of_stages(job);
  std::vector<int64_t> ranks;
  if (text != "all") ranks = TRY(parse_ranks(text));
  if (ranks.size() > static_cast<size_t>(kMaxRanks) || (text == "all" && job.world_size > kMaxRanks))
    return fail(ErrorKind::kUsage, "synth: --ranks {}: at most {} ranks at once; --ranks stages writes one per stage",
                text, kMaxRanks);
  if (text == "all") ranks = all_ranks(job);
  return ranks;
}

std::string trace_name(int64_t rank) { return fmt::format("rank{}.json.gz", rank); }

/// One job to a folder; what stays there of another, because the user insists, is told.
Status prepare_folder(const SynthArguments& arguments, const std::vector<int64_t>& ranks, const FolderMark& mark,
                      Console& console) {
  std::vector<std::string> files;
  for (int64_t rank : ranks) files.push_back(trace_name(rank));
  const auto staying = TRY(prepare_trace_folder(arguments.out, files, mark, arguments.force));
  if (!staying.empty()) {
    console.note(
        fmt::format("warning: {}: {} other traces stay in it, {} first; commands that are given the folder "
                    "take all for one job",
                    arguments.out, staying.size(), staying.front()));
  }
  return {};
}

double mean_step_ms(const std::vector<WrittenRank>& ranks) {
  double sum = 0;
  for (const WrittenRank& rank : ranks) sum += rank.step_ms;
  return ranks.empty() ? 0 : sum / static_cast<double>(ranks.size());
}

std::string synth_text(const std::vector<WrittenRank>& ranks, double estimate_ms, const std::string& job_file) {
  TextTable table({{"file", Align::kLeft}, {"events"}, {"step ms"}});
  for (const WrittenRank& rank : ranks)
    table.add({rank.file, fmt::format("{}", rank.events), fmt::format("{:.3f}", rank.step_ms)});
  return fmt::format("{}\nstep {:.3f} ms; lumos estimate says {:.3f} ms\nthe job, for --job: {}\n", table.text(),
                     mean_step_ms(ranks), estimate_ms, job_file);
}

std::string synth_json(const std::vector<WrittenRank>& ranks, double estimate_ms, int64_t steps,
                       const std::string& job_file, const Job& job) {
  JsonWriter json;
  json.begin_object().member("schema", "lumos.synth.v1").key("synth").begin_object();
  json.member("step_ms", mean_step_ms(ranks)).member("estimate_ms", estimate_ms).member("steps", steps);
  json.member("job_file", job_file).key("ranks").begin_array();
  for (const WrittenRank& rank : ranks) {
    json.begin_object().member("rank", rank.rank).member("file", rank.file);
    json.member("events", static_cast<uint64_t>(rank.events)).member("step_ms", rank.step_ms).end_object();
  }
  json.end_array().end_object().key("job");
  write_job(json, job);
  json.end_object();
  return json.text() + "\n";
}

Result<SyntheticOptions> options_of(const SynthArguments& arguments, const Job& job) {
  if (arguments.steps < 1 || arguments.steps > kMaxSteps)
    return fail(ErrorKind::kUsage, "synth: --steps must be from 1 to {}, not {}", kMaxSteps, arguments.steps);
  if (!(arguments.jitter >= 0 && arguments.jitter <= 1))  // nan is no number to draw with
    return fail(ErrorKind::kUsage, "synth: --jitter must be from 0 to 1, as in 0.05 for 5 %");
  SyntheticOptions options;
  options.steps = static_cast<int>(arguments.steps);
  options.ranks = TRY(ranks_to_write(arguments.ranks, job));
  options.jitter_sigma = arguments.jitter;
  options.seed = static_cast<uint64_t>(arguments.seed);
  return options;
}

Status run(const SynthArguments& arguments, Console& console) {
  if (arguments.common.job.empty()) return fail(ErrorKind::kUsage, "synth needs --job FILE");
  const auto [job, cluster] = TRY(read_job_and_cluster(arguments.common, console));
  const Estimate expected = TRY(estimate(job, cluster));
  if (!expected.shortage.empty()) console.note(expected.shortage);
  const SyntheticOptions options = TRY(options_of(arguments, job));

  const FolderMark mark{std::string(kJobFileName), job_to_toml(job)};
  TRY_STATUS(prepare_folder(arguments, options.ranks, mark, console));
  SyntheticJob made = TRY(simulate_job(job, cluster, options));
  std::vector<WrittenRank> written;
  for (int64_t rank : options.ranks) {
    const EventTable table = synthetic_table(made, job, cluster, rank, options.steps);
    written.push_back({rank, arguments.out + "/" + trace_name(rank), table.size(), step_ms(table)});
    TRY_STATUS(write_chrome_trace(table, written.back().file, ChromeOptions{}));
  }
  const std::string job_file = fmt::format("{}/{}", arguments.out, mark.name);
  TRY_STATUS(write_file(job_file, mark.text));
  console.print(arguments.json ? synth_json(written, expected.step_ms, arguments.steps, job_file, job)
                               : fold_lines(synth_text(written, expected.step_ms, job_file)));
  return {};
}

}  // namespace

Command synth_command() {
  auto arguments = std::make_shared<SynthArguments>();
  Command command;
  command.name = "synth";
  command.summary = "Write the traces of a job that nobody has run";
  command.description =
      "Makes the program of a training job from a model description, a split and a cluster: operators, launches, "
      "kernels, collectives and messages of every rank, timed by the cluster's constants. Simulates it and writes one "
      "Kineto trace per rank, which every other command reads like a measured one. Ranks that do the same are "
      "simulated once.";
  command.example = "lumos synth --job gpt3-15b --cluster dgx-h100 --out traces && lumos replay traces";
  command.schema = {"lumos.synth.v1", kSynthSchema};
  command.options = {
      {"--job",
       "FILE",
       "The job: Megatron's argument names in TOML or JSON, or the name of one that comes with Lumos",
       &arguments->common.job,
       false,
       {},
       Completion::kFile},
  };
  for (Option& option : cluster_options(arguments->common)) command.options.push_back(std::move(option));
  command.options.push_back({"--ranks", "all|stages|LIST",
                             "Whose traces to write: all, one per pipeline stage (the default), or a list as 0,3,8-11",
                             &arguments->ranks});
  command.options.push_back({"--steps", "N", "How many training steps, 2 by default", &arguments->steps});
  command.options.push_back({"--jitter", "SIGMA",
                             "Let kernels and transfers vary by chance, 0.05 for 5 %; none by default",
                             &arguments->jitter});
  command.options.push_back({"--seed", "S", "Of the jitter, 1 by default", &arguments->seed});
  command.options.push_back({"--out",
                             "DIR",
                             "The folder to write to; made if there is none, and to hold no other traces",
                             &arguments->out,
                             true,
                             {},
                             Completion::kFile});
  command.options.push_back({"--force", "", "Write even beside or over other traces", &arguments->force});
  command.options.push_back({"--json", "", "Print one JSON object instead of text", &arguments->json});
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos
