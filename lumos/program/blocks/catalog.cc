#include "lumos/program/blocks/catalog.h"

#include <algorithm>
#include <map>

namespace lumos {
namespace {

bool is_forward(BlockRole role) {
  return role == BlockRole::kForwardEntry || role == BlockRole::kForwardLayer || role == BlockRole::kForwardExit;
}

bool is_backward(BlockRole role) {
  return role == BlockRole::kBackwardEntry || role == BlockRole::kBackwardLayer || role == BlockRole::kBackwardExit;
}

/// What happened in a step, in order: passes by index, and exchanges.
struct Event {
  ActionKind kind;
  int16_t microbatch;
  int16_t chunk;
  uint32_t exchange;  ///< index into StepBlocks::exchanges
};

void add_to_pass(std::vector<PassBlocks>& passes, const Block& block, uint32_t index) {
  if (passes.empty() || passes.back().microbatch != block.label.microbatch || passes.back().chunk != block.label.chunk)
    passes.push_back({block.label.microbatch, block.label.chunk, {}, {}, {}});
  PassBlocks& pass = passes.back();
  switch (block.role) {
    case BlockRole::kForwardEntry:
    case BlockRole::kBackwardEntry:
      pass.entry.push_back(index);
      break;
    case BlockRole::kForwardLayer:
    case BlockRole::kBackwardLayer:
      pass.layers.push_back(index);
      break;
    default:
      pass.exit.push_back(index);
  }
}

StepBlocks collect_step(const RankProgram& rank, int16_t step, std::vector<Event>* events) {
  StepBlocks out;
  out.step = step;
  for (uint32_t i = 0; i < rank.blocks.size(); ++i) {
    const Block& block = rank.blocks[i];
    if (block.label.step != step) continue;
    out.all.push_back(i);
    if (is_forward(block.role) || is_backward(block.role)) {
      auto& passes = is_forward(block.role) ? out.forwards : out.backwards;
      const size_t before = passes.size();
      add_to_pass(passes, block, i);
      const ActionKind kind = is_forward(block.role) ? ActionKind::kForward : ActionKind::kBackward;
      if (passes.size() > before) events->push_back({kind, block.label.microbatch, block.label.chunk, kNoIndex});
      continue;
    }
    switch (block.role) {
      case BlockRole::kInit:
        out.init.push_back(i);
        break;
      case BlockRole::kExchange:
        events->push_back({ActionKind::kExchange, -1, -1, static_cast<uint32_t>(out.exchanges.size())});
        out.exchanges.push_back({i, {}, {}});
        break;
      case BlockRole::kGradSync:
        out.grad_sync.push_back(i);
        break;
      case BlockRole::kOptimizer:
        out.optimizer.push_back(i);
        break;
      case BlockRole::kLog:
        out.log.push_back(i);
        break;
      default:
        break;
    }
  }
  return out;
}

/// Tensors of one exchange in the order in which Megatron posts them.
struct Posted {
  Tensor tensor;
  bool send;
};

std::vector<Posted> posted_one_by_one(const Action& action) {
  std::vector<Posted> posted;
  for (bool backward : {false, true}) {
    for (const Tensor& tensor : action.sends)
      if (tensor.backward == backward) posted.push_back({tensor, true});
    for (const Tensor& tensor : action.receives)
      if (tensor.backward == backward) posted.push_back({tensor, false});
  }
  return posted;
}

/// Direction of a point-to-point launch where the trace tells: 1 sends, -1 receives, 0 unknown.
int direction_of(const RankProgram& rank, const Block& block) {
  const Launch& launch = rank.recovered.list.launches[block.launch_begin];
  return launch.sends ? 1 : launch.receives ? -1 : 0;
}

class ScheduleFollower {
 public:
  ScheduleFollower(const RankProgram& rank, const std::vector<Action>& schedule) : rank_(rank), schedule_(schedule) {}

  /// Writes the tensors of each exchange; false if the step does not follow the schedule.
  bool follow(StepBlocks& step, const std::vector<Event>& events, bool* batched) {
    size_t e = 0, a = 0;
    while (e < events.size() || a < schedule_.size()) {
      std::vector<uint32_t> launches;
      for (; e < events.size() && events[e].kind == ActionKind::kExchange; ++e) launches.push_back(events[e].exchange);
      std::vector<const Action*> actions;
      for (; a < schedule_.size() && schedule_[a].kind == ActionKind::kExchange; ++a) actions.push_back(&schedule_[a]);
      if (!assign(step, launches, actions, batched)) return false;
      if (e == events.size() && a == schedule_.size()) return true;
      if (e == events.size() || a == schedule_.size()) return false;
      if (events[e].kind != schedule_[a].kind || events[e].microbatch != schedule_[a].microbatch ||
          events[e].chunk != schedule_[a].chunk)
        return false;
      ++e;
      ++a;
    }
    return true;
  }

