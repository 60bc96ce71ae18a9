#include "lumos/whatif/gains/gains.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <tuple>

#include "lumos/base/parallel.h"
#include "lumos/sim/simulate.h"
#include "lumos/whatif/edit/missing_members.h"

namespace lumos {

namespace {

constexpr double kTenth = 0.9, kHalf = 0.5, kFree = 0;
// A gain is over where this share of it is reached: what a rank, say, still gains when many small waits become shorter
// is no reason to go on.
constexpr double kNearlyAll = 0.9;
// Rounding to nanoseconds apart, who gains less than this share of what the first 10 % promise meets another path.
constexpr double kStraight = 0.99;
// Halvings of the search: to 1/64 of the candidate's time.
constexpr int kHalvings = 6;

/// One worker's copy of the graph, changed and restored for each trial.
class Trial {
 public:
  Trial(const LinkedJob& job, const MissingMembers& missing) : job_(job), missing_(missing), graph_(job.linked.graph) {
    for (uint32_t e = 0; e < graph_.edges.size(); ++e) {
      if (graph_.edges[e].kind == EdgeKind::kFirstWave) first_wave_.push_back(e);
    }
  }

  void apply(const Candidate& candidate, double factor) {
    for (size_t i = 0; i < candidate.tasks.size(); ++i) {
      const uint32_t task = candidate.tasks[i];
      const int64_t fixed_ns = candidate.fixed_ns.empty() ? 0 : candidate.fixed_ns[i];
      const double rest_ns = static_cast<double>(base().duration_ns[task] - fixed_ns);
      graph_.duration_ns[task] = fixed_ns + std::llround(rest_ns * factor);
    }
    if (factor <= 0) drop_waits(candidate);
    follow();
  }

  void apply_peers(const Candidate& candidate) {
    for (size_t i = 0; i < candidate.tasks.size(); ++i) {
      graph_.duration_ns[candidate.tasks[i]] = candidate.peers_ns[i];
    }
    follow();
  }

  void undo(const Candidate& candidate) {
    for (uint32_t task : candidate.tasks) graph_.duration_ns[task] = base().duration_ns[task];
    for (uint32_t e : candidate.waits) graph_.edges[e] = base().edges[e];
    follow();
  }

  const Timeline& run() {
    simulate_into(graph_, timeline_);
    return timeline_;
  }

  ExecGraph take() { return std::move(graph_); }

 private:
  const ExecGraph& base() const { return job_.linked.graph; }

  /// A wait is dropped by making its edge a second copy of the program order before it.
  void drop_waits(const Candidate& candidate) {
    for (uint32_t e : candidate.waits) {
      const auto after = std::upper_bound(graph_.edge_begin.begin(), graph_.edge_begin.end(), e);
      const uint32_t first = *(after - 1), last = *after;
      for (uint32_t other = first; other < last; ++other) {
        if (base().edges[other].kind == EdgeKind::kThread) graph_.edges[e] = base().edges[other];
      }
    }
  }

  void follow() {
    for (uint32_t e : first_wave_) {
      const Edge& measured = base().edges[e];
      const int64_t before_ns = base().duration_ns[measured.source];
      if (before_ns <= 0) continue;
      const double ratio = static_cast<double>(graph_.duration_ns[measured.source]) / static_cast<double>(before_ns);
      graph_.edges[e].lag_ns = static_cast<int32_t>(std::llround(static_cast<double>(measured.lag_ns) * ratio));
    }
    missing_.follow(graph_);
  }

