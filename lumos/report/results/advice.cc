#include "lumos/report/results/advice.h"

#include <fmt/format.h>

#include <algorithm>

namespace lumos {

namespace {

constexpr double kEnoughShapes = 0.05;  // the profiler records them for all operators with inputs, or for none
constexpr double kFewOdd = 0.01;
constexpr double kManyEmpty = 0.25;   // whole microseconds, as older profilers write them, round short kernels to 0
constexpr double kFewOrphans = 0.02;  // kernels launched just before the recording began are normal

bool less_than(uint64_t part, uint64_t whole, double share) {
  return static_cast<double>(part) < share * static_cast<double>(whole);
}

void advise_on_work(const RankInventory& rank, std::vector<Advice>& out) {
  const Coverage& c = rank.coverage;
  if (rank.events_kept == 0) {
    out.push_back({"no events", "there is nothing to analyse", "record between profiler start and stop"});
    return;
  }
  if (c.gpu_rows == 0) {
    out.push_back({"no GPU work", "operators stand in for kernels; no overlap can be seen",
                   "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"});
  }
  if (rank.threads.empty()) {
    out.push_back({"no CPU events", "nothing tells when kernels were launched", "add ProfilerActivity.CPU"});
  } else if (c.gpu_rows > 0 && less_than(c.gpu_rows_with_launch, c.gpu_rows, 1 - kFewOrphans)) {
    out.push_back({fmt::format("the launch of {} of {} GPU rows is not recorded", c.gpu_rows - c.gpu_rows_with_launch,
                               c.gpu_rows),
                   "their start counts as unexplained", "give the profiler's schedule a warm-up step (warmup=1)"});
  }
}

void advise_on_steps(const RankInventory& rank, std::vector<Advice>& out) {
  if (rank.events_kept == 0) return;
  if (rank.steps.empty()) {
    out.push_back({"no ProfilerStep marks", "the whole trace counts as one step",
                   "prof.step() once per iteration, schedule(..., active=3) or more"});
  } else if (rank.steps.size() == 1) {
    out.push_back({"only one step", "nothing shows how much steps differ", "schedule(..., active=3) or more"});
  }
}

void advise_on_waits(const RankInventory& rank, std::vector<Advice>& out) {
  const Coverage& c = rank.coverage;
  if (c.waits > 0 && c.resolved_waits < c.waits) {
    out.push_back({fmt::format("what {} of {} stream waits wait for is not recorded",
                               c.waits - std::min(c.waits, c.resolved_waits), c.waits),
                   "it is inferred from order and time, which may miss some",
                   "experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)"});
  }
  if (c.waits > 0 && c.records == 0) {
    out.push_back({"no event records", "waits between streams can only be guessed from time", "a newer PyTorch"});
  }
}

void advise_on_metadata(const RankInventory& rank, std::vector<Advice>& out) {
  const Coverage& c = rank.coverage;
  if (c.operators > 0 && less_than(c.operators_with_shapes, c.operators, kEnoughShapes)) {
    out.push_back({"operator shapes are not recorded", "kernel times cannot be scaled to other model sizes",
                   "record_shapes=True"});
  }
  if (c.collective_kernels > c.collective_kernels_with_metadata) {
    out.push_back({fmt::format("group and bytes of {} of {} communication kernels are not recorded",
                               c.collective_kernels - c.collective_kernels_with_metadata, c.collective_kernels),
                   "ranks are matched by order and time; bandwidth is unknown", "PyTorch 2.3 or newer"});
  }
  if (c.collective_kernels > 0 && rank.info->rank_source != TraceInfo::RankSource::kDistributedInfo) {
    out.push_back({"the file does not tell its rank", "it is taken from the file's name or order",
                   "start the profiler after torch.distributed.init_process_group"});
  }
  if (c.gpu_rows > 0 && (rank.info->devices.empty() || rank.info->devices[0].name.empty())) {
    out.push_back({"the GPU's properties are not recorded", "utilisation cannot be weighted by its SMs", ""});
  }
}

void advise_on_file(const RankInventory& rank, std::vector<Advice>& out) {
  if (rank.info->truncated) {
    out.push_back({"the file is cut off", "everything after the cut is lost",
                   "let export_chrome_trace finish before the job ends"});
  }
  const uint64_t python = rank.info->left_out_python;
  if (python > 0 && less_than(rank.info->events, 2 * python, 1)) {
    out.push_back({"Python frames are most of the file", "it is several times larger than needed", "with_stack=False"});
  }
}

/// Single rows out of millions are the profiler's own slips; more of them are damage.
void advise_on_odd_times(const RankInventory& rank, std::vector<Advice>& out) {
  const OddTimes& odd = rank.odd;
  const auto add = [&](uint64_t count, uint64_t whole, std::string_view what, std::string_view effect,
                       double few = kFewOdd) {
    if (count == 0 || less_than(count, whole, few)) return;
    out.push_back({fmt::format("{} of {} {}", count, whole, what), std::string(effect), "export the trace again"});
  };
  add(odd.repeated_calls, odd.calls, "runtime calls share their correlation id with another call",
      "what launched which kernel is a guess");
  add(odd.overlapping_work, rank.coverage.gpu_rows, "GPU rows lie wholly within another on their stream",
      "a stream runs one after the other: some of these times are wrong");
  add(odd.before_launch, rank.coverage.gpu_rows, "GPU rows begin before the call that launched them",
      "the clocks of CPU and GPU differ, or the launches are wrong");
  add(odd.without_duration, odd.work, rank.coverage.gpu_rows > 0 ? "GPU rows take no time" : "operators take no time",
      "there is nothing to replay of them", kManyEmpty);
}

}  // namespace

std::vector<Advice> advice_for(const RankInventory& inventory) {
  std::vector<Advice> out;
  advise_on_file(inventory, out);
  advise_on_work(inventory, out);
  advise_on_steps(inventory, out);
  advise_on_waits(inventory, out);
  advise_on_metadata(inventory, out);
  advise_on_odd_times(inventory, out);
  return out;
}

}  // namespace lumos
