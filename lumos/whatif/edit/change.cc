#include "lumos/whatif/edit/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "lumos/sim/overlap.h"
#include "lumos/trace/table/kernel_family.h"
#include "lumos/whatif/edit/graph_edit.h"
#include "lumos/whatif/edit/link_speed.h"
#include "lumos/whatif/edit/missing_members.h"
#include "lumos/whatif/edit/scale_batch.h"
#include "lumos/whatif/edit/turns.h"
#include "lumos/whatif/times/fused_time.h"
#include "lumos/whatif/times/kernel_floor.h"
#include "lumos/whatif/times/launching_operator.h"
#include "lumos/whatif/times/name_match.h"
#include "lumos/whatif/times/other_cluster.h"
#include "lumos/whatif/times/tensor_shapes.h"

namespace lumos {

namespace {

/// Work that a fused kernel cannot take over: its time is arithmetic, or waiting for others.
bool stays_apart(KernelFamily family) {
  return family == KernelFamily::kGemm || family == KernelFamily::kConvolution || family == KernelFamily::kAttention ||
         family == KernelFamily::kCommunication;
}

class Changer {
 public:
  Changer(const LinkedJob& job, ExecGraph graph)
      : job_(job), edit_(std::move(graph)), kernel_of_(edit_.graph().size(), kNoIndex) {
    const LinkedGraph& linked = job_.linked;
    for (uint32_t k = 0; k < linked.transfer_task.size(); ++k) {
      if (linked.arrive_task[k] != kNoIndex) kernel_of_[linked.arrive_task[k]] = k;
      if (linked.transfer_task[k] != kNoIndex) kernel_of_[linked.transfer_task[k]] = k;
    }
  }

  Result<ScaleMatch> apply(const Change& change, const ChangeList& list) {
    using enum ChangeKind;
    match_ = {change.text, 0, 0, {}};
    launched_alone_ = 0;
    const std::regex expression = TRY(compile_pattern(change.text, change.pattern));
    switch (change.kind) {
      case kRemoveKernel:
        remove_kernels(expression);
        break;
      case kRemoveOperator:
        remove_operators(expression);
        break;
      case kFuse:
        fuse(expression);
        break;
      case kNoLaunchOverhead:
        free_launches();
        break;
      case kDropSync:
        drop_syncs(expression);
        break;
      case kOverlapNone:
      case kOverlapFull:
        TRY_STATUS(overlap(change, expression));
        break;
      case kBandwidth:
      case kLatency:
        TRY_STATUS(speed_links(change, list.gpus_per_node));
        break;
      case kScaleBatch:
        retime(TRY(scale_batch(job_, {change.factor, list.batch_size})));
        break;
      case kCluster:
        retime(TRY(on_other_cluster(job_, list.from_cluster.get(), *change.cluster)));
        break;
      case kKernelTimes:
        set_times(with_kernel_times(job_, *change.kernel_times));
        break;
    }
    if (match_.tasks == 0 && launched_alone_ > 0) {
      return fail(
          ErrorKind::kUsage,
          "{}: there is nothing to fuse: none of its {} instances launches two kernels or more on a stream, matrix "
          "products, attention and communication apart",
          change.text, launched_alone_);
    }
    if (match_.tasks == 0 && !match_.notes.empty()) {
      return fail(ErrorKind::kUsage, "{} matches nothing: {}", change.text, match_.notes.front());
    }
    if (match_.tasks == 0) {
      return fail(ErrorKind::kUsage, "{} matches nothing; `lumos inspect` lists names and groups", change.text);
    }
    return match_;
  }

  /// `matches` are the answers to all changes; what concerns several of them is noted there.
  Result<ExecGraph> finish(std::vector<ScaleMatch>& matches) {
    free_idle_launches();
    run_alone(matches);
    ExecGraph& changed = graph();
    for (uint32_t e = 0; e < changed.edges.size(); ++e) {
      // Room on the GPU opens with a part of a kernel: none of one that is gone.
      if (changed.edges[e].kind == EdgeKind::kFirstWave && changed.duration_ns[changed.edges[e].source] == 0) {
        changed.edges[e].lag_ns = 0;
      }
    }
    follow_missing_members(job_, changed);
    return edit_.finish();
  }

 private:
  ExecGraph& graph() { return edit_.graph(); }

  template <class Body>
  void for_edges(uint32_t task, Body body) {
    for (uint32_t e = graph().edge_begin[task]; e < graph().edge_begin[task + 1]; ++e) body(e, graph().edges[e]);
  }

  void count(uint32_t task) {
    ++match_.tasks;
    match_.time_ms += static_cast<double>(graph().duration_ns[task]) / 1e6;
  }

