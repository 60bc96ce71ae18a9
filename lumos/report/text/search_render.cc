#include "lumos/report/text/search_render.h"

#include <algorithm>

#include "lumos/base/json_writer.h"
#include "lumos/report/text_table.h"
#include "lumos/search/results_file.h"

namespace lumos {
namespace {

const Job& job_of(const SearchAnswer& answer, const Evaluated& evaluated) {
  return answer.configurations[evaluated.index].job;
}

std::string large_number(double value) {
  if (value >= 1e7) return fmt::format("{:.3g}M", value / 1e6);
  return fmt::format("{:.0f}", value);
}

/// What was only estimated is marked where the best were simulated.
std::string step_text(const SearchAnswer& answer, const Outcome& outcome) {
  return (answer.result.simulated > 0 && !outcome.simulated ? "~" : "") + human_ms(outcome.step_ms);
}

std::string percent_of(double part, double whole) { return fmt::format("{:.1f}", 100 * part / whole); }

std::string configurations_table(const SearchAnswer& answer, const std::vector<size_t>& which) {
  TextTable table({{"TPxPPxDP", Align::kLeft},
                   {"VP"},
                   {"MB"},
                   {"options", Align::kLeft},
                   {"step ms"},
                   {"MFU %"},
                   {"GiB"},
                   {"bub %"},
                   {"comm %"},
                   {answer.tokens > 0 ? "GPU-h" : "tok/s"}});
  for (const size_t i : which) {
    const Evaluated& evaluated = answer.result.evaluated[i];
    const Job& job = job_of(answer, evaluated);
    const Outcome& outcome = evaluated.outcome;
    table.add({split_text(job), std::to_string(job.virtual_pipeline_model_parallel_size),
               std::to_string(job.micro_batch_size), options_text(job), step_text(answer, outcome),
               fmt::format("{:.1f}", outcome.mfu_pct),
               fmt::format("{:.1f}{}", outcome.peak_gib, outcome.fits ? "" : "!"),
               percent_of(outcome.bubble_ms, outcome.step_ms), percent_of(outcome.exposed_comm_ms, outcome.step_ms),
               large_number(answer.tokens > 0 ? gpu_hours(outcome, answer.tokens) : outcome.tokens_per_s)});
  }
  return table.text();
}

/// Indexes into `evaluated` of the rows to list.
std::vector<size_t> listed(const SearchAnswer& answer) {
  const size_t all = answer.result.evaluated.size();
  std::vector<size_t> indexes(answer.top == 0 ? all : std::min(all, answer.top));
  for (size_t i = 0; i < indexes.size(); ++i) indexes[i] = i;
  return indexes;
}

/// Of the front as many as of the best, spread evenly from the fastest to the smallest.
std::vector<size_t> listed_front(const SearchAnswer& answer) {
  const std::vector<size_t>& front = answer.result.front;
  if (answer.top == 0 || front.size() <= answer.top) return front;
  if (answer.top == 1) return {front.front()};
  std::vector<size_t> indexes;
  for (size_t i = 0; i < answer.top; ++i) indexes.push_back(front[i * (front.size() - 1) / (answer.top - 1)]);
  return indexes;
}

std::string counts_text(const SearchAnswer& answer) {
  const SearchResult& result = answer.result;
  std::string text =
      fmt::format("{} combinations, {} legal; ", answer.enumeration.combinations, answer.configurations.size());
  text += fmt::format("{} evaluated, {} do not fit, {} ruled out by a bound\n", result.evaluated.size(),
                      result.does_not_fit, result.pruned);
  if (answer.base && answer.base_ms > 0) {
    text += fmt::format("traced: {} on {} GPUs, {} ms measured, global batch {}\n", split_text(*answer.base),
                        answer.base->world_size, human_ms(answer.base_ms), answer.base->global_batch_size);
  }
  if (!result.complete) text += "interrupted: this is what was found until then\n";
  return text;
}

/// "300 billion tokens with the best: 1234 GPU-hours, 2468 at 2 per GPU-hour".
std::string budget_text(const SearchAnswer& answer, const Outcome& best) {
  if (answer.tokens <= 0) return "";
  const double hours = gpu_hours(best, answer.tokens);
  std::string text = fmt::format("\n{:g} billion tokens with the best: {:.1f} days, {:.0f} GPU-hours",
                                 answer.tokens / 1e9, hours / static_cast<double>(best.num_gpus) / 24, hours);
  if (answer.anchor.cluster.price_per_gpu_hour > 0) {
    text += fmt::format(", {:.0f} at {:g} per GPU-hour", training_price(best, answer.tokens, answer.anchor.cluster),
                        answer.anchor.cluster.price_per_gpu_hour);
  }
  return text + "\n";
}

void write_counts(JsonWriter& json, const SearchAnswer& answer) {
  const auto count = [&](std::string_view name, size_t value) { json.member(name, static_cast<uint64_t>(value)); };
  json.key("counts").begin_object(JsonWriter::Layout::kInline);
  count("combinations", answer.enumeration.combinations);
  count("illegal", answer.enumeration.illegal);
  count("repeated", answer.enumeration.repeated);
  count("legal", answer.configurations.size());
  count("does_not_fit", answer.result.does_not_fit);
  count("pruned", answer.result.pruned);
  count("evaluated", answer.result.evaluated.size());
  count("from_results_file", answer.result.known);
  count("simulated", answer.result.simulated);
  json.end_object();
}

void write_configuration(JsonWriter& json, const SearchAnswer& answer, size_t i, bool on_front) {
  const Evaluated& evaluated = answer.result.evaluated[i];
  const Configuration& configuration = answer.configurations[evaluated.index];
  json.begin_object(JsonWriter::Layout::kInline).member("rank", static_cast<uint64_t>(i + 1));
  json.member("on_front", on_front);
  if (configuration.line > 0) json.member("line", configuration.line);
  if (answer.tokens > 0) {
    json.key("gpu_hours").value(gpu_hours(evaluated.outcome, answer.tokens), 1);
    if (answer.anchor.cluster.price_per_gpu_hour > 0) {
      json.key("price").value(training_price(evaluated.outcome, answer.tokens, answer.anchor.cluster), 2);
    }
  }
  // The figures are those of the results file, to the last digit.
  json.key("result").raw(result_line(evaluated.outcome, configuration.job, answer.names)).end_object();
}

}  // namespace

std::string split_text(const Job& job) {
  return fmt::format("{}x{}x{}", job.tensor_model_parallel_size, job.pipeline_model_parallel_size,
                     job.data_parallel_size);
}

std::string options_text(const Job& job) {
  std::string text;
  const auto add = [&](std::string_view word) { text += (text.empty() ? "" : ",") + std::string(word); };
  if (job.recompute_granularity == Recompute::kFull) add("full");
  if (job.recompute_granularity == Recompute::kSelective) add("sel");
  if (job.sequence_parallel) add("sp");
  if (job.use_distributed_optimizer) add("do");
  return text;
}

std::string search_text(const SearchAnswer& answer) {
  std::string text = counts_text(answer);
  const std::vector<Evaluated>& evaluated = answer.result.evaluated;
  if (evaluated.empty()) return text;
  text += "\nshortest steps\n" + configurations_table(answer, listed(answer));
  const std::vector<size_t> front = listed_front(answer);
  text += "\nnot beaten in step, memory and GPUs at once";
  if (front.size() < answer.result.front.size()) {
    text += fmt::format(" ({} of {}, from the fastest to the smallest)", front.size(), answer.result.front.size());
  }
  text += "\n" + configurations_table(answer, front);
  text += "\noptions: sel, full: recomputation; sp: sequence parallel; do: distributed optimizer\n";
  if (answer.result.simulated > 0) {
    text += fmt::format("the first {} are simulated in full; ~: an estimate{}, times {:.2f} as these took\n",
                        answer.result.simulated, answer.base_ms > 0 ? " that starts from the traces" : "",
                        answer.result.correction);
  }
  return text + budget_text(answer, evaluated.front().outcome);
}

std::string search_json(const SearchAnswer& answer) {
  std::vector<char> on_front(answer.result.evaluated.size(), 0);
  for (const size_t i : answer.result.front) on_front[i] = 1;
  std::vector<size_t> rows = listed(answer);
  rows.insert(rows.end(), answer.result.front.begin(), answer.result.front.end());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  JsonWriter json(JsonWriter::Style::kPretty);
  json.begin_object().member("schema", "lumos.search.v1").member("complete", answer.result.complete);
  write_counts(json, answer);
  if (answer.tokens > 0) json.key("tokens").value(answer.tokens, 0);
  if (answer.base_ms > 0) json.key("measured_ms").value(answer.base_ms, 6);
  json.key("configurations").begin_array();
  for (const size_t i : rows) write_configuration(json, answer, i, on_front[i] != 0);
  return json.end_array().end_object().text();
}

}  // namespace lumos
