#include "lumos/whatif/edit/turns.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>

#include "lumos/sim/overlap.h"

namespace lumos {

namespace {

/// Tasks by source: successors of t are at [begin[t], begin[t + 1]), as indexes of edges.
struct Successors {
  explicit Successors(const ExecGraph& graph) : begin(graph.size() + 1, 0), edge(graph.edges.size()) {
    for (const Edge& e : graph.edges) ++begin[e.source + 1];
    for (uint32_t task = 0; task < graph.size(); ++task) begin[task + 1] += begin[task];
    std::vector<uint32_t> next(begin.begin(), begin.end() - 1);
    for (uint32_t e = 0; e < graph.edges.size(); ++e) edge[next[graph.edges[e].source]++] = e;
  }

  std::vector<uint32_t> begin, edge;
};

/// Runs the job in order of time. What waits for a turn is put aside and comes back when its turn comes.
class TurnTaker {
 public:
  TurnTaker(const ExecGraph& graph, const LinkedGraph& linked, const std::vector<bool>& chosen)
      : graph_(graph),
        successors_(graph),
        target_(graph.edges.size()),
        open_(graph.size()),
        ready_ns_(graph.size(), 0),
        meeting_(graph.size(), kNoIndex),
        ranks_(graph.ranks.size()) {
    for (uint32_t task = 0; task < graph.size(); ++task) {
      open_[task] = graph.edge_begin[task + 1] - graph.edge_begin[task];
      for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) target_[e] = task;
    }
    find_meetings(linked, chosen);
  }

  Turns run() {
    for (uint32_t task = 0; task < graph_.size(); ++task) {
      if (open_[task] == 0) queue_.emplace(0, task);
    }
    do {
      while (!queue_.empty()) {
        const uint32_t task = queue_.top().second;
        queue_.pop();
        step(task);
      }
    } while (give_way());
    return std::move(out_);
  }

 private:
  /// A collective with all its members, or one kernel whose other members are not traced.
  struct Meeting {
    std::vector<uint32_t> arrivals;  ///< of the chosen members
    std::vector<uint32_t> held;      ///< of these, the ones that could come by now
    std::vector<uint32_t> claims;    ///< streams of those that have come and whose transfer has not begun
    int64_t since_ns = 0;            ///< when the first could come
    bool alone = true;               ///< else the rule cannot be kept for it
  };

  struct Rank {
    uint32_t claims = 0;                           ///< meetings that have come and whose transfer has not begun
    int64_t alone_ns = 0;                          ///< until when transfers run
    int64_t busy_ns = 0;                           ///< until when compute runs
    std::vector<uint32_t> waiting;                 ///< compute that waits for a transfer to begin
    std::map<uint32_t, uint32_t> last_compute;     ///< by stream
    std::map<uint32_t, uint32_t> last_transfer;    ///< by stream
    std::map<uint64_t, uint32_t> waited_transfer;  ///< by compute stream and transfer stream
  };

  void find_meetings(const LinkedGraph& linked, const std::vector<bool>& chosen) {
    std::map<uint32_t, uint32_t> of_rendezvous;
    for (uint32_t k = 0; k < chosen.size(); ++k) {
      const uint32_t arrive = linked.arrive_task[k], transfer = linked.transfer_task[k];
      if (!chosen[k] || arrive == kNoIndex || transfer == kNoIndex) continue;
      const uint32_t rendezvous = rendezvous_of(arrive, transfer);
      uint32_t index = static_cast<uint32_t>(meetings_.size());
      if (rendezvous != kNoIndex) index = of_rendezvous.try_emplace(rendezvous, index).first->second;
      if (index == meetings_.size()) meetings_.emplace_back();
      meetings_[index].arrivals.push_back(arrive);
      meeting_[arrive] = meeting_[transfer] = index;
    }
  }

  /// The rendezvous that a transfer waits for, if its own arrival takes part in it.
  uint32_t rendezvous_of(uint32_t arrive, uint32_t transfer) const {
    for (uint32_t e = graph_.edge_begin[transfer]; e < graph_.edge_begin[transfer + 1]; ++e) {
      const uint32_t source = graph_.edges[e].source;
      if (graph_.edges[e].kind != EdgeKind::kRendezvous || graph_.kind[source] != TaskKind::kRendezvous) continue;
      for (uint32_t m = graph_.edge_begin[source]; m < graph_.edge_begin[source + 1]; ++m) {
        if (graph_.edges[m].source == arrive) return source;
      }
    }
    return kNoIndex;
  }

  Rank& rank_of(uint32_t task) { return ranks_[graph_.processors[graph_.processor[task]].rank_index]; }

  void step(uint32_t task) {
    if (meeting_[task] != kNoIndex) {
      graph_.kind[task] == TaskKind::kArrive ? arrive(task) : transfer(task);
    } else if (is_compute_task(graph_.kind[task]) && graph_.duration_ns[task] > 0) {
      compute(task);
    } else {
      start(task);
    }
  }

