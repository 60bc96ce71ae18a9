#include "lumos/graph/rank/rank_steps.h"

#include <algorithm>
#include <span>

namespace lumos {

namespace {

// A step more than this many times the median is an odd one: evaluation, a checkpoint, garbage collection.
constexpr int64_t kOddFactor = 3;
constexpr size_t kStepsToKnowOddOnes = 4;

NameId process_of(const EventTable& table, uint32_t row) { return table.lanes[table.lane[row]].pid_text; }

// The marks of steps, by process; the process with most of them first.
std::vector<std::vector<uint32_t>> step_rows(const EventTable& table, const HostProgram& host) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] != EventKind::kAnnotation || table.name_of(row).substr(0, 12) != "ProfilerStep") continue;
    if (host.segment_of_row[row] == kNoIndex) continue;
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    if (table.ts_ns[a] != table.ts_ns[b]) return table.ts_ns[a] < table.ts_ns[b];
    return table.dur_ns[a] != table.dur_ns[b] ? table.dur_ns[a] > table.dur_ns[b] : a < b;
  });
  // Some programs mark a step twice, one mark inside the other: the outer one counts.
  std::vector<std::vector<uint32_t>> processes;
  for (uint32_t row : rows) {
    auto same = std::find_if(processes.begin(), processes.end(), [&](const std::vector<uint32_t>& outer) {
      return process_of(table, outer.front()) == process_of(table, row);
    });
    if (same == processes.end()) {
      processes.push_back({row});
    } else if (table.ts_ns[row] >= table.end_ns(same->back())) {
      same->push_back(row);
    }
  }
  std::stable_sort(processes.begin(), processes.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return processes;
}

uint32_t last_segment_of(const EventTable& table, const HostProgram& host, uint32_t row) {
  const uint32_t first = host.segment_of_row[row];
  const HostThread& thread = host.threads[host.segments[first].thread];
  const auto begin = host.segments.begin() + first;
  const auto end = host.segments.begin() + thread.end_segment;
  const int64_t until = table.end_ns(row);
  const auto it = std::partition_point(begin, end, [&](const HostSegment& s) { return s.start_ns < until; });
  return static_cast<uint32_t>(it - host.segments.begin()) - 1;
}

// Steps do not overlap and come in order; one pass over all work, however many steps there are. Work of `process` only,
// where one is given: the file holds the works of several ranks.
void find_last_works(const RankPrograms& p, const NameId* process, std::span<StepRows> steps) {
  for (uint32_t s = 0; s < p.gpu.streams(); ++s) {
    std::vector<uint32_t> last(steps.size(), kNoIndex);
    for (uint32_t w = p.gpu.stream_begin[s]; w < p.gpu.stream_begin[s + 1]; ++w) {
      const uint32_t call = p.gpu.work[w].call;
      const bool own =
          process == nullptr || (call != kNoIndex && process_of(*p.table, p.host.calls[call].row) == *process);
      if (!own) continue;
      const int64_t launched = p.launch_ns(p.gpu.work[w]);
      const auto step = std::partition_point(steps.begin(), steps.end(),
                                             [&](const StepRows& candidate) { return candidate.end_ns <= launched; });
      if (step != steps.end() && launched >= step->start_ns) last[static_cast<size_t>(step - steps.begin())] = w;
    }
    for (size_t i = 0; i < steps.size(); ++i) {
      if (last[i] != kNoIndex) steps[i].last_works.push_back(last[i]);
    }
  }
}

int64_t length_of(const RankPrograms& p, const StepRows& step) {
  int64_t end = step.end_ns;
  for (uint32_t w : step.last_works) end = std::max(end, p.gpu.work[w].end_ns);
  return end - step.start_ns;
}

// GPU work of the first step that began before the recording has no launch in the trace.
bool began_before_recording(const RankPrograms& p, const StepRows& step) {
  for (const GpuWork& work : p.gpu.work) {
    if (work.call == kNoIndex && work.start_ns >= step.start_ns && work.start_ns < step.end_ns) return true;
  }
  return false;
}

void choose(const RankPrograms& p, std::vector<StepRows>& steps) {
  if (steps.size() > 1 && began_before_recording(p, steps.front())) {
    steps.front().chosen = false;
    steps.front().left_out_reason = "its launches began before the recording";
  }
  std::vector<int64_t> lengths;
  for (const StepRows& step : steps) {
    if (step.chosen) lengths.push_back(length_of(p, step));
  }
  if (lengths.size() < kStepsToKnowOddOnes) return;
  std::nth_element(lengths.begin(), lengths.begin() + lengths.size() / 2, lengths.end());
  const int64_t median = lengths[lengths.size() / 2];
  for (StepRows& step : steps) {
    if (!step.chosen || length_of(p, step) <= kOddFactor * median) continue;
    step.chosen = false;
    step.left_out_reason = "more than three times as long as the median step";
  }
}

// Without its last works.
StepRows make_step(const RankPrograms& p, uint32_t first_row, uint32_t last_row, int64_t end_ns) {
  const EventTable& table = *p.table;
  StepRows step;
  step.name = std::string(table.name_of(first_row));
  step.first_segment = p.host.segment_of_row[first_row];
  step.last_segment = last_segment_of(table, p.host, last_row);
  step.start_ns = table.ts_ns[first_row];
  step.end_ns = end_ns;
  return step;
}

}  // namespace

std::vector<StepRows> find_steps(const RankPrograms& programs) {
  const EventTable& table = *programs.table;
  const std::vector<std::vector<uint32_t>> processes = step_rows(table, programs.host);
  std::vector<StepRows> steps;
  if (processes.empty()) return steps;
  const std::vector<uint32_t>& rows = processes.front();
  const NameId own = process_of(table, rows.front());
  const NameId* only = processes.size() > 1 ? &own : nullptr;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool followed = i + 1 < rows.size();
    const int64_t end_ns = followed ? table.ts_ns[rows[i + 1]] : table.end_ns(rows[i]);
    steps.push_back(make_step(programs, rows[i], rows[i], end_ns));
    steps.back().followed = followed;
  }
  find_last_works(programs, only, steps);
  choose(programs, steps);
  for (size_t other = 1; other < processes.size(); ++other) {
    const std::vector<uint32_t>& marks = processes[other];
    const NameId process = process_of(table, marks.front());
    StepRows step = make_step(programs, marks.front(), marks.back(), table.end_ns(marks.back()));
    find_last_works(programs, &process, {&step, 1});
    if (marks.size() > 1) step.name += " to " + std::string(table.name_of(marks.back()));
    step.chosen = false;
    step.left_out_reason = "of process " + std::string(table.text(process)) + ": several ranks in one file";
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace lumos
