#include "lumos/whatif/gains/candidates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "lumos/base/parallel.h"
#include "lumos/sim/overlap.h"
#include "lumos/trace/table/kernel_family.h"
#include "lumos/trace/table/kernel_name.h"
#include "lumos/trace/table/nesting.h"
#include "lumos/whatif/gains/peers.h"
#include "lumos/whatif/times/cpu_time.h"

namespace lumos {

namespace {

using Key = std::pair<CandidateKind, std::string>;
using Found = std::map<Key, Candidate>;

constexpr std::string_view kStepPrefix = "ProfilerStep";  // the step itself is nobody's optimisation

bool is_scope(const EventTable& table, uint32_t row) {
  const EventKind kind = table.kind[row];
  if (kind == EventKind::kModule) return true;
  return kind == EventKind::kAnnotation && !table.name_of(row).starts_with(kStepPrefix);
}

/// Candidates of one rank. Names are turned into candidates once each, so that the loop over tasks has no look-up by
/// text.
class RankCandidates {
 public:
  RankCandidates(const ExecGraph& graph, const RankTasks& rank)
      : graph_(graph), rank_(rank), table_(*rank.table), nested_(nesting(table_)) {
    for (std::vector<Candidate*>& column : by_name_) column.assign(table_.names->size(), nullptr);
  }

  Found find() {
    for (uint32_t task = rank_.first_task; task < rank_.end_task; ++task) {
      if (is_compute_task(graph_.kind[task]) && graph_.event[task] != kNoIndex) add_compute(task);
    }
    add_syncs();
    add_cpu();
    return std::move(found_);
  }

 private:
  Candidate& candidate(CandidateKind kind, std::string name) {
    Candidate& entry = found_[{kind, name}];
    entry.kind = kind;
    entry.name = std::move(name);
    return entry;
  }

  template <class Text>
  Candidate& named(CandidateKind kind, NameId name, Text text) {
    Candidate*& known = by_name_[static_cast<size_t>(kind)][static_cast<uint32_t>(name)];
    if (known == nullptr) known = &candidate(kind, std::string(text()));
    return *known;
  }

  void add(Candidate& entry, uint32_t task) {
    // Scopes of one name may nest: a task belongs to them once.
    if (!entry.tasks.empty() && entry.tasks.back() == task) return;
    entry.tasks.push_back(task);
    entry.time_ns += graph_.duration_ns[task];
  }

  void add_compute(uint32_t task) {
    const uint32_t row = graph_.event[task];
    const NameId name = table_.name[row];
    const std::string_view text = table_.name_of(row);
    add(named(CandidateKind::kFamily, name, [&] { return family_name(row_family(table_, row)); }), task);
    add(named(CandidateKind::kKernel, name, [&] { return short_kernel_name(text); }), task);
    add(candidate_of_rank(), task);
    bool in_operator = false;
    for (uint32_t at = launching_row(task); at != kNoIndex; at = nested_.parent[at]) {
      const NameId around = table_.name[at];
      if (table_.kind[at] == EventKind::kCpuOp && !in_operator) {
        in_operator = true;
        add(named(CandidateKind::kOperator, around, [&] { return table_.text(around); }), task);
      } else if (is_scope(table_, at)) {
        add(named(CandidateKind::kAnnotation, around, [&] { return table_.text(around); }), task);
      }
    }
  }

  uint32_t launching_row(uint32_t task) const {
    for (uint32_t e = graph_.edge_begin[task]; e < graph_.edge_begin[task + 1]; ++e) {
      if (graph_.edges[e].kind == EdgeKind::kLaunch) return graph_.event[graph_.edges[e].source];
    }
    return kNoIndex;
  }

  Candidate& candidate_of_rank() {
    if (own_ == nullptr) own_ = &candidate(CandidateKind::kRank, std::to_string(rank_.rank));
    return *own_;
  }

  void add_syncs() {
    std::vector<bool> waits(table_.size(), false);
    for (uint32_t task = rank_.first_task; task < rank_.end_task; ++task) {
      if (graph_.kind[task] == TaskKind::kSyncReturn && graph_.event[task] != kNoIndex)
        waits[graph_.event[task]] = true;
    }
    for (uint32_t task = rank_.first_task; task < rank_.end_task; ++task) {
      const uint32_t row = graph_.event[task];
      if (row == kNoIndex || !waits[row] || is_gpu_task(graph_.kind[task])) continue;
      const NameId name = table_.name[row];
      Candidate& entry = named(CandidateKind::kSync, name, [&] { return table_.text(name); });
      add(entry, task);
      for (uint32_t e = graph_.edge_begin[task]; e < graph_.edge_begin[task + 1]; ++e) {
        if (graph_.edges[e].kind == EdgeKind::kSync) entry.waits.push_back(e);
      }
    }
  }

  void add_cpu() {
    const std::vector<int64_t> cpu = program_cpu_ns(graph_, rank_);
    Candidate& host = candidate(CandidateKind::kHost, "all CPU time");
    Candidate& own = candidate_of_rank();
    own.fixed_ns.assign(own.tasks.size(), 0);
    for (uint32_t task = rank_.first_task; task < rank_.end_task; ++task) {
      const int64_t own_ns = cpu[task - rank_.first_task];
      if (own_ns <= 0) continue;
      add_part(host, task, own_ns);
      add_part(own, task, own_ns);
      bool in_operator = false;
      for (uint32_t at = graph_.event[task]; at != kNoIndex; at = nested_.parent[at]) {
        const NameId name = table_.name[at];
        if (table_.kind[at] == EventKind::kCpuOp && !in_operator) {
          in_operator = true;
          add_part(named(CandidateKind::kOperatorCpu, name, [&] { return table_.text(name); }), task, own_ns);
        } else if (is_scope(table_, at)) {
          add_part(named(CandidateKind::kAnnotationCpu, name, [&] { return table_.text(name); }), task, own_ns);
        }
      }
    }
  }