  const LinkedJob& job_;
  const MissingMembers& missing_;
  ExecGraph graph_;
  Timeline timeline_;
  std::vector<uint32_t> first_wave_;
};

/// Runs body(trial, i) for all i, each worker with a graph of its own.
template <class Body>
void for_each_trial(const LinkedJob& job, size_t count, const GainOptions& options, Body body) {
  const int threads = options.threads > 0 ? options.threads : default_threads();
  const size_t workers = std::min(count, static_cast<size_t>(threads));
  const MissingMembers missing(job);
  std::atomic<size_t> next{0};
  parallel_for(workers, static_cast<int>(workers), [&](size_t) {
    Trial trial(job, missing);
    for (size_t i = next.fetch_add(1); i < count && !options.stop.stop_requested(); i = next.fetch_add(1))
      body(trial, i);
  });
}

double gain_of(Trial& trial, const Candidate& candidate, double factor, double base_ns, const StepOf& step_of) {
  trial.apply(candidate, factor);
  const double gain_ns = base_ns - step_of(trial.run());
  trial.undo(candidate);
  return gain_ns;
}

double gain_of_peers(Trial& trial, const Candidate& candidate, double base_ns, const StepOf& step_of) {
  if (candidate.peers_ns.empty()) return 0;
  trial.apply_peers(candidate);
  const double gain_ns = base_ns - step_of(trial.run());
  trial.undo(candidate);
  return gain_ns;
}

/// Who gains as much per nanosecond to the last as from the first stays on the path throughout: a gain grows ever
/// slower with what is taken away, because a step is the longest of many sums.
bool ends_early(const Gain& gain) { return gain.free_ns < kStraight * gain.tenth_ns / (1 - kTenth); }

/// For each of `wanted` the first candidate with the very same tasks: one kernel is often all of a family, and what an
/// operator launches.
std::vector<uint32_t> first_alike(const std::vector<Candidate>& candidates, const std::vector<uint32_t>& wanted) {
  std::map<std::tuple<int64_t, size_t, uint32_t>, std::vector<uint32_t>> seen;
  std::vector<uint32_t> out;
  for (uint32_t c : wanted) {
    const Candidate& own = candidates[c];
    std::vector<uint32_t>& alike = seen[{own.time_ns, own.tasks.size(), own.tasks.front()}];
    const auto same = std::find_if(alike.begin(), alike.end(), [&](uint32_t other) {
      const Candidate& that = candidates[other];
      return that.tasks == own.tasks && that.fixed_ns == own.fixed_ns && that.waits == own.waits &&
             that.peers_ns == own.peers_ns;
    });
    out.push_back(same == alike.end() ? c : *same);
    if (same == alike.end()) alike.push_back(c);
  }
  return out;
}

/// Where the gain ends, by halving: gains grow with what is taken away.
double end_of_gain(Trial& trial, const Candidate& candidate, const Gain& gain, double base_ns, const StepOf& step_of) {
  double none = 0, all = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (none + all) / 2;
    const bool reached = gain_of(trial, candidate, 1 - middle, base_ns, step_of) >= kNearlyAll * gain.free_ns;
    (reached ? all : none) = middle;
  }
  return all;
}

}  // namespace

std::vector<Gain> find_gains(const LinkedJob& job, const std::vector<Candidate>& candidates, const StepOf& step_of,
                             const GainOptions& options) {
  const double base_ns = step_of(simulate(job.linked.graph));
  const double least_ns = options.least_share * base_ns;
  // A step cannot lose more than the time that is taken away, even if every rank's part of it lay on one path.
  std::vector<uint32_t> wanted;
  for (uint32_t c = 0; c < candidates.size(); ++c) {
    if (static_cast<double>(candidates[c].time_ns) >= least_ns || !candidates[c].waits.empty()) wanted.push_back(c);
  }
  const std::vector<uint32_t> first = first_alike(candidates, wanted);
  std::vector<Gain> gains;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (first[i] == wanted[i]) gains.push_back({wanted[i]});
  }
  for_each_trial(job, gains.size(), options, [&](Trial& trial, size_t i) {
    gains[i].free_ns = gain_of(trial, candidates[gains[i].candidate], kFree, base_ns, step_of);
  });
  std::erase_if(gains, [&](const Gain& gain) { return gain.free_ns < least_ns; });
  for_each_trial(job, gains.size(), options, [&](Trial& trial, size_t i) {
    Gain& gain = gains[i];
    const Candidate& candidate = candidates[gain.candidate];
    gain.tenth_ns = gain_of(trial, candidate, kTenth, base_ns, step_of);
    gain.half_ns = gain_of(trial, candidate, kHalf, base_ns, step_of);
    gain.peers_ns = gain_of_peers(trial, candidate, base_ns, step_of);
    if (gain.peers_ns < least_ns) gain.peers_ns = 0;
    if (ends_early(gain)) gain.ends_after = end_of_gain(trial, candidate, gain, base_ns, step_of);
  });
  std::map<uint32_t, Gain> of_first;
  for (const Gain& gain : gains) of_first[gain.candidate] = gain;
  gains.clear();
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto found = of_first.find(first[i]);
    if (found == of_first.end()) continue;
    gains.push_back(found->second);
    gains.back().candidate = wanted[i];
  }
  std::stable_sort(gains.begin(), gains.end(), [](const Gain& a, const Gain& b) {
    return a.reach_ns() != b.reach_ns() ? a.reach_ns() > b.reach_ns() : a.free_ns > b.free_ns;
  });
  return gains;
}

ExecGraph with_candidate(const LinkedJob& job, const Candidate& candidate, double factor) {
  const MissingMembers missing(job);
  Trial trial(job, missing);
  trial.apply(candidate, factor);
  return trial.take();
}

}  // namespace lumos
