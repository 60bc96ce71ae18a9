#include "lumos/report/text/replay_render.h"

#include <fmt/format.h>

#include <algorithm>

#include "lumos/base/json_writer.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

void write_breakdown(JsonWriter& json, std::string_view name, const BreakdownMs& parts) {
  json.key(name).begin_object();
  json.member("exposed_compute_ms", parts.exposed_compute).member("overlapped_ms", parts.overlapped);
  json.member("exposed_comm_ms", parts.exposed_comm).member("other_ms", parts.other).end_object();
}

void write_breakdowns(JsonWriter& json, const BreakdownMs& measured, const BreakdownMs& replayed) {
  json.key("breakdown").begin_object();
  write_breakdown(json, "measured", measured);
  write_breakdown(json, "replayed", replayed);
  json.end_object();
}

void write_constants(JsonWriter& json, const std::vector<Constant>& constants) {
  json.key("constants").begin_object();
  for (const Constant& constant : constants) {
    json.key(constant.name).begin_object();
    json.key("us").value(static_cast<double>(constant.value_ns) / 1e3, 3).member("samples", constant.samples);
    json.end_object();
  }
  json.end_object();
}

void write_dependencies(JsonWriter& json, const DependencyCounts& counts) {
  json.key("dependencies").begin_object();
  json.member("cpu_cpu", counts.cpu_cpu).member("inter_thread", counts.inter_thread);
  json.member("launch", counts.launch).member("sync", counts.sync).member("stream", counts.stream);
  json.member("inter_stream_recorded", counts.inter_stream_recorded);
  json.member("inter_stream_inferred", counts.inter_stream_inferred).member("queue", counts.queue);
  json.member("issue_order", counts.issue_order)
      .member("room", counts.room)
      .member("rendezvous", counts.rendezvous)
      .end_object();
}

void write_steps(JsonWriter& json, const RankResult& rank) {
  json.key("steps").begin_array();
  for (const StepResult& step : rank.steps) {
    json.begin_object().member("name", step.name);
    json.member("measured_ms", static_cast<double>(step.measured.length_ns()) / 1e6);
    json.member("replayed_ms", static_cast<double>(step.replayed.length_ns()) / 1e6).end_object();
  }
  json.end_array().key("left_out_steps").begin_array();
  for (const LeftOutStep& step : rank.left_out) {
    json.begin_object().member("name", step.name).member("reason", step.reason).end_object();
  }
  json.end_array();
}

void write_rank(JsonWriter& json, const RankResult& rank) {
  json.begin_object().member("rank", rank.rank).member("file", rank.file);
  json.member("measured_ms", rank.measured_ms).member("replayed_ms", rank.replayed_ms);
  json.member("error_pct", error_percent(rank.measured_ms, rank.replayed_ms));
  json.member("kernel_start_mae_us", rank.kernel_start_mae_us);
  json.member("kernel_start_mae_pct", percent(rank.kernel_start_mae_us / 1e3, rank.measured_ms));
  json.member("unexplained_pct", percent(rank.unexplained_ms, rank.measured_ms));
  json.member("unexplained_measured_pct", percent(rank.unexplained_measured_ms, rank.measured_ms));
  json.member("utilisation_mae", rank.utilisation_mae);
  json.member("weighted_utilisation_mae", rank.weighted_utilisation_mae);
  json.member("utilisation_measured", rank.utilisation_measured);
  json.member("utilisation_replayed", rank.utilisation_replayed);
  write_constants(json, rank.constants);
  json.key("tasks").begin_object().member("cpu", rank.cpu_tasks).member("gpu", rank.gpu_tasks).end_object();
  write_dependencies(json, rank.dependencies);
  write_steps(json, rank);
  write_breakdowns(json, rank.measured, rank.replayed);
  json.end_object();
}

void write_span(JsonWriter& json, std::string_view name, const std::optional<double>& span_ms) {
  if (span_ms) json.member(name, *span_ms);
}

std::vector<std::string> compared(std::string name, double measured_ms, double replayed_ms) {
  return {std::move(name), human_ms(measured_ms), human_ms(replayed_ms),
          signed_percent(error_percent(measured_ms, replayed_ms))};
}

