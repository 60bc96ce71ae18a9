#include "lumos/graph/job/link.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <limits>

#include "lumos/base/result.h"

namespace lumos {

namespace {

int64_t origin_of(const ExecGraph& graph) {
  int64_t origin = 0;
  for (uint32_t task = 0; task < graph.size(); ++task) {
    if (task == 0 || graph.measured_start_ns[task] < origin) origin = graph.measured_start_ns[task];
  }
  return origin;
}

/// When each rank's recording begins, after the first one's, on the reference clock.
std::vector<int64_t> start_offsets(const std::vector<ExecGraph>& ranks, const JobMatches& matches) {
  std::vector<int64_t> start(ranks.size());
  for (size_t r = 0; r < ranks.size(); ++r) {
    const int64_t base = ranks[r].ranks[0].table->info.base_ns - ranks[0].ranks[0].table->info.base_ns;
    start[r] = matches.clocks[r].to_reference(origin_of(ranks[r]) + base);
  }
  const int64_t first = start.empty() ? 0 : *std::min_element(start.begin(), start.end());
  for (int64_t& time : start) time -= first;
  return start;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

template <class T>
void free_column(std::vector<T>& column) {
  std::vector<T>().swap(column);
}

/// Gives freed memory back to the system. The columns of one rank come from the heap, those of the job do not: without
/// this a large job would hold its ranks' graphs twice.
void release_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// Ranks between two calls of release_memory(): a call looks at the whole heap.
constexpr size_t kRanksPerRelease = 32;

class Linker {
 public:
  Linker(std::vector<ExecGraph> ranks, const JobMatches& matches, const TransferColumns& transfers)
      : ranks_(std::move(ranks)), many_(ranks_.size() > 1), matches_(matches), transfers_(transfers) {
    CHECK(ranks_.size() == matches.clocks.size());
  }

  LinkedGraph run() {
    const std::vector<int64_t> offsets = start_offsets(ranks_, matches_);
    reserve();
    out_.arrive_task.assign(matches_.kernels.size(), kNoIndex);
    out_.transfer_task.assign(matches_.kernels.size(), kNoIndex);
    rendezvous_base_ = 0;
    for (const ExecGraph& rank : ranks_) rendezvous_base_ += rank.size() + (many_ ? 1 : 0);
    for (size_t r = 0; r < ranks_.size(); ++r) {
      append_rank(r, offsets[r]);
      if ((r + 1) % kRanksPerRelease == 0) release_memory();
    }
    append_rendezvous();
    order();
    return std::move(out_);
  }

 private:
  void reserve() {
    size_t tasks = matches_.size(), edges = 2 * matches_.members.size();
    for (const ExecGraph& rank : ranks_) {
      tasks += rank.size() + 1;
      edges += rank.edges.size() + 64;
    }
    CHECK(tasks < kNoIndex && edges < kNoIndex);
    ExecGraph& g = out_.graph;
    g.event.reserve(tasks);
    g.kind.reserve(tasks);
    g.processor.reserve(tasks);
    g.duration_ns.reserve(tasks);
    g.measured_start_ns.reserve(tasks);
    g.edge_begin.reserve(tasks + 1);
    g.edges.reserve(edges);
    g.edge_begin.push_back(0);
  }

  void add_task(uint32_t event, TaskKind kind, uint32_t processor, int64_t duration_ns, int64_t measured_ns) {
    ExecGraph& g = out_.graph;
    g.event.push_back(event);
    g.kind.push_back(kind);
    g.processor.push_back(processor);
    g.duration_ns.push_back(duration_ns);
    g.measured_start_ns.push_back(measured_ns);
  }
  void close_edges() { out_.graph.edge_begin.push_back(static_cast<uint32_t>(out_.graph.edges.size())); }

  /// The communication kernel of each table row of a rank, kNoIndex elsewhere.
  std::vector<uint32_t> kernel_of_row(size_t r) const {
    std::vector<uint32_t> out(ranks_[r].ranks[0].table->size(), kNoIndex);
    for (uint32_t k = matches_.rank_begin[r]; k < matches_.rank_begin[r + 1]; ++k) out[matches_.kernels[k].row] = k;
    return out;
  }

  void append_rank(size_t r, int64_t offset_ns) {
    ExecGraph& rank = ranks_[r];
    ExecGraph& g = out_.graph;
    const uint32_t start = g.size(), first = start + (many_ ? 1 : 0);
    const uint32_t processors = static_cast<uint32_t>(g.processors.size());
    const std::vector<uint32_t> kernel_of = kernel_of_row(r);
    // A rank that starts later begins with a task of that length; everything without a source waits for it.
    if (many_) {
      add_task(kNoIndex, TaskKind::kRendezvous, kNoProcessor, offset_ns, origin_of(rank));
      close_edges();
    }
    append(g.event, rank.event);
    append(g.kind, rank.kind);
    append(g.duration_ns, rank.duration_ns);
    append(g.measured_start_ns, rank.measured_start_ns);
    for (uint32_t processor : rank.processor) {
      g.processor.push_back(processor == kNoProcessor ? kNoProcessor : processor + processors);
    }
    for (uint32_t task = first; task < g.size(); ++task) {
      const uint32_t begin = rank.edge_begin[task - first], end = rank.edge_begin[task - first + 1];
      for (uint32_t e = begin; e < end; ++e) {
        g.edges.push_back(rank.edges[e]);
        g.edges.back().source += first;
      }
      if (many_ && begin == end) g.edges.push_back({start, 0, EdgeKind::kRendezvous});
      const uint32_t row = g.event[task];
      if (row != kNoIndex && kernel_of[row] != kNoIndex) link_kernel(kernel_of[row], task);
      close_edges();
    }
    append_names(r, start, first, processors);
  }

  /// `task` is the arrival or the transfer of kernel `k`; its edges are being written.
  void link_kernel(uint32_t k, uint32_t task) {
    ExecGraph& g = out_.graph;
    if (g.kind[task] == TaskKind::kArrive) out_.arrive_task[k] = task;
    if (g.kind[task] != TaskKind::kTransfer) return;
    out_.transfer_task[k] = task;
    // Waiting for ranks that are not there is a lag: it belongs to no transfer, and scaling transfers leaves it.
    const int64_t lag = std::min<int64_t>(transfers_.hidden_ns[k], std::numeric_limits<int32_t>::max());
    const int64_t kernel_ns = g.duration_ns[task];
    g.duration_ns[task] = transfers_.transfer_ns[k] + transfers_.settling_of(k) + transfers_.hidden_ns[k] - lag;
    g.measured_start_ns[task] += kernel_ns - g.duration_ns[task];
    const uint32_t match = matches_.kernels[k].match;
    if (match != kNoIndex) {
      g.edges.push_back({rendezvous_base_ + match, static_cast<int32_t>(lag), EdgeKind::kRendezvous});
      return;
    }
    for (size_t e = g.edge_begin[task]; e < g.edges.size(); ++e) {
      if (g.edges[e].kind == EdgeKind::kTransferOf) g.edges[e].lag_ns += static_cast<int32_t>(lag);
    }
  }

  void append_names(size_t r, uint32_t start, uint32_t first, uint32_t processors) {
    ExecGraph& rank = ranks_[r];
    ExecGraph& g = out_.graph;
    for (Processor processor : rank.processors) {
      processor.rank_index = static_cast<uint32_t>(r);
      g.processors.push_back(processor);
    }
    RankTasks names = std::move(rank.ranks[0]);
    names.first_task = start;
    names.end_task = g.size();
    for (Step& step : names.steps) {
      for (uint32_t* task : {&step.first_task, &step.next_task, &step.last_task}) {
        if (*task != kNoIndex) *task += first;
      }
      for (uint32_t& task : step.last_gpu_tasks) task += first;
    }
    g.ranks.push_back(std::move(names));
    rank.ranks.clear();
    free_column(rank.event);
    free_column(rank.kind);
    free_column(rank.processor);
    free_column(rank.duration_ns);
    free_column(rank.measured_start_ns);
    free_column(rank.edge_begin);
    free_column(rank.edges);
    CHECK(processors <= g.processors.size());
  }

  void append_rendezvous() {
    ExecGraph& g = out_.graph;
    for (uint32_t m = 0; m < matches_.size(); ++m) {
      int64_t last_ns = std::numeric_limits<int64_t>::min();
      for (uint32_t k : matches_.members_of(m)) last_ns = std::max(last_ns, matches_.start_of(k));
      add_task(kNoIndex, TaskKind::kRendezvous, kNoProcessor, 0, last_ns);
      for (uint32_t k : matches_.members_of(m)) {
        if (out_.arrive_task[k] != kNoIndex) g.edges.push_back({out_.arrive_task[k], 0, EdgeKind::kRendezvous});
      }
      close_edges();
    }
    out_.counts.rendezvous = matches_.size();
  }

  /// Orders the tasks; a rendezvous that waits for itself was matched wrongly and loses its members.
  void order() {
    ExecGraph& g = out_.graph;
    g.order = order_by_rank(g);
    // Twice as many each time: traces that do not belong together may be wrong all over.
    for (size_t open = 1; g.order.size() < g.size(); open *= 2) {
      open_cycles(open);
      g.order = order_by_rank(g);
    }
  }

  /// Takes the members away from the earliest rendezvous that could not be ordered: later ones may only wait for them.
  void open_cycles(size_t count) {
    ExecGraph& g = out_.graph;
    std::vector<bool> ordered(g.size(), false);
    for (uint32_t task : g.order) ordered[task] = true;
    std::vector<std::pair<int64_t, uint32_t>> stuck;
    for (uint32_t task = rendezvous_base_; task < g.size(); ++task) {
      if (!ordered[task]) stuck.emplace_back(g.measured_start_ns[task], task);
    }
    CHECK(!stuck.empty());
    std::sort(stuck.begin(), stuck.end());
    stuck.resize(std::min(stuck.size(), count));
    for (const auto& [time_ns, task] : stuck) {
      // An edge to the rank's own first task says nothing, and so cuts the cycle without moving any column.
      for (uint32_t e = g.edge_begin[task]; e < g.edge_begin[task + 1]; ++e) {
        g.edges[e].source = first_task_of(g.edges[e].source);
      }
    }
    out_.counts.unlinked += stuck.size();
  }

  uint32_t first_task_of(uint32_t task) const {
    const auto& ranks = out_.graph.ranks;
    const auto after = std::upper_bound(ranks.begin(), ranks.end(), task,
                                        [](uint32_t t, const RankTasks& rank) { return t < rank.first_task; });
    return (after - 1)->first_task;
  }

  std::vector<ExecGraph> ranks_;
  bool many_;  ///< one rank alone begins at 0 and needs no task in front
  const JobMatches& matches_;
  const TransferColumns& transfers_;
  uint32_t rendezvous_base_ = 0;
  LinkedGraph out_;
};

}  // namespace

std::vector<uint32_t> order_by_rank(const ExecGraph& graph) {
  const uint32_t count = graph.size();
  std::vector<uint32_t> next_begin(count + 1, 0), open(count);
  for (const Edge& edge : graph.edges) ++next_begin[edge.source + 1];
  for (uint32_t t = 0; t < count; ++t) next_begin[t + 1] += next_begin[t];
  std::vector<uint32_t> next(graph.edges.size());
  for (uint32_t t = count; t-- > 0;) {
    open[t] = graph.edge_begin[t + 1] - graph.edge_begin[t];
    for (uint32_t e = graph.edge_begin[t]; e < graph.edge_begin[t + 1]; ++e) {
      next[--next_begin[graph.edges[e].source + 1]] = t;
    }
  }
  // The loop above has moved every begin one place on: successors of t are next[next_begin[t + 1] ..).
  auto end_of = [&](uint32_t t) { return t + 2 <= count ? next_begin[t + 2] : uint32_t(next.size()); };
  std::vector<uint32_t> order, ready;
  order.reserve(count);
  for (uint32_t seed = 0; seed < count; ++seed) {
    // Depth first from every task that waits for nothing: a rank runs on until it needs another one.
    if (graph.edge_begin[seed + 1] != graph.edge_begin[seed]) continue;
    ready.push_back(seed);
    while (!ready.empty()) {
      const uint32_t task = ready.back();
      ready.pop_back();
      order.push_back(task);
      for (uint32_t i = end_of(task); i-- > next_begin[task + 1];) {
        if (--open[next[i]] == 0) ready.push_back(next[i]);
      }
    }
  }
  return order;
}

LinkedGraph link_ranks(std::vector<ExecGraph> ranks, const JobMatches& matches, const TransferColumns& transfers) {
  return Linker(std::move(ranks), matches, transfers).run();
}

}  // namespace lumos
