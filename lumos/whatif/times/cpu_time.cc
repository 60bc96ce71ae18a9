#include "lumos/whatif/times/cpu_time.h"

#include <algorithm>
#include <map>

#include "lumos/whatif/times/profiler_cost.h"

namespace lumos {

namespace {

// A call that lasts longer than this many times the median of its name was blocked, say by a full launch queue. Work in
// calls of one name varies by tens of percent; what varies by more is waiting.
constexpr int64_t kBlockedFactor = 3;

bool is_cpu(TaskKind kind) { return kind == TaskKind::kHost || kind == TaskKind::kCall; }

/// The median duration of the calls of each name.
std::map<NameId, int64_t> usual_calls(const ExecGraph& graph, const RankTasks& rank) {
  std::map<NameId, std::vector<int64_t>> durations;
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    if (graph.kind[task] != TaskKind::kCall || graph.event[task] == kNoIndex) continue;
    durations[rank.table->name[graph.event[task]]].push_back(graph.duration_ns[task]);
  }
  std::map<NameId, int64_t> usual;
  for (auto& [name, values] : durations) {
    const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    usual[name] = *middle;
  }
  return usual;
}

/// Time without an event that nobody spends computing: what lies before a thread's first event is how the recording
/// began; and on a thread that calls no runtime, say one that loads data, nothing tells work from waiting for work,
/// which is the more likely.
std::vector<bool> idle_tasks(const ExecGraph& graph, const RankTasks& rank) {
  std::vector<bool> driving(graph.processors.size(), false), begun(graph.processors.size(), false);
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    if (graph.kind[task] == TaskKind::kCall) driving[graph.processor[task]] = true;
  }
  std::vector<bool> idle(rank.end_task - rank.first_task, false);
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    const uint32_t processor = graph.processor[task];
    if (processor == kNoProcessor || !is_cpu(graph.kind[task])) continue;
    if (graph.event[task] != kNoIndex) {
      begun[processor] = true;
    } else {
      idle[task - rank.first_task] = !begun[processor] || !driving[processor];
    }
  }
  return idle;
}

}  // namespace

std::vector<int64_t> program_cpu_ns(const ExecGraph& graph, const RankTasks& rank) {
  const std::vector<int64_t> profiler = profiler_part(graph, rank, estimate_profiler_cost(*rank.table));
  const std::vector<bool> idle = idle_tasks(graph, rank);
  const std::map<NameId, int64_t> usual = usual_calls(graph, rank);
  std::vector<int64_t> cpu(rank.end_task - rank.first_task, 0);
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    const size_t i = task - rank.first_task;
    if (!is_cpu(graph.kind[task]) || idle[i]) continue;
    cpu[i] = graph.duration_ns[task] - profiler[i];
    if (graph.kind[task] != TaskKind::kCall || graph.event[task] == kNoIndex) continue;
    const int64_t most = usual.at(rank.table->name[graph.event[task]]);
    if (cpu[i] > kBlockedFactor * most) cpu[i] = most;
  }
  return cpu;
}

}  // namespace lumos