  void start(uint32_t task) {
    const int64_t start_ns = ready_ns_[task], end_ns = start_ns + graph_.duration_ns[task];
    for (uint32_t i = successors_.begin[task]; i < successors_.begin[task + 1]; ++i) {
      const Edge& edge = graph_.edges[successors_.edge[i]];
      const uint32_t next = target_[successors_.edge[i]];
      ready_ns_[next] = std::max(ready_ns_[next], (edge.from_start ? start_ns : end_ns) + edge.lag_ns);
      if (--open_[next] == 0) queue_.emplace(ready_ns_[next], next);
    }
  }

  void arrive(uint32_t task) {
    Meeting& meeting = meetings_[meeting_[task]];
    if (!meeting.alone) return start(task);
    if (meeting.held.empty()) {
      meeting.since_ns = ready_ns_[task];
      pending_.emplace(meeting.since_ns, meeting_[task]);
    }
    meeting.held.push_back(task);
    if (meeting.held.size() < meeting.arrivals.size()) return;
    for (uint32_t member : meeting.held) come(member, meeting);
    meeting.held.clear();
  }

  void come(uint32_t task, Meeting& meeting) {
    Rank& rank = rank_of(task);
    ++rank.claims;
    meeting.claims.push_back(graph_.processor[task]);
    for (const auto& [stream, compute] : rank.last_compute) add_turn(compute, task);
    ready_ns_[task] = std::max(ready_ns_[task], rank.busy_ns);
    start(task);
  }

  void transfer(uint32_t task) {
    Meeting& meeting = meetings_[meeting_[task]];
    if (meeting.alone) {
      Rank& rank = rank_of(task);
      rank.alone_ns = std::max(rank.alone_ns, ready_ns_[task] + graph_.duration_ns[task]);
      rank.last_transfer[graph_.processor[task]] = task;
      std::erase(meeting.claims, graph_.processor[task]);
      if (meeting.claims.empty()) pending_.erase({meeting.since_ns, meeting_[task]});
      give_back(rank);
    }
    start(task);
  }

  /// A meeting no longer keeps compute from this rank.
  void give_back(Rank& rank) {
    if (--rank.claims > 0) return;
    for (uint32_t task : rank.waiting) queue_.emplace(ready_ns_[task], task);
    rank.waiting.clear();
  }

  void compute(uint32_t task) {
    Rank& rank = rank_of(task);
    if (rank.claims > 0) return rank.waiting.push_back(task);
    if (ready_ns_[task] < rank.alone_ns) {
      ready_ns_[task] = rank.alone_ns;
      queue_.emplace(ready_ns_[task], task);
      return;
    }
    const uint32_t stream = graph_.processor[task];
    for (const auto& [transfers, last] : rank.last_transfer) {
      // What follows on this stream begins after this task, and so need not wait again.
      uint32_t& waited = rank.waited_transfer.try_emplace(uint64_t{stream} << 32 | transfers, kNoIndex).first->second;
      if (waited != last) add_turn(last, task);
      waited = last;
    }
    rank.last_compute[stream] = task;
    rank.busy_ns = std::max(rank.busy_ns, ready_ns_[task] + graph_.duration_ns[task]);
    start(task);
  }

  void add_turn(uint32_t source, uint32_t target) {
    Edge turn;
    turn.source = source;
    turn.kind = EdgeKind::kInterStream;
    turn.recorded = false;
    out_.edges.emplace_back(target, turn);
  }

  /// Nothing can go on: members wait for each other through what would have to wait for them. The meeting that came
  /// first goes on as it did in the trace, beside compute. False: all is done.
  bool give_way() {
    if (pending_.empty()) return false;
    Meeting& meeting = meetings_[pending_.begin()->second];
    pending_.erase(pending_.begin());
    meeting.alone = false;
    out_.beside += meeting.arrivals.size();
    for (uint32_t task : meeting.held) start(task);
    for (uint32_t stream : meeting.claims) give_back(ranks_[graph_.processors[stream].rank_index]);
    return true;
  }

  const ExecGraph& graph_;
  Successors successors_;
  std::vector<uint32_t> target_;   // of each edge
  std::vector<uint32_t> open_;     // sources that have not started
  std::vector<int64_t> ready_ns_;  // by those that have
  std::vector<uint32_t> meeting_;  // of arrivals and transfers
  std::vector<Meeting> meetings_;
  std::vector<Rank> ranks_;
  std::set<std::pair<int64_t, uint32_t>> pending_;  // meetings begun and not over: since when, index
  std::priority_queue<std::pair<int64_t, uint32_t>, std::vector<std::pair<int64_t, uint32_t>>, std::greater<>> queue_;
  Turns out_;
};

}  // namespace

Turns take_turns(const ExecGraph& graph, const LinkedGraph& linked, const std::vector<bool>& chosen) {
  return TurnTaker(graph, linked, chosen).run();
}

}  // namespace lumos