 private:
  bool assign(StepBlocks& step, const std::vector<uint32_t>& launches, const std::vector<const Action*>& actions,
              bool* batched) const {
    std::vector<Posted> posted;
    for (const Action* action : actions)
      for (const Posted& item : posted_one_by_one(*action)) posted.push_back(item);
    if (launches.size() == actions.size() && (posted.size() != actions.size() || *batched)) {
      for (size_t i = 0; i < launches.size(); ++i) {
        step.exchanges[launches[i]].sends = actions[i]->sends;
        step.exchanges[launches[i]].receives = actions[i]->receives;
      }
      *batched |= posted.size() > actions.size();
      return true;
    }
    if (launches.size() != posted.size()) return false;
    std::vector<bool> taken(posted.size(), false);
    for (uint32_t launch : launches) {
      const int direction = direction_of(rank_, rank_.blocks[step.exchanges[launch].block]);
      size_t pick = posted.size();
      for (size_t i = 0; i < posted.size() && pick == posted.size(); ++i)
        if (!taken[i] && (direction == 0 || (direction > 0) == posted[i].send)) pick = i;
      if (pick == posted.size()) return false;
      taken[pick] = true;
      (posted[pick].send ? step.exchanges[launch].sends : step.exchanges[launch].receives)
          .assign(1, posted[pick].tensor);
    }
    return true;
  }

  const RankProgram& rank_;
  const std::vector<Action>& schedule_;
};

/// Forward passes of a whole step: as many as the schedule has, if any step does; else as many as most steps have. A
/// step with an evaluation in it has more, one that the recording cut has fewer.
size_t whole_forwards(const std::vector<StepBlocks>& steps, const std::vector<Action>& schedule) {
  const auto scheduled = static_cast<size_t>(std::count_if(
      schedule.begin(), schedule.end(), [](const Action& action) { return action.kind == ActionKind::kForward; }));
  std::map<size_t, size_t> steps_with;
  for (const StepBlocks& step : steps)
    if (!step.forwards.empty()) ++steps_with[step.forwards.size()];
  if (steps_with.empty() || steps_with.count(scheduled) > 0) return steps_with.empty() ? 0 : scheduled;
  size_t usual = 0, most = 0;
  for (const auto& [forwards, count] : steps_with)
    if (count >= most) usual = forwards, most = count;
  return usual;
}

/// Keeps whole steps and notes the others.
void keep_whole_steps(RankCatalog& catalog, const std::vector<Action>& schedule) {
  const size_t forwards = whole_forwards(catalog.steps, schedule);
  size_t most_backwards = 0;
  for (const StepBlocks& step : catalog.steps)
    if (step.forwards.size() == forwards) most_backwards = std::max(most_backwards, step.backwards.size());
  std::erase_if(catalog.steps, [&](const StepBlocks& step) {
    // An evaluation alone has the forwards of a step and no backwards.
    const bool whole =
        step.forwards.size() == forwards && 2 * step.backwards.size() >= most_backwards && !step.all.empty();
    if (!whole) catalog.left_out.push_back(step.step);
    return !whole;
  });
}

}  // namespace

RankCatalog make_catalog(const RankProgram& rank, const std::vector<Action>& schedule) {
  RankCatalog catalog;
  std::map<int16_t, std::vector<Event>> events;
  const auto steps = static_cast<int16_t>(std::max<size_t>(rank.recovered.step_start_ns.size(), 1) - 1);
  for (int16_t step = 0; step < steps; ++step) catalog.steps.push_back(collect_step(rank, step, &events[step]));
  keep_whole_steps(catalog, schedule);
  catalog.follows_schedule = !catalog.steps.empty();
  for (StepBlocks& step : catalog.steps)
    catalog.follows_schedule &=
        ScheduleFollower(rank, schedule).follow(step, events[step.step], &catalog.batched_exchange);
  return catalog;
}

}  // namespace lumos
