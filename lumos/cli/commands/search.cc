#include "lumos/cli/commands/search.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "lumos/base/file.h"
#include "lumos/base/progress.h"
#include "lumos/cli/arguments/interrupt.h"
#include "lumos/cli/commands/search_question.h"
#include "lumos/cli/schemas/search_schema.h"
#include "lumos/report/page/search_page.h"
#include "lumos/report/text/search_render.h"
#include "lumos/report/text_table.h"
#include "lumos/search/results_file.h"

namespace lumos {

namespace {

/// The estimate's best may be further down once simulated: so many estimates are kept for each that is simulated.
constexpr size_t kKeptPerSimulated = 4;

constexpr int64_t kAsTheJob = INT64_MIN;  // --gpus is not given; 0 is no number of GPUs

struct SearchArguments {
  int64_t gpus = kAsTheJob;
  QuestionArguments question;
  std::string results, shard, report;
  int64_t top = 10, simulate = 10;
  double tokens = 0;
  bool exhaustive = false, progress = false, json = false;
};

/// Errors: kFailed when no configuration is legal or fits, with what is nearest to it.
Status check_found(const SearchAnswer& answer) {
  const std::vector<Configuration>& all = answer.configurations;
  if (all.empty()) {
    return fail(ErrorKind::kFailed, "none of {} combinations is legal{}{}", answer.enumeration.combinations,
                answer.enumeration.example.empty() ? "" : "; the first: ", answer.enumeration.example);
  }
  if (std::any_of(all.begin(), all.end(), [](const Configuration& one) { return one.fits; })) return {};
  const auto leanest = std::min_element(
      all.begin(), all.end(), [](const Configuration& a, const Configuration& b) { return a.peak_gib < b.peak_gib; });
  const std::string options = options_text(leanest->job);
  return fail(
      ErrorKind::kFailed,
      "none of {} legal configurations fits: the leanest, {}{} with micro-batches of {}, needs {:.1f} GiB of the "
      "{:.1f} GiB that a GPU has; take more GPUs, larger ones, or a smaller model",
      all.size(), split_text(leanest->job), options.empty() ? "" : " (" + options + ")", leanest->job.micro_batch_size,
      leanest->peak_gib, answer.anchor.cluster.gpu.memory_gib);
}

/// Where results go while they come, and when they are whole. A part of a search gets its name at the end only, so that
/// whoever joins parts sees whole ones.
Result<std::optional<ResultsFile>> open_results(const SearchArguments& arguments, const Shard& shard,
                                                Console& console) {
  if (arguments.results.empty()) {
    if (shard.count > 1) return fail(ErrorKind::kUsage, "--shard needs --results FILE.jsonl to write its part beside");
    return std::optional<ResultsFile>();
  }
  const std::string final_path = shard.count > 1 ? shard_path(arguments.results, shard) : arguments.results;
  const std::string path = shard.count > 1 ? final_path + ".part" : final_path;
  ResultsFile file = TRY(ResultsFile::open(path, final_path));
  if (file.dropped_last()) console.note(path + ": the last line was damaged and is computed again");
  if (!file.known().empty()) console.note(fmt::format("{}: {} results are there already", path, file.known().size()));
  return std::optional<ResultsFile>(std::move(file));
}

/// One line for somebody who waits.
class SearchProgress {
 public:
  void show(const SearchState& state) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    const double left_s = spent.count() * static_cast<double>(state.total - state.done) /
                          static_cast<double>(std::max<size_t>(state.done, 1));
    const std::string best =
        state.best_step_ms > 0 ? fmt::format("best {:.1f} ms", state.best_step_ms) : "none fits yet";
    line_.show(fmt::format("{} of {} configurations, {}, {:.0f} s left", state.done, state.total, best, left_s));
  }
  void show_simulated(size_t done, size_t total) {
    line_.show(fmt::format("{} of the best {} simulated", done, total));
  }