  uint32_t launch_of(uint32_t task) {
    uint32_t launch = kNoIndex;
    for_edges(task, [&](uint32_t, const Edge& edge) {
      if (edge.kind == EdgeKind::kLaunch) launch = edge.source;
    });
    return launch;
  }

  /// Durations by their factors; room on the GPU opens with a part of a kernel, and so with its factor.
  void retime(const Retiming& times) {
    for (uint32_t task = 0; task < graph().size(); ++task) {
      if (!times.touched[task]) continue;
      count(task);
      graph().duration_ns[task] = multiplied_ns(graph().duration_ns[task], times.factor[task]);
    }
    for (Edge& edge : graph().edges) {
      if (edge.kind != EdgeKind::kFirstWave) continue;
      edge.lag_ns = static_cast<int32_t>(
          std::min<double>(INT32_MAX, std::round(static_cast<double>(edge.lag_ns) * times.factor[edge.source])));
    }
    match_.notes = times.notes;
  }

  /// Measured times stand for the kernel as it then is, whatever other changes did to it; what was removed stays so.
  void set_times(Retiming times) {
    const ExecGraph& traced = job_.linked.graph;
    for (uint32_t task = 0; task < graph().size(); ++task) {
      const int64_t now_ns = graph().duration_ns[task];
      if (!times.touched[task] || now_ns <= 0) continue;
      times.factor[task] *= static_cast<double>(traced.duration_ns[task]) / static_cast<double>(now_ns);
    }
    retime(times);
  }

  /// A removed task takes no time and starts with the end of what came before it on its stream: neither its launch nor
  /// the gap before it is waited for.
  void remove_gpu_task(uint32_t task) {
    graph().duration_ns[task] = 0;
    for_edges(task, [&](uint32_t e, Edge& edge) {
      if (edge.kind == EdgeKind::kLaunch) idle_launches_.push_back(edge.source), edit_.drop(e);
      if (edge.kind == EdgeKind::kQueue || edge.kind == EdgeKind::kRendezvous) edit_.drop(e);
      if (edge.kind == EdgeKind::kStream || edge.kind == EdgeKind::kInterStream) edge.lag_ns = 0;
    });
  }

  /// Calls whose every kernel is gone are gone too; one that launches a graph may still launch others.
  void free_idle_launches() {
    if (idle_launches_.empty()) return;
    std::vector<bool> needed(graph().size(), false);
    for (uint32_t e = 0; e < graph().edges.size(); ++e) {
      if (graph().edges[e].kind == EdgeKind::kLaunch && !edit_.is_dropped(e)) needed[graph().edges[e].source] = true;
    }
    for (uint32_t call : idle_launches_) {
      if (!needed[call]) graph().duration_ns[call] = 0;
    }
  }

  void remove_kernels(const std::regex& expression) {
    for (const RankTasks& rank : job_.linked.graph.ranks) {
      NameMatcher names(*rank.table->names, expression);
      for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
        const uint32_t row = graph().event[task];
        if (!is_compute_task(graph().kind[task]) || row == kNoIndex || !names.matches(rank.table->name[row])) continue;
        count(task);
        remove_gpu_task(task);
      }
    }
  }

  void remove_operators(const std::regex& expression) {
    for (const RankTasks& rank : job_.linked.graph.ranks) {
      const std::vector<uint32_t> inside = matching_operator(*rank.table, expression);
      const auto is_inside = [&](uint32_t row) { return row != kNoIndex && inside[row] != kNoIndex; };
      for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
        if (is_gpu_task(graph().kind[task])) {
          const uint32_t launch = launch_of(task);
          if (launch != kNoIndex && is_inside(graph().event[launch])) remove_work(task);
        } else if (is_inside(graph().event[task])) {
          count(task);
          graph().duration_ns[task] = 0;
          drop_waits(task);
        }
      }
    }
  }

  /// A kernel, or a collective from its arrival to its end.
  void remove_work(uint32_t task) {
    count(task);
    remove_gpu_task(task);
    if (graph().kind[task] != TaskKind::kArrive || kernel_of_[task] == kNoIndex) return;
    const uint32_t transfer = job_.linked.transfer_task[kernel_of_[task]];
    if (transfer == kNoIndex) return;
    count(transfer);
    remove_gpu_task(transfer);
  }

  void drop_waits(uint32_t task) {
    for_edges(task, [&](uint32_t e, const Edge& edge) {
      if (edge.kind == EdgeKind::kSync) edit_.drop(e);
    });
  }