  void add_part(Candidate& entry, uint32_t task, int64_t part_ns) {
    if (!entry.tasks.empty() && entry.tasks.back() == task) return;
    entry.tasks.push_back(task);
    entry.fixed_ns.push_back(graph_.duration_ns[task] - part_ns);
    entry.time_ns += part_ns;
  }

  const ExecGraph& graph_;
  const RankTasks& rank_;
  const EventTable& table_;
  const Nesting nested_;
  Found found_;
  Candidate* own_ = nullptr;
  std::array<std::vector<Candidate*>, static_cast<size_t>(CandidateKind::kCount)> by_name_;
};

void append(Candidate& to, const Candidate& from) {
  to.kind = from.kind;
  to.name = from.name;
  to.tasks.insert(to.tasks.end(), from.tasks.begin(), from.tasks.end());
  to.fixed_ns.insert(to.fixed_ns.end(), from.fixed_ns.begin(), from.fixed_ns.end());
  to.waits.insert(to.waits.end(), from.waits.begin(), from.waits.end());
  to.time_ns += from.time_ns;
}

/// Groups of one purpose on different ranks ("tp" of every pipeline stage) are one thing to work on.
std::string group_label(const CommGroup& group) {
  const bool described = !group.description.empty() && group.description != "undefined";
  return described ? group.description : group.name;
}

/// Transfers by kind and by group. Settling stays, as everywhere where transfers are made faster.
void add_transfers(const LinkedJob& job, Found& found) {
  const ExecGraph& graph = job.linked.graph;
  const JobMatches& matches = job.matches;
  const auto add = [&](CandidateKind kind, std::string name, size_t kernel, uint32_t task) {
    Candidate& entry = found[{kind, name}];
    entry.kind = kind;
    entry.name = std::move(name);
    const int64_t fixed_ns = std::min(job.transfers.settling_of(kernel), graph.duration_ns[task]);
    entry.tasks.push_back(task);
    entry.fixed_ns.push_back(fixed_ns);
    entry.time_ns += graph.duration_ns[task] - fixed_ns;
  };
  for (size_t k = 0; k < matches.kernels.size(); ++k) {
    const uint32_t task = job.linked.transfer_task[k];
    if (task == kNoIndex) continue;
    add(CandidateKind::kCollective, std::string(text_of(matches.kernels[k].kind)), k, task);
    const uint32_t group = matches.kernels[k].group;
    if (group != kNoIndex) add(CandidateKind::kGroup, group_label(matches.groups[group]), k, task);
  }
}

/// Ranks that are slower than their peers could be as fast as these: that much is known to be possible.
void add_peers(const ExecGraph& graph, int threads, Found& found) {
  const std::vector<double> slowdown = kernel_slowdowns(graph, threads);
  for (size_t r = 0; r < graph.ranks.size(); ++r) {
    const auto own = found.find({CandidateKind::kRank, std::to_string(graph.ranks[r].rank)});
    if (own == found.end() || slowdown[r] < kNotableSlowdown) continue;
    for (uint32_t task : own->second.tasks) {
      const double slower = is_compute_task(graph.kind[task]) ? slowdown[r] : 1;
      own->second.peers_ns.push_back(std::llround(static_cast<double>(graph.duration_ns[task]) / slower));
    }
  }
}

}  // namespace

std::string_view candidate_kind_name(CandidateKind kind) {
  switch (kind) {
    case CandidateKind::kFamily:
      return "family";
    case CandidateKind::kKernel:
      return "kernel";
    case CandidateKind::kOperator:
      return "op";
    case CandidateKind::kAnnotation:
      return "scope";
    case CandidateKind::kOperatorCpu:
      return "op-cpu";
    case CandidateKind::kAnnotationCpu:
      return "scope-cpu";
    case CandidateKind::kCollective:
      return "comm";
    case CandidateKind::kGroup:
      return "group";
    case CandidateKind::kSync:
      return "sync";
    case CandidateKind::kHost:
      return "host";
    case CandidateKind::kRank:
    case CandidateKind::kCount:
      break;
  }
  return "rank";
}

std::vector<Candidate> find_candidates(const LinkedJob& job, int threads) {
  const ExecGraph& graph = job.linked.graph;
  std::vector<Found> of_rank(graph.ranks.size());
  parallel_for(graph.ranks.size(), threads,
               [&](size_t r) { of_rank[r] = RankCandidates(graph, graph.ranks[r]).find(); });
  Found found;
  for (Found& rank : of_rank) {
    for (auto& [key, candidate] : rank) append(found[key], candidate);
    rank.clear();
  }
  add_transfers(job, found);
  add_peers(graph, threads, found);
  std::vector<Candidate> out;
  for (auto& [key, candidate] : found) {
    if (!candidate.tasks.empty()) out.push_back(std::move(candidate));
  }
  return out;
}

}  // namespace lumos
