#include "lumos/report/text/estimate_render.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lumos/base/file.h"
#include "lumos/base/json_value.h"
#include "lumos/base/json_writer.h"
#include "lumos/base/value.h"
#include "lumos/model/job/job_file.h"
#include "lumos/plan/parameters.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

double error_pct(double estimated, double measured) { return 100 * (estimated / measured - 1); }

double largest_peak_gib(const Estimate& estimate) {
  double peak = 0;
  for (const StageMemory& stage : estimate.memory) peak = std::max(peak, stage.peak());
  return peak / kGib;
}

std::string split_text(const Job& job) {
  return fmt::format("TP {} x PP {} x DP {}", job.tensor_model_parallel_size, job.pipeline_model_parallel_size,
                     job.data_parallel_size);
}

/// The parts of the step in the order they are explained.
std::string step_table(const Estimate& estimate) {
  TextTable table({{"step", Align::kLeft}, {"ms"}, {"share"}});
  const auto add = [&](std::string name, double ms) {
    table.add({std::move(name), human_ms(ms), fmt::format("{:.1f} %", 100 * ms / estimate.step_ms)});
  };
  add("exposed compute", estimate.breakdown.exposed_compute_ms);
  add("overlapped", estimate.breakdown.overlapped_ms);
  add("exposed communication", estimate.breakdown.exposed_comm_ms);
  add("  of it waiting for other stages", estimate.pipeline_wait_ms);
  add("  of it gradient reduction", estimate.gradient_reduction_ms);
  add("other", estimate.breakdown.other_ms);
  add("total", estimate.step_ms);
  return table.text();
}

std::string memory_table(const Estimate& estimate) {
  TextTable table(
      {{"memory GiB", Align::kLeft}, {"params"}, {"grads"}, {"optim"}, {"activ"}, {"loss"}, {"work"}, {"peak"}});
  const auto gib = [](double bytes) { return fmt::format("{:.2f}", bytes / kGib); };
  for (size_t stage = 0; stage < estimate.memory.size(); ++stage) {
    const StageMemory& m = estimate.memory[stage];
    table.add({fmt::format("stage {}", stage), gib(m.parameters), gib(m.gradients), gib(m.optimizer),
               gib(m.activations), gib(m.loss), gib(m.workspace), gib(m.peak())});
  }
  return table.text();
}

void write_breakdown(JsonWriter& json, const StepBreakdown& parts) {
  json.key("breakdown").begin_object();
  json.member("exposed_compute_ms", parts.exposed_compute_ms).member("overlapped_ms", parts.overlapped_ms);
  json.member("exposed_comm_ms", parts.exposed_comm_ms).member("other_ms", parts.other_ms).end_object();
}

void write_memory(JsonWriter& json, const Estimate& estimate) {
  json.key("memory_gib").begin_array(JsonWriter::Layout::kInline);
  for (const StageMemory& stage : estimate.memory) json.value(stage.peak() / kGib, 3);
  json.end_array();
  json.key("memory_terms_gib").begin_array();
  for (const StageMemory& stage : estimate.memory) {
    json.begin_object(JsonWriter::Layout::kInline);
    json.key("parameters").value(stage.parameters / kGib, 3).key("gradients").value(stage.gradients / kGib, 3);
    json.key("optimizer").value(stage.optimizer / kGib, 3).key("activations").value(stage.activations / kGib, 3);
    json.key("loss").value(stage.loss / kGib, 3).key("workspace").value(stage.workspace / kGib, 3).end_object();
  }
  json.end_array();
  json.member("fits", estimate.shortage.empty());
  json.key("shortage");
  estimate.shortage.empty() ? json.null() : json.value(estimate.shortage);
}

void write_estimate(JsonWriter& json, const Estimate& estimate) {
  json.begin_object().member("step_ms", estimate.step_ms);
  write_breakdown(json, estimate.breakdown);
  json.member("pipeline_ms", estimate.pipeline_ms).member("pipeline_wait_ms", estimate.pipeline_wait_ms);
  json.member("gradient_reduction_ms", estimate.gradient_reduction_ms).member("optimizer_ms", estimate.optimizer_ms);
  json.key("tokens_per_s").value(estimate.tokens_per_s, 1).key("tflops_per_gpu").value(estimate.tflops_per_gpu, 3);
  json.key("mfu_pct").value(estimate.mfu_pct, 3).key("hfu_pct").value(estimate.hfu_pct, 3);
  write_memory(json, estimate);
  json.end_object();
}

void write_row(JsonWriter& json, const EstimateRow& row) {
  json.begin_object().member("line", row.line);
  if (!row.failure.empty()) {
    json.member("failure", row.failure).end_object();
    return;
  }
  json.key("estimate");
  write_estimate(json, row.estimate);
  if (row.measured_step_ms) {
    json.member("measured_step_ms", *row.measured_step_ms);
    json.key("error_pct").value(error_pct(row.estimate.step_ms, *row.measured_step_ms), 3);
  }
  if (row.measured_peak_gib) {
    json.member("measured_peak_gib", *row.measured_peak_gib);
    json.key("memory_error_pct").value(error_pct(largest_peak_gib(row.estimate), *row.measured_peak_gib), 3);
  }
  json.key("job");
  write_job(json, row.job);
  json.end_object();
}