  /// By instance of the operator and stream; the first kernel stands for all.
  void fuse(const std::regex& expression) {
    for (const RankTasks& rank : job_.linked.graph.ranks) {
      const std::vector<uint32_t> around = matching_operator(*rank.table, expression);
      std::set<uint32_t> instances(around.begin(), around.end());
      instances.erase(kNoIndex);
      launched_alone_ += instances.size();
      std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> groups;
      for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
        if (graph().kind[task] != TaskKind::kKernel || graph().event[task] == kNoIndex) continue;
        const uint32_t launch = launch_of(task);
        const uint32_t row = launch == kNoIndex ? kNoIndex : graph().event[launch];
        if (row == kNoIndex || around[row] == kNoIndex) continue;
        if (stays_apart(row_family(*rank.table, graph().event[task]))) continue;
        groups[{around[row], graph().processor[task]}].push_back(task);
      }
      const Nesting nested = nesting(*rank.table);
      const ShapeTable shapes(*rank.table);
      const KernelFloors floors(job_.linked.graph, rank);
      const auto part_of = [&](uint32_t task) {
        const uint32_t launch = graph().event[launch_of(task)];
        FusedPart part;
        part.duration_ns = graph().duration_ns[task];
        part.floor_ns = floors.of_row(*rank.table, graph().event[task]);
        const uint32_t op = first_around(nested, launch, [&](uint32_t row) { return shapes.recorded(row); });
        if (op == kNoIndex) return part;
        for (const TensorShape& tensor : shapes.of_row(op)) {
          part.input_bytes += tensor.bytes();
          part.output_bytes =
              std::max(part.output_bytes, tensor.bytes());  // element by element: as large as the largest
        }
        return part;
      };
      for (const auto& [key, kernels] : groups) fuse_kernels(kernels, part_of);
    }
  }

  template <class PartOf>
  void fuse_kernels(const std::vector<uint32_t>& kernels, PartOf part_of) {
    if (kernels.size() < 2) return;
    std::vector<FusedPart> parts;
    for (uint32_t task : kernels) {
      count(task);
      parts.push_back(part_of(task));
    }
    for (size_t i = 1; i < kernels.size(); ++i) remove_gpu_task(kernels[i]);
    graph().duration_ns[kernels[0]] = fused_ns(parts);
  }

  void free_launches() {
    std::vector<bool> launches(graph().size(), false);
    for (Edge& edge : graph().edges) {
      if (edge.kind != EdgeKind::kLaunch) continue;
      edge.lag_ns = 0;
      launches[edge.source] = true;
    }
    for (uint32_t task = 0; task < graph().size(); ++task) {
      if (!launches[task] || graph().kind[task] != TaskKind::kCall) continue;
      count(task);
      graph().duration_ns[task] = 0;
    }
  }

  void drop_syncs(const std::regex& expression) {
    for (const RankTasks& rank : job_.linked.graph.ranks) {
      const std::vector<uint32_t> inside = matching_operator(*rank.table, expression);
      NameMatcher names(*rank.table->names, expression);
      for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
        const uint32_t row = graph().event[task];
        if (graph().kind[task] != TaskKind::kSyncReturn || row == kNoIndex) continue;
        if (inside[row] == kNoIndex && !names.matches(rank.table->name[row])) continue;
        // What it took is the measured wait, not the moment after it.
        ++match_.tasks;
        match_.time_ms += static_cast<double>(rank.table->dur_ns[row]) / 1e6;
        graph().duration_ns[task] = 0;
        drop_waits(task);
      }
    }
  }

  Status overlap(const Change& change, const std::regex& expression) {
    const JobMatches& matches = job_.matches;
    const bool full = change.kind == ChangeKind::kOverlapFull;
    std::vector<bool>& chosen = full ? beside_ : alone_;
    const std::vector<bool>& other = full ? alone_ : beside_;
    chosen.resize(matches.kernels.size(), false);
    for (uint32_t k = 0; k < matches.kernels.size(); ++k) {
      const uint32_t task = job_.linked.transfer_task[k];
      if (task == kNoIndex || matches.kernels[k].group == kNoIndex) continue;
      const CommGroup& group = matches.groups[matches.kernels[k].group];
      if (!std::regex_match(group.name, expression) && !std::regex_match(group.description, expression)) continue;
      if (k < other.size() && other[k]) {
        return fail(ErrorKind::kUsage, "{}: group {} cannot run alone and beside compute at once", change.text,
                    group.name.empty() ? group.description : group.name);
      }
      chosen[k] = true;
      count(task);
    }
    if (full) {
      free_followers();
    } else {
      alone_text_ = change.text;
    }
    return {};
  }

  /// Compute on another stream no longer waits for these transfers; on the same stream it waits for their start.
  void free_followers() {
    const auto is_chosen = [&](uint32_t task) {
      return graph().kind[task] == TaskKind::kTransfer && kernel_of_[task] != kNoIndex && beside_[kernel_of_[task]];
    };
    for (uint32_t task = 0; task < graph().size(); ++task) {
      if (!is_compute_task(graph().kind[task])) continue;
      for_edges(task, [&](uint32_t e, Edge& edge) {
        if (!is_chosen(edge.source)) return;
        const uint32_t arrive = job_.linked.arrive_task[kernel_of_[edge.source]];
        if (edge.kind == EdgeKind::kInterStream) edit_.drop(e);
        if (edge.kind == EdgeKind::kStream && arrive != kNoIndex) edge.source = arrive;
      });
    }
  }

  /// All groups that run alone at once, with the durations that the other changes left: one order for all of them.
  void run_alone(std::vector<ScaleMatch>& matches) {
    if (alone_.empty()) return;
    const Turns turns = take_turns(graph(), job_.linked, alone_);
    for (const auto& [task, turn] : turns.edges) edit_.add(task, turn);
    if (turns.beside == 0) return;
    const auto own =
        std::find_if(matches.begin(), matches.end(), [&](const ScaleMatch& m) { return m.text == alone_text_; });
    if (own == matches.end()) return;
    own->notes.push_back(
        fmt::format("{} kernels stay beside compute: what they wait for waits for that", turns.beside));
  }

  Status speed_links(const Change& change, int64_t gpus_per_node) {
    if (gpus_per_node <= 0) gpus_per_node = devices_per_node(job_);
    if (gpus_per_node <= 0) {
      return fail(ErrorKind::kUsage, "{}: the traces do not tell the GPUs of a node; say --gpus-per-node N",
                  change.text);
    }
    const CrossingTransfers crossing = crosses(job_, change.tier, gpus_per_node);
    const std::vector<bool>& chosen = crossing.chosen;
    if (crossing.unknown > 0) {
      match_.notes.push_back(
          fmt::format("{} transfers ({:.1f} ms) stay as they are: the traces do not tell their ranks", crossing.unknown,
                      crossing.unknown_ms));
    }
    const std::vector<int64_t> latency = transfer_latency_ns(job_);
    for (uint32_t k = 0; k < chosen.size(); ++k) {
      const uint32_t task = job_.linked.transfer_task[k];
      if (!chosen[k] || task == kNoIndex) continue;
      int64_t& duration = graph().duration_ns[task];
      const int64_t rest_ns = std::max<int64_t>(0, duration - job_.transfers.settling_of(k));
      const double late_ns = static_cast<double>(std::min(latency[k], rest_ns));
      const double moving_ns = static_cast<double>(rest_ns) - late_ns;
      count(task);
      const double less_ns =
          change.kind == ChangeKind::kBandwidth ? moving_ns * (1 - 1 / change.factor) : late_ns * (1 - change.factor);
      duration = std::max<int64_t>(0, duration - std::llround(std::max(less_ns, -kLongestWorkNs)));
    }
    return {};
  }

  const LinkedJob& job_;
  GraphEdit edit_;
  std::vector<uint32_t> kernel_of_;  // of JobMatches, for arrivals and transfers
  std::vector<uint32_t> idle_launches_;
  std::vector<bool> alone_, beside_;  // kernels of JobMatches that run alone, and that compute no longer waits for
  std::string alone_text_;            // the last change that asked for it
  size_t launched_alone_ = 0;         // instances of an operator to be fused
  ScaleMatch match_;
};

