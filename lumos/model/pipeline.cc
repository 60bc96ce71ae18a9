#include "lumos/model/pipeline.h"

#include <algorithm>
#include <limits>

namespace lumos {
namespace {

/// Forward passes before the first backward pass.
int64_t warmup_passes(PipelineSchedule schedule, int64_t num_stages, int64_t num_chunks, int64_t num_microbatches,
                      int64_t stage) {
  const int64_t all = num_microbatches * num_chunks;
  switch (schedule) {
    case PipelineSchedule::kGpipe:
      return all;
    case PipelineSchedule::kOneForwardOneBackward:
      return std::min(all, num_stages - stage - 1);
    case PipelineSchedule::kInterleaved:
      return std::min(all, (num_stages - stage - 1) * 2 + (num_chunks - 1) * num_stages);
  }
  return all;
}

/// The n-th pass of an interleaved schedule: rounds of num_stages micro-batches through each chunk in turn.
PipelineSlot interleaved_slot(bool forward, int64_t n, int64_t num_stages, int64_t num_chunks) {
  const int64_t round = num_stages * num_chunks;
  const int64_t chunk = n % round / num_stages;
  return {forward, static_cast<int32_t>(forward ? chunk : num_chunks - 1 - chunk),
          static_cast<int32_t>(n / round * num_stages + n % num_stages)};
}

constexpr double kNotYet = -1;

/// When each pass of the whole pipeline has ended, by position in the model, direction and micro-batch.
class PassEnds {
 public:
  explicit PassEnds(const PipelineTimes& times)
      : num_stages_(times.num_stages),
        num_pieces_(times.num_stages * times.num_chunks),
        num_microbatches_(times.num_microbatches),
        forward_(static_cast<size_t>(num_pieces_ * num_microbatches_), kNotYet),
        backward_(forward_) {}

  double& at(int64_t stage, const PipelineSlot& slot) {
    return (slot.forward ? forward_ : backward_)[index(slot.chunk * num_stages_ + stage, slot.microbatch)];
  }
  /// End of the pass that `slot` needs the result of; 0 for the first piece forward, kNotYet when it has not run.
  double source(int64_t stage, const PipelineSlot& slot, bool& same_stage) const {
    const int64_t piece = slot.chunk * num_stages_ + stage;
    same_stage = num_stages_ == 1;
    if (slot.forward) return piece == 0 ? (same_stage = true, 0.0) : forward_[index(piece - 1, slot.microbatch)];
    if (piece + 1 == num_pieces_) return same_stage = true, forward_[index(piece, slot.microbatch)];
    return backward_[index(piece + 1, slot.microbatch)];
  }

