#include "lumos/report/text/program_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "lumos/base/json_writer.h"
#include "lumos/program/blocks/kernel_roles.h"
#include "lumos/program/lower/lower.h"
#include "lumos/program/step_figures.h"
#include "lumos/report/text/unit_list.h"
#include "lumos/report/text_table.h"
#include "lumos/sim/simulate.h"

namespace lumos {

namespace {

std::string_view role_text(BlockRole role) {
  constexpr std::string_view kNames[] = {"init",           "forward entry",  "forward layer", "forward exit",
                                         "backward entry", "backward layer", "backward exit", "exchange",
                                         "grad sync",      "optimizer",      "log",           "not placed"};
  return kNames[static_cast<int>(role)];
}

/// Blocks of one role that launch the same kernels.
struct Template {
  BlockRole role = BlockRole::kUnplaced;
  uint64_t count = 0;
  uint64_t kernels = 0;  ///< of one block
  double sum_ms = 0;     ///< GPU time of a block, communication included
  double sum_squared = 0;

  double mean_ms() const { return count > 0 ? sum_ms / static_cast<double>(count) : 0; }
  double deviation_ms() const {
    const double variance = count > 0 ? sum_squared / static_cast<double>(count) - mean_ms() * mean_ms() : 0;
    return std::sqrt(std::max(0.0, variance));
  }
};

std::vector<Template> templates_of(const RankProgram& rank) {
  std::map<std::pair<BlockRole, uint64_t>, Template> found;
  for (const Block& block : rank.blocks) {
    if (block.label.step < 0) continue;
    double busy_ms = 0;
    for (uint32_t t = block.task_begin; t < block.task_end; ++t)
      if (is_gpu_task(rank.tasks[t].kind)) busy_ms += static_cast<double>(rank.tasks[t].duration_ns) / 1e6;
    Template& one = found[{block.role, block.shape}];
    one.role = block.role;
    one.count += 1;
    one.kernels = block.launch_end - block.launch_begin;
    one.sum_ms += busy_ms;
    one.sum_squared += busy_ms * busy_ms;
  }
  std::vector<Template> templates;
  for (auto& [key, one] : found) templates.push_back(one);
  return templates;
}

std::string rank_text(const RankProgram& rank, const LoweredAgain& again) {
  const RecoveredRank& recovered = rank.recovered;
  const size_t steps = recovered.step_start_ns.empty() ? 0 : recovered.step_start_ns.size() - 1;
  std::string out =
      fmt::format("rank {}: stage {} of {}, {} steps, {} micro-batches, {} chunks of {} layers ({:.1f} % alike)\n",
                  rank.rank, recovered.stage, recovered.stages, steps, recovered.microbatches, recovered.chunks,
                  recovered.layers_per_chunk, 100 * recovered.layer_match);
  TextTable table({{"block", Align::kLeft}, {"times"}, {"kernels"}, {"GPU ms"}, {"deviation"}});
  for (const Template& one : templates_of(rank)) {
    table.add({std::string(role_text(one.role)), fmt::format("{}", one.count), fmt::format("{}", one.kernels),
               fmt::format("{:.3f}", one.mean_ms()), fmt::format("{:.3f}", one.deviation_ms())});
  }
  out += table.text();
  out += units_text(rank);
  out +=
      fmt::format("  replayed {:.3f} ms; recovered and lowered again {:.3f} ms\n", again.direct_ms, again.lowered_ms);
  if (again.other_step_pct)
    out += fmt::format(
        "  one step's blocks are {:.2f} % off the next step, at worst; measured, their kernels are {:.2f} % apart and "
        "the steps {:.2f} %\n",
        *again.other_step_pct, again.other_step_kernels_pct, again.other_step_measured_pct);
  if (recovered.unplaced > 0) out += fmt::format("  {} launches could not be placed\n", recovered.unplaced);
  return out;
}

void write_rank(JsonWriter& json, const RankProgram& rank, const LoweredAgain& again) {
  const RecoveredRank& recovered = rank.recovered;
  json.begin_object().member("rank", rank.rank).member("stage", recovered.stage).member("stages", recovered.stages);
  json.member("microbatches", recovered.microbatches).member("chunks", recovered.chunks);
  json.member("layers_per_chunk", recovered.layers_per_chunk).member("layer_match", recovered.layer_match);
  json.member("replayed_ms", again.direct_ms).member("lowered_ms", again.lowered_ms);
  const auto of_pair = [&](std::string_view key, double pct) {
    json.key(key);
    again.other_step_pct ? json.value(pct) : json.null();
  };
  of_pair("other_step_pct", again.other_step_pct.value_or(0));
  of_pair("other_step_kernels_pct", again.other_step_kernels_pct);
  of_pair("other_step_measured_pct", again.other_step_measured_pct);
  json.member("unplaced", recovered.unplaced).key("templates").begin_array();
  for (const Template& one : templates_of(rank)) {
    json.begin_object().member("block", role_text(one.role)).member("times", one.count).member("kernels", one.kernels);
    json.member("gpu_ms", one.mean_ms()).member("deviation_ms", one.deviation_ms()).end_object();
  }
  json.end_array().key("kernels").begin_array();
  const std::vector<RoleOf> roles = find_roles(rank);
  for (uint32_t row = 0; row < rank.table->size(); ++row) {
    const uint32_t launch = recovered.list.launch_of_row[row];
    if (!is_gpu_work(rank.table->kind[row]) || launch == kNoIndex) continue;
    const Label& label = recovered.labels[launch];
    json.begin_array()
        .value(rank.table->correlation[row])
        .value(phase_name(label.phase))
        .value(int64_t{label.microbatch});
    json.value(int64_t{label.chunk}).value(int64_t{label.layer}).value(role_name(roles[launch].role)).end_array();
  }
  json.end_array().end_object();
}

double span_ms(const ExecGraph& graph) {
  const Timeline timeline = simulate(graph);
  int64_t end = 0;
  for (int64_t at : timeline.end_ns) end = std::max(end, at);
  return static_cast<double>(end) / 1e6;
}

/// Milliseconds that the GPU tasks of some blocks take, each counted in full.
double gpu_ms(const RankProgram& rank, const std::vector<uint32_t>& blocks) {
  int64_t sum_ns = 0;
  for (uint32_t b : blocks)
    for (uint32_t t = rank.blocks[b].task_begin; t < rank.blocks[b].task_end; ++t)
      if (is_gpu_task(rank.tasks[t].kind)) sum_ns += rank.tasks[t].duration_ns;
  return static_cast<double>(sum_ns) / 1e6;
}

/// Length of a step as the trace has it.
double measured_ms(const RankProgram& rank, int16_t step) {
  const auto& starts = rank.recovered.step_start_ns;
  return static_cast<double>(starts[static_cast<size_t>(step) + 1] - starts[static_cast<size_t>(step)]) / 1e6;
}

double apart_pct(double one, double other) { return other > 0 ? 100 * std::abs(one / other - 1) : 0; }

}  // namespace

LoweredAgain lower_again(const ExecGraph& direct, const Program& program, uint32_t rank_index) {
  const RankProgram& rank = program.ranks[rank_index];
  const TaskDurations durations = measured_durations(program);
  std::vector<uint32_t> all;
  std::map<int16_t, std::vector<uint32_t>> steps;
  for (uint32_t b = 0; b < rank.blocks.size(); ++b) {
    all.push_back(b);
    if (rank.blocks[b].label.step >= 0) steps[rank.blocks[b].label.step].push_back(b);
  }
  auto lowered = [&](const std::vector<uint32_t>& blocks) {
    LowerPlan plan;
    plan.threads_hand_over = program.threads_hand_over;
    PlannedRank planned;
    planned.rank = rank.rank;
    for (uint32_t block : blocks) planned.blocks.push_back({rank_index, block});
    plan.ranks.push_back(std::move(planned));
    // A rank alone meets nobody, so nothing can wait in a circle.
    return lower(program, plan, durations).value();
  };
  LoweredAgain again;
  again.direct_ms = span_ms(direct);
  again.lowered_ms = span_ms(lowered(all));
  double before_ms = 0;
  int16_t before_step = 0;
  const std::vector<uint32_t>* before = nullptr;
  for (auto& [step, blocks] : steps) {
    const ExecGraph graph = lowered(blocks);
    const double own_ms = mean_figures(graph, simulate(graph)).step_ms;
    // Steps that do something else, or that the recording cut, are no repetition.
    const auto size = static_cast<double>(blocks.size());
    const bool alike = before && std::abs(static_cast<double>(before->size()) - size) <= 0.01 * size;
    if (alike && own_ms > 0 && apart_pct(before_ms, own_ms) >= again.other_step_pct.value_or(0)) {
      again.other_step_pct = apart_pct(before_ms, own_ms);
      again.other_step_kernels_pct = apart_pct(gpu_ms(rank, *before), gpu_ms(rank, blocks));
      again.other_step_measured_pct = apart_pct(measured_ms(rank, before_step), measured_ms(rank, step));
    }
    before = &blocks;
    before_ms = own_ms;
    before_step = step;
  }
  return again;
}

std::string program_text(const Program& program, const std::vector<LoweredAgain>& again) {
  std::string out;
  for (size_t r = 0; r < program.ranks.size(); ++r) out += rank_text(program.ranks[r], again[r]) + "\n";
  return out;
}

std::string program_json(const Program& program, const std::vector<LoweredAgain>& again) {
  JsonWriter json;
  json.begin_object().member("schema", "lumos.program.v1").key("ranks").begin_array();
  for (size_t r = 0; r < program.ranks.size(); ++r) write_rank(json, program.ranks[r], again[r]);
  json.end_array().end_object();
  return json.text();
}

}  // namespace lumos