/// Several factors together may exceed what each may be.
Status check_length(const ExecGraph& graph) {
  double sum_ns = 0;
  for (int64_t duration_ns : graph.duration_ns) sum_ns += static_cast<double>(duration_ns);
  if (sum_ns < kLongestWorkNs) return {};
  return fail(ErrorKind::kUsage, "the changed job would take {:.0f} years of work or more; check the factors",
              sum_ns / (365.25 * 86400e9));
}

}  // namespace

Result<ScaledGraph> apply_changes(const LinkedJob& job, const ChangeList& list) {
  ScaledGraph scaled = TRY(scale_graph(job, list.scales));
  TRY_STATUS(check_length(scaled.graph));
  if (list.changes.empty()) return scaled;
  Changer changer(job, std::move(scaled.graph));
  for (const Change& change : list.changes) {
    if (change.kind != ChangeKind::kKernelTimes) scaled.matches.push_back(TRY(changer.apply(change, list)));
  }
  for (const Change& change : list.changes) {
    if (change.kind == ChangeKind::kKernelTimes) scaled.matches.push_back(TRY(changer.apply(change, list)));
  }
  scaled.graph = TRY(changer.finish(scaled.matches));
  TRY_STATUS(check_length(scaled.graph));
  return scaled;
}

}  // namespace lumos