 private:
  size_t index(int64_t piece, int64_t microbatch) const {
    return static_cast<size_t>(piece * num_microbatches_ + microbatch);
  }
  int64_t num_stages_, num_pieces_, num_microbatches_;
  std::vector<double> forward_, backward_;
};

/// Whether a pass sends its result to another stage.
bool sends(const PipelineTimes& times, int64_t stage, const PipelineSlot& slot) {
  if (times.num_stages == 1) return false;
  const int64_t piece = slot.chunk * times.num_stages + stage;
  return slot.forward ? piece + 1 < times.num_stages * times.num_chunks : piece > 0;
}

/// Runs the next slot of a stage if its input is there.
bool run_slot(const PipelineTimes& times, int64_t stage, const PipelineSlot& slot, PassEnds& ends, StageRun& run) {
  bool same_stage = false;
  const double source_us = ends.source(stage, slot, same_stage);
  if (source_us == kNotYet) return false;
  const double arrival_us = source_us + (same_stage ? 0 : times.message_us);
  const double start_us = std::max(run.end_us, arrival_us);
  const size_t index = static_cast<size_t>(stage * times.num_chunks + slot.chunk);
  const double duration_us = slot.forward ? times.forward_us[index] : times.backward_us[index];
  run.waiting_us += start_us - run.end_us;
  run.busy_us += duration_us;
  run.end_us = start_us + duration_us;
  ends.at(stage, slot) = run.end_us;
  if (times.message_blocks_sender && sends(times, stage, slot)) {
    run.message_us += times.message_us;
    run.end_us += times.message_us;
  }
  return true;
}

}  // namespace

std::vector<PipelineSlot> stage_schedule(PipelineSchedule schedule, int64_t num_stages, int64_t num_chunks,
                                         int64_t num_microbatches, int64_t stage) {
  const int64_t all = num_microbatches * num_chunks;
  const int64_t warmup = warmup_passes(schedule, num_stages, num_chunks, num_microbatches, stage);
  std::vector<PipelineSlot> slots;
  slots.reserve(static_cast<size_t>(2 * all));
  const auto add = [&](bool forward, int64_t n) {
    slots.push_back(num_chunks > 1 ? interleaved_slot(forward, n, num_stages, num_chunks)
                                   : PipelineSlot{forward, 0, static_cast<int32_t>(n)});
  };
  for (int64_t n = 0; n < warmup; ++n) add(true, n);
  for (int64_t n = warmup; n < all; ++n) {
    add(true, n);
    add(false, n - warmup);
  }
  for (int64_t n = all - warmup; n < all; ++n) add(false, n);
  return slots;
}

int64_t passes_in_flight(PipelineSchedule schedule, int64_t num_stages, int64_t num_chunks, int64_t num_microbatches,
                         int64_t stage) {
  const int64_t all = num_microbatches * num_chunks;
  return std::min(all, warmup_passes(schedule, num_stages, num_chunks, num_microbatches, stage) + 1);
}

std::vector<StageRun> run_pipeline(const PipelineTimes& times) {
  std::vector<std::vector<PipelineSlot>> slots;
  for (int64_t stage = 0; stage < times.num_stages; ++stage) {
    slots.push_back(stage_schedule(times.schedule, times.num_stages, times.num_chunks, times.num_microbatches, stage));
  }
  PassEnds ends(times);
  std::vector<StageRun> runs(slots.size());
  std::vector<size_t> next(slots.size(), 0);
  // Every stage goes as far as its inputs allow, again and again; each sweep runs at least one slot of a valid
  // schedule.
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t stage = 0; stage < slots.size(); ++stage) {
      while (next[stage] < slots[stage].size() &&
             run_slot(times, static_cast<int64_t>(stage), slots[stage][next[stage]], ends, runs[stage])) {
        ++next[stage];
        moved = true;
      }
    }
  }
  for (size_t stage = 0; stage < slots.size(); ++stage) CHECK(next[stage] == slots[stage].size());
  return runs;
}

std::vector<double> pipeline_end_bounds_us(const PipelineTimes& times) {
  constexpr double kRounding = 1 - 1e-9;
  const size_t num_stages = static_cast<size_t>(times.num_stages), num_chunks = static_cast<size_t>(times.num_chunks);
  const double microbatches = static_cast<double>(times.num_microbatches);
  std::vector<double> last_pass_us(num_stages);
  double start_us = 0;
  for (size_t i = 0; i < num_stages; ++i) {
    double passes_us = 0;
    for (size_t chunk = 0; chunk < num_chunks; ++chunk) {
      passes_us += times.forward_us[i * num_chunks + chunk] + times.backward_us[i * num_chunks + chunk];
    }
    double messages = 0;
    if (times.message_blocks_sender && num_stages > 1) {
      const double forward = static_cast<double>(num_chunks) - (i + 1 == num_stages ? 1 : 0);
      const double backward = static_cast<double>(num_chunks) - (i == 0 ? 1 : 0);
      messages = microbatches * (forward + backward) - (i > 0 ? 1 : 0);
    }
    last_pass_us[i] = start_us + microbatches * passes_us + messages * times.message_us;
    start_us += times.forward_us[i * num_chunks] + times.message_us;
  }
  for (size_t i = num_stages - 1; i > 0; --i) {
    const double after_us = last_pass_us[i] + times.message_us + times.backward_us[(i - 1) * num_chunks];
    last_pass_us[i - 1] = std::max(last_pass_us[i - 1], after_us);
  }
  for (double& end_us : last_pass_us) end_us *= kRounding;
  return last_pass_us;
}

}  // namespace lumos