/// A component of the breakdown; its difference is in percent of the step, since a component may be next to nothing.
std::vector<std::string> component(std::string name, double measured_ms, double replayed_ms, double step_ms) {
  const double points = percent(replayed_ms - measured_ms, step_ms);
  return {std::move(name), human_ms(measured_ms), human_ms(replayed_ms), signed_percent(points)};
}

void add_components(TextTable& table, const BreakdownMs& measured, const BreakdownMs& replayed, double step_ms) {
  table.add(component("  exposed compute", measured.exposed_compute, replayed.exposed_compute, step_ms));
  table.add(component("  overlapped", measured.overlapped, replayed.overlapped, step_ms));
  table.add(component("  exposed communication", measured.exposed_comm, replayed.exposed_comm, step_ms));
  table.add(component("  other", measured.other, replayed.other, step_ms));
}

std::string steps_of(size_t count) { return fmt::format("{} step{}", count, count == 1 ? "" : "s"); }

TextTable comparison_table(std::string title) {
  return TextTable({{std::move(title), Align::kLeft}, {"measured ms"}, {"replayed ms"}, {"difference"}});
}

constexpr size_t kStepLinesAtMost = 12;  // More would push the breakdown off the first screen.

std::string one_rank_table(const RankResult& rank) {
  TextTable table = comparison_table(fmt::format("rank {}, {}", rank.rank, steps_of(rank.steps.size())));
  table.add(compared("step", rank.measured_ms, rank.replayed_ms));
  add_components(table, rank.measured, rank.replayed, rank.measured_ms);
  if (rank.steps.size() > 1) {
    for (size_t s = 0; s < std::min(rank.steps.size(), kStepLinesAtMost); ++s) {
      const StepResult& step = rank.steps[s];
      table.add(compared(step.name, static_cast<double>(step.measured.length_ns()) / 1e6,
                         static_cast<double>(step.replayed.length_ns()) / 1e6));
    }
    if (rank.steps.size() > kStepLinesAtMost)
      table.add({fmt::format("({} more)", rank.steps.size() - kStepLinesAtMost)});
  }
  return table.text();
}

std::string job_table(const ReplayResult& result) {
  TextTable table = comparison_table(fmt::format("{} ranks, mean", result.ranks.size()));
  table.add(compared("step", result.measured_ms, result.replayed_ms));
  add_components(table, result.measured, result.replayed, result.measured_ms);
  if (result.measured_span_ms && result.replayed_span_ms) {
    table.add(compared("first start to last end", *result.measured_span_ms, *result.replayed_span_ms));
  }
  std::string out = table.text() + "\n";
  TextTable ranks(
      {{"rank", Align::kLeft}, {"measured ms"}, {"replayed ms"}, {"difference"}, {"kernel MAE us"}, {"unexplained"}});
  for (const RankResult& rank : result.ranks) {
    std::vector<std::string> cells = compared(std::to_string(rank.rank), rank.measured_ms, rank.replayed_ms);
    cells.push_back(fmt::format("{:.1f}", rank.kernel_start_mae_us));
    cells.push_back(fmt::format("{:.2f} %", percent(rank.unexplained_ms, rank.measured_ms)));
    ranks.add(std::move(cells));
  }
  return out + ranks.text();
}

std::string quality_text(const RankResult& rank) {
  std::string out = fmt::format("  kernel starts   {:.1f} us off in the mean ({:.2f} % of the step)\n",
                                rank.kernel_start_mae_us, percent(rank.kernel_start_mae_us / 1e3, rank.measured_ms));
  out += fmt::format("  unexplained     {:.2f} % of the step ({:.2f} % on the measured critical path)\n",
                     percent(rank.unexplained_ms, rank.measured_ms),
                     percent(rank.unexplained_measured_ms, rank.measured_ms));
  out += fmt::format("  utilisation     {:.1f} % measured, {:.1f} % replayed, curves {:.2f} points apart\n",
                     100 * rank.utilisation_measured, 100 * rank.utilisation_replayed, 100 * rank.utilisation_mae);
  return out;
}

/// "name value" items separated by commas, wrapped under a label.
std::string wrapped(std::string_view label, const std::vector<std::string>& items) {
  constexpr size_t kIndent = 18;
  std::string out = fmt::format("  {:<{}}", label, kIndent - 2);
  size_t column = kIndent;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? "," : "");
    const size_t width = text_width(item);
    if (column > kIndent && column + 1 + width > kTextWidth) {
      out += "\n" + std::string(kIndent, ' ');
      column = kIndent;
    } else if (column > kIndent) {
      out += ' ';
      ++column;
    }
    out += item;
    column += width;
  }
  return items.empty() ? "" : out + "\n";
}

