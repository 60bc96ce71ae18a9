#include "lumos/program/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace lumos {
namespace {

/// Appends to one stage what it does; leaves out transfers over the ends of the model.
class StageBuilder {
 public:
  StageBuilder(const ScheduleShape& shape, int stage) : shape_(shape), stage_(stage) {}

  void forward(int microbatch, int chunk = 0) { run(ActionKind::kForward, microbatch, chunk); }
  void backward(int microbatch, int chunk = 0) { run(ActionKind::kBackward, microbatch, chunk); }

  void receive_forward(int microbatch, int chunk = 0) {
    if (virtual_stage(chunk) > 0) pending_.receives.push_back(output(microbatch, virtual_stage(chunk) - 1, false));
  }
  void send_forward(int microbatch, int chunk = 0) {
    if (virtual_stage(chunk) + 1 < last()) pending_.sends.push_back(output(microbatch, virtual_stage(chunk), false));
  }
  void receive_backward(int microbatch, int chunk = 0) {
    if (virtual_stage(chunk) + 1 < last()) pending_.receives.push_back(output(microbatch, virtual_stage(chunk), true));
  }
  void send_backward(int microbatch, int chunk = 0) {
    if (virtual_stage(chunk) > 0) pending_.sends.push_back(output(microbatch, virtual_stage(chunk) - 1, true));
  }
  /// Posts what was collected as one exchange.
  void exchange() {
    if (pending_.sends.empty() && pending_.receives.empty()) return;
    pending_.kind = ActionKind::kExchange;
    actions_.push_back(std::move(pending_));
    pending_ = {};
  }

  std::vector<Action> take() { return std::move(actions_); }

 private:
  int virtual_stage(int chunk) const { return chunk * shape_.stages + stage_; }
  int last() const { return shape_.stages * shape_.chunks; }
  static Tensor output(int microbatch, int virtual_stage, bool backward) {
    return {static_cast<int16_t>(microbatch), static_cast<int16_t>(virtual_stage), backward};
  }
  void run(ActionKind kind, int microbatch, int chunk) {
    Action action;
    action.kind = kind;
    action.microbatch = static_cast<int16_t>(microbatch);
    action.chunk = static_cast<int16_t>(chunk);
    actions_.push_back(action);
  }

  const ScheduleShape& shape_;
  int stage_;
  Action pending_;
  std::vector<Action> actions_;
};

/// Without a pipeline each micro-batch goes forth and back before the next.
std::vector<Action> one_stage(const ScheduleShape& shape) {
  StageBuilder stage(shape, 0);
  for (int m = 0; m < shape.microbatches; ++m) {
    stage.forward(m);
    stage.backward(m);
  }
  return stage.take();
}

std::vector<Action> gpipe_stage(const ScheduleShape& shape, int index) {
  StageBuilder stage(shape, index);
  for (int m = 0; m < shape.microbatches; ++m) {
    stage.receive_forward(m);
    stage.exchange();
    stage.forward(m);
    stage.send_forward(m);
    stage.exchange();
  }
  for (int m = 0; m < shape.microbatches; ++m) {
    stage.receive_backward(m);
    stage.exchange();
    stage.backward(m);
    stage.send_backward(m);
    stage.exchange();
  }
  return stage.take();
}

/// PipeDream-flush as Megatron runs it: as many forwards ahead as stages follow, then one forward, one backward.
std::vector<Action> one_forward_one_backward_stage(const ScheduleShape& shape, int index) {
  StageBuilder stage(shape, index);
  const int ahead = std::min(shape.stages - index - 1, shape.microbatches);
  const int steady = shape.microbatches - ahead;
  for (int m = 0; m < ahead; ++m) {
    stage.receive_forward(m);
    stage.exchange();
    stage.forward(m);
    stage.send_forward(m);
    stage.exchange();
  }
  if (steady > 0) stage.receive_forward(ahead);
  stage.exchange();
  for (int i = 0; i < steady; ++i) {
    stage.forward(ahead + i);
    stage.send_forward(ahead + i);
    stage.receive_backward(i);
    stage.exchange();
    stage.backward(i);
    stage.send_backward(i);
    if (i + 1 < steady) stage.receive_forward(ahead + i + 1);
    stage.exchange();
  }
  for (int i = steady; i < shape.microbatches; ++i) {
    stage.receive_backward(i);
    stage.exchange();
    stage.backward(i);
    stage.send_backward(i);
    stage.exchange();
  }
  return stage.take();
}

/// Megatron's interleaved 1F1B: virtual micro-batch k of a stage is chunk (k / stages) % chunks of micro-batch
/// k / (stages * chunks) * stages + k % stages; backwards run the chunks in reverse.
class InterleavedStage {
 public:
  InterleavedStage(const ScheduleShape& shape, int index) : shape_(shape), index_(index), stage_(shape, index) {}

  std::vector<Action> build() {
    const int total = shape_.microbatches * shape_.chunks;
    const int ahead = std::min(total, (shape_.stages - index_ - 1) * 2 + (shape_.chunks - 1) * shape_.stages);
    receive_forward(0);
    stage_.exchange();
    for (int k = 0; k < ahead; ++k) {
      forward(k);
      send_forward(k);
      if (k + 1 < total) receive_forward(k + 1);
      if (k + 1 == ahead && ahead < total) receive_backward(0);
      stage_.exchange();
    }
    for (int i = 0; i + ahead < total; ++i) {
      forward(ahead + i);
      if (ahead == 0 && i == 0) receive_backward(0);
      backward(i);
      send_forward(ahead + i);
      send_backward(i);
      if (ahead + i + 1 < total) receive_forward(ahead + i + 1);
      if (i + 1 < total) receive_backward(i + 1);
      stage_.exchange();
    }
    for (int i = total - ahead; i < total; ++i) {
      if (ahead == total && i == 0) {
        receive_backward(0);
        stage_.exchange();
      }
      backward(i);
      send_backward(i);
      if (i + 1 < total) receive_backward(i + 1);
      stage_.exchange();
    }
    return stage_.take();
  }

 private:
  int chunk(int k) const { return k / shape_.stages % shape_.chunks; }
  int microbatch(int k) const { return k / (shape_.stages * shape_.chunks) * shape_.stages + k % shape_.stages; }
  int backward_chunk(int k) const { return shape_.chunks - 1 - chunk(k); }
  void forward(int k) { stage_.forward(microbatch(k), chunk(k)); }
  void backward(int k) { stage_.backward(microbatch(k), backward_chunk(k)); }
  void send_forward(int k) { stage_.send_forward(microbatch(k), chunk(k)); }
  void receive_forward(int k) { stage_.receive_forward(microbatch(k), chunk(k)); }
  void send_backward(int k) { stage_.send_backward(microbatch(k), backward_chunk(k)); }
  void receive_backward(int k) { stage_.receive_backward(microbatch(k), backward_chunk(k)); }

  const ScheduleShape& shape_;
  int index_;
  StageBuilder stage_;
};

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
  std::vector<std::vector<Action>> schedule;
  for (int stage = 0; stage < shape.stages; ++stage) {
    if (interleaved)
      schedule.push_back(InterleavedStage(shape, stage).build());
    else if (shape.stages == 1 && shape.kind != ScheduleKind::kGpipe)
      schedule.push_back(one_stage(shape));
    else if (shape.kind == ScheduleKind::kGpipe)
      schedule.push_back(gpipe_stage(shape, stage));
    else
      schedule.push_back(one_forward_one_backward_stage(shape, stage));
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