/// "mean error 5.1 %, worst 28 %" over the rows that were measured; "" when none was.
std::string error_line(const std::vector<EstimateRow>& rows) {
  double sum = 0, worst = 0;
  size_t count = 0;
  for (const EstimateRow& row : rows) {
    if (!row.failure.empty() || !row.measured_step_ms) continue;
    const double error = std::abs(error_pct(row.estimate.step_ms, *row.measured_step_ms));
    sum += error;
    worst = std::max(worst, error);
    ++count;
  }
  if (count == 0) return "";
  return fmt::format("\n{} measured: mean absolute error {:.2f} %, worst {:.1f} %\n", count,
                     sum / static_cast<double>(count), worst);
}

}  // namespace

std::string estimate_text(const Job& job, const Cluster& cluster, const Estimate& estimate) {
  std::string text = fmt::format("{} on {} x {} ({})\n", job.model_name.empty() ? "job" : job.model_name,
                                 job.world_size, cluster.gpu.name, split_text(job));
  text += fmt::format("{:.2f} billion parameters, {} micro-batches of {} x {} tokens\n\n",
                      static_cast<double>(model_parameters(job)) / 1e9, job.num_microbatches, job.micro_batch_size,
                      job.seq_length);
  text += step_table(estimate);
  text += fmt::format("\n{:.0f} tokens/s, {:.1f} TFLOP/s per GPU: MFU {:.1f} %, HFU {:.1f} % of {:g} TFLOP/s\n\n",
                      estimate.tokens_per_s, estimate.tflops_per_gpu, estimate.mfu_pct, estimate.hfu_pct,
                      peak_tflops(cluster.gpu, element_bytes(job)));
  if (element_bytes(job) >= 4 && cluster.gpu.fp32_tflops == 0)
    text += "the cluster does not say gpu.fp32_tflops: a sixteenth of gpu.matrix_tflops is assumed\n\n";
  text += memory_table(estimate);
  text += "\n" +
          (estimate.shortage.empty() ? fmt::format("fits in {:g} GiB", cluster.gpu.memory_gib) : estimate.shortage) +
          "\n";
  return text;
}

std::string estimate_json(const Job& job, const Estimate& estimate) {
  JsonWriter json(JsonWriter::Style::kPretty);
  json.begin_object().member("schema", "lumos.estimate.v1").key("estimate");
  write_estimate(json, estimate);
  json.key("job");
  write_job(json, job);
  return json.end_object().text();
}

std::string estimates_text(const std::vector<EstimateRow>& rows) {
  TextTable table(
      {{"split", Align::kLeft}, {"micro-b."}, {"step ms"}, {"measured"}, {"error"}, {"MFU %"}, {"peak GiB"}});
  std::string failures;
  for (const EstimateRow& row : rows) {
    if (!row.failure.empty()) {
      failures += row.failure + "\n";
      continue;
    }
    const bool measured = row.measured_step_ms.has_value();
    table.add({split_text(row.job), fmt::format("{} x {}", row.job.num_microbatches, row.job.micro_batch_size),
               human_ms(row.estimate.step_ms), measured ? human_ms(*row.measured_step_ms) : "",
               measured ? signed_percent(error_pct(row.estimate.step_ms, *row.measured_step_ms)) : "",
               fmt::format("{:.1f}", row.estimate.mfu_pct), fmt::format("{:.1f}", largest_peak_gib(row.estimate))});
  }
  return table.text() + error_line(rows) + (failures.empty() ? "" : "\nnot estimated:\n" + failures);
}

std::string estimates_json(const std::vector<EstimateRow>& rows) {
  JsonWriter json(JsonWriter::Style::kCompact);
  json.begin_object().member("schema", "lumos.estimate.v1").key("estimates").begin_array();
  for (const EstimateRow& row : rows) write_row(json, row);
  return json.end_array().end_object().text();
}

std::string estimate_lines(const std::vector<EstimateRow>& rows) {
  std::string lines;
  for (const EstimateRow& row : rows) {
    JsonWriter json(JsonWriter::Style::kCompact);
    write_row(json, row);
    lines += json.text() + "\n";
  }
  return lines;
}

Result<std::string> join_estimates(const std::vector<std::string>& paths) {
  std::map<int64_t, std::string> rows;
  for (const std::string& path : paths) {
    const std::string content = TRY(read_file(path));
    for (size_t begin = 0; begin < content.size();) {
      const size_t end = std::min(content.find('\n', begin), content.size());
      const std::string text = content.substr(begin, end - begin);
      begin = end + 1;
      const Value value = TRY(parse_json(text, path));
      const int64_t line = TRY(ValueView(value, path).at("line").as_int());
      const auto [found, fresh] = rows.try_emplace(line, text);
      if (!fresh && found->second != text)
        return fail(ErrorKind::kFailed, "{}: the row of line {} has another result in another part", path, line);
    }
  }
  JsonWriter json(JsonWriter::Style::kCompact);
  json.begin_object().member("schema", "lumos.estimate.v1").key("estimates").begin_array();
  for (const auto& [line, text] : rows) json.raw(text);
  return json.end_array().end_object().text();
}

}  // namespace lumos