std::string basis_text(const RankResult& rank) {
  std::string out = wrapped("tasks", {fmt::format("{} CPU", rank.cpu_tasks), fmt::format("{} GPU", rank.gpu_tasks)});
  if (rank.gpu_tasks == 0) out += wrapped("compute", {"operators on the CPU: there is no GPU work in the trace"});
  std::vector<std::string> edges;
  const auto add = [&](uint64_t count, std::string_view name) {
    if (count > 0) edges.push_back(fmt::format("{} {}", count, name));
  };
  const DependencyCounts& counts = rank.dependencies;
  add(counts.cpu_cpu, "in a thread");
  add(counts.inter_thread, "between threads");
  add(counts.launch, "launches");
  add(counts.sync, "synchronises");
  add(counts.stream, "in a stream");
  add(counts.inter_stream_recorded, "between streams (recorded)");
  add(counts.inter_stream_inferred, "between streams (inferred)");
  add(counts.queue, "launch queue");
  add(counts.issue_order, "issue order");
  add(counts.room, "waits for room on the GPU");
  add(counts.rendezvous, "rendezvous");
  out += wrapped("dependencies", edges);
  std::vector<Constant> constants = rank.constants;
  std::stable_sort(constants.begin(), constants.end(),
                   [](const Constant& a, const Constant& b) { return a.samples > b.samples; });
  constexpr size_t kConstantsShown = 6;  // All of them are in --json.
  std::vector<std::string> items;
  for (const Constant& constant : constants) {
    if (items.size() == kConstantsShown) {
      items.push_back(fmt::format("{} more", constants.size() - kConstantsShown));
      break;
    }
    items.push_back(fmt::format("{} {:.2f} us", constant.name, static_cast<double>(constant.value_ns) / 1e3));
  }
  return out + wrapped("constants", items);
}

std::string left_out_text(const RankResult& rank) {
  std::vector<std::string> items;
  for (const LeftOutStep& step : rank.left_out) {
    items.push_back(step.reason.empty() ? step.name : fmt::format("{} ({})", step.name, step.reason));
  }
  return wrapped("left out", items);
}

}  // namespace

std::string replay_text(const ReplayResult& result) {
  if (result.ranks.empty()) return "No ranks to replay.\n";
  std::string out;
  if (result.ranks.size() == 1) {
    const RankResult& rank = result.ranks[0];
    out += cut_text(rank.file, kTextWidth) + "\n\n";
    out += one_rank_table(rank) + "\n" + quality_text(rank) + basis_text(rank) + left_out_text(rank);
  } else {
    out += job_table(result);
  }
  if (!result.strict) out += "  mode            residuals kept: times follow the measurement, no error to quote\n";
  if (result.input_repaired + result.input_skipped + result.input_cut_short > 0) {
    out += fmt::format("  input           {} events, {} repaired, {} skipped", result.input_events,
                       result.input_repaired, result.input_skipped);
    if (result.input_cut_short > 0)
      out += fmt::format("; {} of {} files cut short", result.input_cut_short, result.ranks.size());
    out += '\n';
  }
  return out;
}

std::string replay_json(const ReplayResult& result) {
  JsonWriter json;
  json.begin_object().member("schema", "lumos.replay.v1");
  json.member("measured_ms", result.measured_ms).member("replayed_ms", result.replayed_ms);
  json.member("error_pct", error_percent(result.measured_ms, result.replayed_ms));
  json.member("mode", result.strict ? "strict" : "keep");
  write_span(json, "measured_span_ms", result.measured_span_ms);
  write_span(json, "replayed_span_ms", result.replayed_span_ms);
  write_breakdowns(json, result.measured, result.replayed);
  json.key("ranks").begin_array();
  for (const RankResult& rank : result.ranks) write_rank(json, rank);
  json.end_array().key("input").begin_object().member("events", result.input_events);
  json.member("repaired", result.input_repaired).member("skipped", result.input_skipped);
  json.member("cut_short", result.input_cut_short);
  json.member("bytes", result.input_bytes).end_object().end_object();
  return json.text();
}

}  // namespace lumos