 private:
  Progress line_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Saves outcomes as lines of the results file, if there is one.
SaveOutcomes save_to(std::optional<ResultsFile>& file, const std::vector<Configuration>& configurations,
                     const std::vector<std::string>& names) {
  return [&](const std::vector<Evaluated>& news) -> Status {
    if (!file) return {};
    std::vector<std::string> lines;
    for (const Evaluated& each : news) {
      lines.push_back(result_line(each.outcome, configurations[each.index].job, names));
    }
    return file->append(lines);
  };
}

/// Estimates, then simulates the best where that is possible. A part of a search only estimates: which are the best is
/// known when all parts are.
Result<SearchResult> run_search(const SearchArguments& arguments, const Shard& shard, const SearchQuestion& question,
                                const std::vector<Configuration>& configurations, std::optional<ResultsFile>& file,
                                Console& console) {
  // Inside another program, signals are that program's.
  std::optional<InterruptWatch> interrupt;
  if (!console.stop.stop_possible()) interrupt.emplace();
  std::optional<SearchProgress> progress;
  if (arguments.progress) progress.emplace();
  const auto simulated = question.simulate ? static_cast<size_t>(arguments.simulate) : 0;
  SearchOptions options;
  options.keep = arguments.top == 0 ? configurations.size() : static_cast<size_t>(arguments.top);
  options.keep = std::max(options.keep, kKeptPerSimulated * simulated);
  options.exhaustive = arguments.exhaustive;
  options.threads = static_cast<int>(arguments.question.read.threads);
  options.shard = shard;
  options.stopped = [&] { return interrupt ? interrupt->raised() : console.stop.stop_requested(); };
  options.report = [&](const SearchState& state) {
    if (progress) progress->show(state);
  };
  const KnownOutcomes nothing;
  const KnownOutcomes& known = file ? file->known() : nothing;
  const SaveOutcomes save = save_to(file, configurations, question.names);
  SearchResult result = TRY(search(configurations, question.anchor, known, options, save));
  if (simulated == 0 || shard.count > 1 || !result.complete) return result;
  RefineOptions refining;
  refining.count = simulated;
  refining.stopped = options.stopped;
  refining.report = [&](size_t done, size_t total) {
    if (progress) progress->show_simulated(done, total);
  };
  const std::vector<Refusal> refusals =
      TRY(refine(result, configurations, question.anchor, known, refining, question.simulate, save));
  for (const Refusal& refusal : refusals) console.note("not simulated: " + refusal.reason);
  return result;
}

Status check_arguments(const SearchArguments& arguments) {
  const auto at_least = [](std::string_view name, double value, int least) -> Status {
    if (value >= least) return {};
    return fail(ErrorKind::kUsage, "{} {} must be {} or more", name, value, least);
  };
  TRY_STATUS(at_least("--top", static_cast<double>(arguments.top), 0));
  TRY_STATUS(at_least("--simulate", static_cast<double>(arguments.simulate), 0));
  if (arguments.gpus != kAsTheJob) TRY_STATUS(at_least("--gpus", static_cast<double>(arguments.gpus), 1));
  TRY_STATUS(at_least("--samples-per-gpu", static_cast<double>(arguments.question.samples_per_gpu), 0));
  return at_least("--tokens", arguments.tokens, 0);
}

Status run(SearchArguments arguments, Console& console) {
  TRY_STATUS(check_arguments(arguments));
  if (arguments.gpus != kAsTheJob) arguments.question.gpus = arguments.gpus;
  const Shard shard = arguments.shard.empty() ? Shard{} : TRY(parse_shard(arguments.shard));
  const SearchQuestion question = TRY(read_question(arguments.question, console));
  std::vector<Configuration> configurations = make_configurations(question.enumeration.jobs, question.anchor,
                                                                  static_cast<int>(arguments.question.read.threads));
  for (size_t i = 0; i < question.lines.size(); ++i) configurations[i].line = question.lines[i];
  std::optional<ResultsFile> file = TRY(open_results(arguments, shard, console));
  const SearchResult result = TRY(run_search(arguments, shard, question, configurations, file, console));
  if (file && result.complete) TRY_STATUS(file->finish());
  const SearchAnswer answer{configurations,       result,         question.anchor,
                            question.enumeration, question.names, static_cast<size_t>(arguments.top),
                            arguments.tokens,     question.base,  question.base_ms};
  if (!arguments.report.empty()) TRY_STATUS(write_file(arguments.report, search_page(answer)));
  console.print(arguments.json ? search_json(answer) + "\n" : fold_lines(search_text(answer)));
  if (!result.complete)
    return fail(ErrorKind::kInterrupted, "interrupted{}", file ? "; the same command goes on from here" : "");
  // A part of a search may well have nothing; the whole has an answer, or says why not.
  return shard.count > 1 ? Status() : check_found(answer);
}

std::vector<Option> search_options(SearchArguments& arguments) {
  return {
      {"--job",
       "FILE",
       "The job to change: Megatron's argument names in TOML or JSON, or the name of one that comes with Lumos",
       &arguments.question.common.job,
       false,
       {},
       Completion::kFile},
      {"--gpus", "N", "How many GPUs; the job's own number when left out", &arguments.gpus},
      {"--samples-per-gpu", "N", "Let the global batch be N times the GPUs; the job's batch when left out",
       &arguments.question.samples_per_gpu},
      {"--space",
       "FILE",
       "Settings to try, each with a list of values, in TOML or JSON; the usual ones are tried of what it leaves out",
       &arguments.question.space,
       false,
       {},
       Completion::kFile},
      {"--configs",
       "FILE.csv",
       "Search among the rows of a table instead; --job then holds what the rows do not say",
       &arguments.question.configs,
       false,
       {},
       Completion::kFile},
      {"--top", "K", "How many of the shortest steps to list; 0 means all", &arguments.top},
      {"--simulate", "K",
       "How many of the best to simulate in full; 0: estimates only. Up to 4 K, while an estimate is below the best "
       "simulated one",
       &arguments.simulate},
      {"--report",
       "FILE.html",
       "Write a page with the front, the table of configurations and the best one beside the base",
       &arguments.report,
       false,
       {},
       Completion::kFile},
      {"--tokens", "N", "Cost a training run of so many tokens, such as 3e11", &arguments.tokens},
      {"--results",
       "FILE.jsonl",
       "Append each result to this file, and go on where it ends",
       &arguments.results,
       false,
       {},
       Completion::kFile},
      {"--shard", "I/N", "Do part I of N only, or the part that 'auto' finds in the environment", &arguments.shard},
      {"--exhaustive", "", "Evaluate every legal configuration, also what does not fit", &arguments.exhaustive},
      {"--progress", "", "Show on a terminal how far the search is", &arguments.progress},
      {"--json", "", "Print one JSON object instead of text", &arguments.json},
  };
}

}  // namespace

Command search_command() {
  auto arguments = std::make_shared<SearchArguments>();
  Command command;
  command.name = "search";
  command.summary = "The fastest configurations of a job on so many GPUs";
  command.description =
      "Goes through the legal combinations of parallel sizes, micro-batch size, recomputation and the rest for the "
      "job's global batch, leaves out what does not fit and what a lower bound shows to be no better, and estimates "
      "the rest as 'lumos estimate' does; the best are then simulated in full, as 'lumos synth' does. Given the traces "
      "of a job, estimates start from what was measured, and the best are predicted as 'lumos predict --set' does. "
      "Lists the shortest steps and those that no other beats in step time, memory and GPUs. With --results a search "
      "that was interrupted goes on where it was; with --shard several processes or machines share one, and 'lumos "
      "merge' joins their parts.";
  command.example = "lumos search --job gpt3-175b --cluster dgx-h100 --gpus 512 --set global_batch_size=1536";
  command.schema = {"lumos.search.v1", kSearchSchema};
  command.options = search_options(*arguments);
  for (Option& option : cluster_options(arguments->question.common)) {
    option.required = false;  // traces tell which machine they are from
    command.options.push_back(std::move(option));
  }
  add_read_options(command, arguments->question.read);
  command.options.front().required = false;
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos
