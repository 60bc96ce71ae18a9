#include "lumos/cli/search.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <unordered_set>

#include "lumos/base/progress.h"
#include "lumos/base/toml.h"
#include "lumos/cli/config_file.h"
#include "lumos/cli/interrupt.h"
#include "lumos/cli/job_arguments.h"
#include "lumos/cli/search_schema.h"
#include "lumos/model/job_file.h"
#include "lumos/report/search_render.h"
#include "lumos/search/results_file.h"

namespace lumos {

namespace {

struct SearchArguments {
  JobArguments common;
  int64_t gpus = 0;
  std::string space, configs, results, shard;
  int64_t top = 10, threads = 0;
  double tokens = 0;
  bool exhaustive = false, progress = false, json = false;
};

/// What to search, whether it came from a space or from a table.
struct Question {
  Enumeration enumeration;
  std::vector<uint32_t> lines;     // of the table
  std::vector<std::string> names;  // settings to show
};

/// Settings that every answer shows; those that a space or a table varies besides come after them.
std::vector<std::string> shown_settings(const std::vector<std::string>& varied) {
  std::vector<std::string> names = {"world_size",
                                    "tensor_model_parallel_size",
                                    "pipeline_model_parallel_size",
                                    "virtual_pipeline_model_parallel_size",
                                    "data_parallel_size",
                                    "micro_batch_size",
                                    "num_microbatches",
                                    "global_batch_size",
                                    "recompute_granularity",
                                    "sequence_parallel",
                                    "use_distributed_optimizer"};
  for (const std::string& name : varied) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

Result<Question> question_of_space(const SearchArguments& arguments, const SplitSettings& settings,
                                   const Cluster& cluster, Console& console) {
  if (arguments.common.job.empty()) return fail(ErrorKind::kUsage, "search needs --job FILE or --configs FILE.csv");
  const JobFile file = TRY(read_job_file(TRY(find_config("jobs", arguments.common.job)), settings.job));
  for (const std::string& warning : file.warnings) console.note(warning);
  SearchSpace space;
  if (!arguments.space.empty()) {
    const Value value = TRY(read_value_file(arguments.space));
    space = TRY(space_from_value(ValueView(value, arguments.space)));
  }
  space = complete_space(std::move(space), file.job, cluster, arguments.gpus);
  Question question;
  question.enumeration = TRY(enumerate_space(space, file.job, cluster));
  std::vector<std::string> varied;
  for (const SearchAxis& axis : space.axes) varied.push_back(axis.name);
  question.names = shown_settings(varied);
  return question;
}

Result<Question> question_of_table(const SearchArguments& arguments, const SplitSettings& settings,
                                   const Cluster& cluster, Console& console) {
  const CommonJob common = TRY(read_common_job(arguments.common, settings));
  const CsvTable table = TRY(read_csv_file(arguments.configs));
  for (const std::string& column : unread_columns(table)) console.note("not read: column " + column);
  const int64_t available = cluster.num_nodes * cluster.gpus_per_node;
  Question question;
  question.names = shown_settings({});
  Enumeration& found = question.enumeration;
  found.combinations = table.rows.size();
  std::unordered_set<std::string> seen;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const Result<MeasuredRun> run = measured_run(table, row, common);
    const bool too_large = run && available > 0 && run->job.world_size > available;
    if (!run || too_large) {
      ++found.illegal;
      const std::string why =
          run ? fmt::format("{}:{}: more GPUs than the cluster has", table.source, run->line) : run.error().message;
      console.note("left out: " + why);
    } else if (!seen.insert(config_id(run->job, "")).second) {
      ++found.repeated;
    } else {
      found.jobs.push_back(run->job);
      question.lines.push_back(run->line);
    }
  }
  return question;
}

Result<Question> read_question(const SearchArguments& arguments, const SplitSettings& settings, const Cluster& cluster,
                               Console& console) {
  if (arguments.configs.empty()) return question_of_space(arguments, settings, cluster, console);
  if (arguments.gpus > 0 || !arguments.space.empty()) {
    return fail(ErrorKind::kUsage, "--configs lists the configurations; --gpus and --space do not go with it");
  }
  return question_of_table(arguments, settings, cluster, console);
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

 private:
  Progress line_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

Result<SearchResult> run_search(const SearchArguments& arguments, const Shard& shard,
                                const std::vector<Configuration>& configurations, const Cluster& cluster,
                                const std::vector<std::string>& names, std::optional<ResultsFile>& file) {
  const InterruptWatch interrupt;
  std::optional<SearchProgress> progress;
  if (arguments.progress) progress.emplace();
  SearchOptions options;
  options.keep = arguments.top == 0 ? configurations.size() : static_cast<size_t>(arguments.top);
  options.exhaustive = arguments.exhaustive;
  options.threads = static_cast<int>(arguments.threads);
  options.shard = shard;
  options.stopped = [&] { return interrupt.raised(); };
  options.report = [&](const SearchState& state) {
    if (progress) progress->show(state);
  };
  const KnownOutcomes nothing;
  return search(configurations, cluster, file ? file->known() : nothing, options,
                [&](const std::vector<Evaluated>& news) -> Status {
                  if (!file) return {};
                  std::vector<std::string> lines;
                  for (const Evaluated& each : news) {
                    lines.push_back(result_line(each.outcome, configurations[each.index].job, names));
                  }
                  return file->append(lines);
                });
}

Status run(const SearchArguments& arguments, Console& console) {
  if (arguments.top < 0) return fail(ErrorKind::kUsage, "--top {} must be 0 or more", arguments.top);
  if (arguments.gpus < 0) return fail(ErrorKind::kUsage, "--gpus {} must be 1 or more", arguments.gpus);
  if (arguments.tokens < 0) return fail(ErrorKind::kUsage, "--tokens {} must be 0 or more", arguments.tokens);
  const SplitSettings settings = TRY(split_settings(arguments.common.settings));
  const Cluster cluster = TRY(read_cluster(arguments.common, settings));
  const Shard shard = arguments.shard.empty() ? Shard{} : TRY(parse_shard(arguments.shard));
  const Question question = TRY(read_question(arguments, settings, cluster, console));
  std::vector<Configuration> configurations =
      make_configurations(question.enumeration.jobs, cluster, static_cast<int>(arguments.threads));
  for (size_t i = 0; i < question.lines.size(); ++i) configurations[i].line = question.lines[i];
  std::optional<ResultsFile> file = TRY(open_results(arguments, shard, console));
  const SearchResult result = TRY(run_search(arguments, shard, configurations, cluster, question.names, file));
  if (file && result.complete) TRY_STATUS(file->finish());
  const SearchAnswer answer{configurations,       result,         cluster,
                            question.enumeration, question.names, static_cast<size_t>(arguments.top),
                            arguments.tokens};
  console.print(arguments.json ? search_json(answer) + "\n" : search_text(answer));
  if (result.complete) return {};
  return fail(ErrorKind::kInterrupted, "interrupted{}", file ? "; the same command goes on from here" : "");
}

std::vector<Option> search_options(SearchArguments& arguments) {
  return {
      {"--job",
       "FILE",
       "The job to change: Megatron's argument names in TOML or JSON, or the name of one that comes with Lumos",
       &arguments.common.job,
       false,
       {},
       Completion::kFile},
      {"--gpus", "N", "How many GPUs; the job's own number when left out", &arguments.gpus},
      {"--space",
       "FILE",
       "Settings to try, each with a list of values, in TOML or JSON; the usual ones are tried of what it leaves out",
       &arguments.space,
       false,
       {},
       Completion::kFile},
      {"--configs",
       "FILE.csv",
       "Search among the rows of a table instead; --job then holds what the rows do not say",
       &arguments.configs,
       false,
       {},
       Completion::kFile},
      {"--top", "K", "How many of the shortest steps to list; 0 means all", &arguments.top},
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
      {"--threads", "N", "Workers; 0 means all processors", &arguments.threads},
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
      "job's "
      "global batch, leaves out what does not fit and what a lower bound shows to be no better, and estimates the rest "
      "as 'lumos estimate' does. Lists the shortest steps and those that no other beats in step time, memory and GPUs. "
      "With --results a search that was interrupted goes on where it was; with --shard several processes or machines "
      "share one, and 'lumos merge' joins their parts.";
  command.example = "lumos search --job gpt3-175b --cluster dgx-h100 --gpus 512 --set global_batch_size=1536";
  command.schema = {"lumos.search.v1", kSearchSchema};
  command.options = search_options(*arguments);
  for (Option& option : cluster_options(arguments->common)) command.options.push_back(std::move(option));
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos
