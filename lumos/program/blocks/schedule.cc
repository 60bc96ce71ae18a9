#include "lumos/program/blocks/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "lumos/plan/pipeline_schedule.h"

namespace lumos {
namespace {

PipelineSchedule schedule_of(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kGpipe:
      return PipelineSchedule::kGpipe;
    case ScheduleKind::kOneForwardOneBackward:
      return PipelineSchedule::kOneForwardOneBackward;
    case ScheduleKind::kInterleaved:
      return PipelineSchedule::kInterleaved;
  }
  return PipelineSchedule::kOneForwardOneBackward;
}

template <class Tensors>
std::vector<Tensor> tensors_of(const Tensors& tensors) {
  std::vector<Tensor> result;
  for (const PipelineTensor& tensor : tensors)
    result.push_back({static_cast<int16_t>(tensor.microbatch), static_cast<int16_t>(tensor.piece), tensor.backward});
  return result;
}

Action action_of(const PipelineStep& step) {
  Action action;
  if (step.kind == PipelineStepKind::kExchange) {
    action.kind = ActionKind::kExchange;
    action.sends = tensors_of(step.sends);
    action.receives = tensors_of(step.receives);
    return action;
  }
  action.kind = step.kind == PipelineStepKind::kForward ? ActionKind::kForward : ActionKind::kBackward;
  action.microbatch = static_cast<int16_t>(step.microbatch);
  action.chunk = static_cast<int16_t>(step.chunk);
  return action;
}

}  // namespace

Result<std::vector<std::vector<Action>>> make_schedule(const ScheduleShape& shape) {
  if (shape.stages < 1 || shape.chunks < 1 || shape.microbatches < 1)
    return fail(ErrorKind::kUsage, "a schedule needs at least one stage, chunk and micro-batch, not {}, {} and {}",
                shape.stages, shape.chunks, shape.microbatches);
  if (shape.chunks > 1 && (shape.kind != ScheduleKind::kInterleaved || shape.stages == 1))
    return fail(ErrorKind::kUsage, "{} model chunks per stage need the interleaved schedule and several stages",
                shape.chunks);
  if (shape.microbatches > kMostMicrobatches || int64_t{shape.stages} * shape.chunks > kMostVirtualStages)
    return fail(
        ErrorKind::kUsage,
        "a schedule of {} micro-batches through {} model chunks is longer than can be numbered: at most {} and {}",
        shape.microbatches, int64_t{shape.stages} * shape.chunks, kMostMicrobatches, kMostVirtualStages);
  const bool interleaved = shape.chunks > 1;
  if (interleaved && shape.microbatches % shape.stages != 0)
    return fail(ErrorKind::kUsage,
                "the interleaved schedule needs a number of micro-batches ({}) that divides by the stages ({})",
                shape.microbatches, shape.stages);
  const PipelineShape pipeline{schedule_of(shape.kind), shape.stages, shape.chunks, shape.microbatches};
  std::vector<std::vector<Action>> schedule(static_cast<size_t>(shape.stages));
  for (size_t stage = 0; stage < schedule.size(); ++stage) {
    for (int64_t n = 0; n < num_slots(pipeline); ++n) {
      for (const PipelineStep& step : slot_of_stage(pipeline, static_cast<int64_t>(stage), n))
        schedule[stage].push_back(action_of(step));
    }
  }
  return schedule;
}

std::string draw_schedule(const ScheduleShape& shape, const std::vector<std::vector<Action>>& schedule) {
  // When each (microbatch, virtual stage, backward) ends, in slots; a pass waits for its neighbour in the model.
  std::map<std::tuple<int, int, bool>, int> done;
  std::vector<std::string> lines(schedule.size());
  std::vector<size_t> next(schedule.size(), 0);
  std::vector<int> clock(schedule.size(), 0);
  const int last = shape.stages * shape.chunks - 1;
  const int width = shape.microbatches > 10 ? 2 : 1;
  const std::string idle(static_cast<size_t>(width + (shape.chunks > 1 ? 2 : 1)), '.');
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t s = 0; s < schedule.size(); ++s) {
      while (next[s] < schedule[s].size()) {
        const Action& action = schedule[s][next[s]];
        if (action.kind != ActionKind::kExchange) {
          const bool backward = action.kind == ActionKind::kBackward;
          const int stage = action.chunk * shape.stages + static_cast<int>(s);
          const int needs = backward ? (stage == last ? last : stage + 1) : stage - 1;
          const bool needs_backward = backward && stage != last;
          int start = clock[s];
          if (needs >= 0) {
            auto found = done.find({action.microbatch, needs, needs_backward});
            if (found == done.end()) break;
            start = std::max(start, found->second);
          }
          for (; clock[s] < start; ++clock[s]) lines[s] += idle;
          lines[s] += fmt::format("{}{:>{}}", backward ? 'B' : 'F', action.microbatch, width);
          if (shape.chunks > 1) lines[s] += static_cast<char>('a' + action.chunk);
          done[{action.microbatch, stage, backward}] = ++clock[s];
        }
        ++next[s];
        progress = true;
      }
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace lumos
