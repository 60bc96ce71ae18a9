#include "lumos/graph/match/host_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "lumos/graph/host/collective.h"
#include "lumos/graph/host/host_transfers.h"
#include "lumos/trace/table/collective_names.h"

namespace lumos {

namespace {

// What gloo starts for a group (ProcessGroupGloo::Options::threads). Some may have had nothing to do.
constexpr size_t kThreadsPerGroup = 2;
// How much closer together the ends of operations must be than by the next best way.
constexpr double kByFar = 0.5;
// A job with so many groups per rank is not told apart by trying.
constexpr size_t kMostGroups = 12;
// Rounds in which every rank takes the best of its cuts beside those of the others; two settle all but ties.
constexpr int kRounds = 4;
// Beyond these numbers of ways to look at, operations in all cuts and operations to compare, a job has nothing that
// tells its groups apart, and looking for it takes longer than a second.
constexpr size_t kMostWays = 4096;
constexpr size_t kMostInCuts = 2'000'000;
constexpr size_t kMostCompared = 50'000'000;
constexpr double kNone = std::numeric_limits<double>::infinity();

struct Operation {
  CollectiveKind kind = CollectiveKind::kUnknown;
  int64_t bytes = -1;
  int64_t called_ns = 0;  ///< when it was put into a queue, else when it began
  int64_t end_ns = 0;     ///< on the rank's own clock, counted from its time base
};

/// A rank's threads and what they ran.
struct RankThreads {
  std::vector<uint32_t> lanes;                     ///< by thread id
  std::vector<uint32_t> groups;                    ///< that the rank is in, as listed
  std::vector<std::vector<Operation>> operations;  ///< per entry of lanes
};

/// Tensors of one size on every member; all others may be cut unevenly.
bool is_even(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
}

RankThreads threads_of(const EventTable& table) {
  RankThreads out;
  for (uint32_t g = 0; g < table.info.groups.size(); ++g) {
    const std::vector<int32_t>& ranks = table.info.groups[g].ranks;
    const bool member = std::find(ranks.begin(), ranks.end(), table.info.rank) != ranks.end();
    if (ranks.size() > 1 && member) out.groups.push_back(g);
  }
  const std::vector<bool> communicates = transfer_lanes(table);
  for (uint32_t lane = 0; lane < communicates.size(); ++lane) {
    if (communicates[lane]) out.lanes.push_back(lane);
  }
  if (out.groups.size() < 2 || out.lanes.empty()) return out;
  std::sort(out.lanes.begin(), out.lanes.end(),
            [&](uint32_t a, uint32_t b) { return table.lanes[a].tid < table.lanes[b].tid; });
  std::map<uint32_t, size_t> entry;
  for (size_t i = 0; i < out.lanes.size(); ++i) entry[out.lanes[i]] = i;
  out.operations.resize(out.lanes.size());
  for (const HostTransfer& transfer : find_host_transfers(table, build_host_program(table)).transfers) {
    const auto at = entry.find(table.lane[transfer.row]);
    if (at == entry.end() || !is_communication(table, transfer.row)) continue;
    Operation operation;
    operation.kind = kind_of_kernel_name(table.name_of(transfer.row));
    operation.end_ns = table.info.base_ns + table.end_ns(transfer.row);
    const uint32_t call = transfer.enqueue_row == kNoIndex ? transfer.row : transfer.enqueue_row;
    operation.called_ns = table.ts_ns[call];
    if (is_even(operation.kind)) operation.bytes = transfer_bytes(table, transfer.row, transfer.enqueue_row);
    out.operations[at->second].push_back(operation);
  }
  return out;
}

/// One way to cut a rank's threads into runs of a group each, and what every run ran, in the order of the calls.
struct Cut {
  std::vector<size_t> run_of;  ///< per entry of RankThreads::lanes
  std::vector<std::vector<Operation>> operations;
  std::vector<size_t> programs;  ///< per run: equal numbers are equal sequences of kinds and sizes
  int64_t inner_gap = 0;         ///< how far apart the ids within runs are
};

/// Numbers for sequences of kinds and, where they are to count, sizes.
class ProgramNumbers {
 public:
  explicit ProgramNumbers(bool with_sizes) : with_sizes_(with_sizes) {}

  size_t number_of(const std::vector<Operation>& operations) {
    std::vector<std::pair<CollectiveKind, int64_t>> key;
    for (const Operation& each : operations) key.emplace_back(each.kind, with_sizes_ ? each.bytes : -1);
    return numbers_.try_emplace(std::move(key), numbers_.size()).first->second;
  }

 private:
  bool with_sizes_;
  std::map<std::vector<std::pair<CollectiveKind, int64_t>>, size_t> numbers_;
};

/// The first way to choose `count` positions, in order; see next_choice.
std::vector<size_t> first_choice(size_t count) {
  std::vector<size_t> choice(count);
  std::iota(choice.begin(), choice.end(), size_t{0});
  return choice;
}

bool next_choice(std::vector<size_t>& choice, size_t from) {
  for (size_t i = choice.size(); i-- > 0;) {
    if (choice[i] + (choice.size() - i) < from) {
      ++choice[i];
      for (size_t j = i + 1; j < choice.size(); ++j) choice[j] = choice[j - 1] + 1;
      return true;
    }
  }
  return false;
}

/// In how many ways `lanes` threads can be cut into `count` runs, or a number beyond all limits.
size_t number_of_cuts(size_t lanes, size_t count) {
  if (count > lanes || lanes > kThreadsPerGroup * count) return 0;
  const size_t pairs = lanes - count;
  double ways = 1;
  for (size_t i = 0; i < pairs; ++i) ways = ways * static_cast<double>(count - i) / static_cast<double>(i + 1);
  return ways > static_cast<double>(kMostInCuts) ? kMostInCuts + 1 : static_cast<size_t>(ways + 0.5);
}

/// All ways to cut the threads, in the order of their ids, into `count` runs, the likeliest first: a group's threads
/// are started one after the other, but those of other processes may come between them.
std::vector<Cut> cuts_into(const EventTable& table, const RankThreads& threads, size_t count, ProgramNumbers& numbers) {
  std::vector<Cut> cuts;
  const size_t lanes = threads.lanes.size();
  if (number_of_cuts(lanes, count) == 0) return cuts;
  std::vector<size_t> pairs = first_choice(lanes - count);  // which runs have two threads
  do {
    Cut cut;
    cut.operations.resize(count);
    size_t next = 0;
    for (size_t run = 0; run < count; ++run) {
      const bool two = std::find(pairs.begin(), pairs.end(), run) != pairs.end();
      for (const size_t begin = next; next < begin + (two ? 2 : 1); ++next) {
        cut.run_of.push_back(run);
        const auto& own = threads.operations[next];
        cut.operations[run].insert(cut.operations[run].end(), own.begin(), own.end());
        if (next > begin) {
          cut.inner_gap += table.lanes[threads.lanes[next]].tid - table.lanes[threads.lanes[begin]].tid;
        }
      }
      std::stable_sort(cut.operations[run].begin(), cut.operations[run].end(),
                       [](const Operation& a, const Operation& b) { return a.called_ns < b.called_ns; });
      cut.programs.push_back(numbers.number_of(cut.operations[run]));
    }
    cuts.push_back(std::move(cut));
  } while (next_choice(pairs, count));
  std::stable_sort(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) { return a.inner_gap < b.inner_gap; });
  return cuts;
}

/// How far the ends of the same operations are from each other on two members, beyond what their clocks differ.
double spread_ns(const std::vector<Operation>& a, const std::vector<Operation>& b) {
  std::vector<int64_t> apart;
  for (size_t i = 0; i < a.size(); ++i) apart.push_back(a[i].end_ns - b[i].end_ns);
  if (apart.empty()) return 0;
  const auto middle = apart.begin() + static_cast<ptrdiff_t>(apart.size() / 2);
  std::nth_element(apart.begin(), middle, apart.end());
  const int64_t offset_ns = *middle;
  double sum = 0;
  for (int64_t ns : apart) sum += std::abs(static_cast<double>(ns - offset_ns));
  return sum;
}

/// A way to give the threads of all ranks to groups.
struct Way {
  std::vector<size_t> choice;    ///< per run, the position in every rank's list of groups
  std::vector<const Cut*> cuts;  ///< per rank
  double distance_ns = 0;        ///< mean over the operations
  double next_ns = kNone;        ///< with the next best cut of one rank
};

class Chooser {
 public:
  explicit Chooser(std::span<const EventTable* const> tables) : tables_(tables) {
    for (const EventTable* table : tables) ranks_.push_back(threads_of(*table));
  }

  /// Empty unless one way is better than all others by far.
  LaneGroups run() {
    size_t least = 1, most = kMostGroups;
    for (const RankThreads& rank : ranks_) {
      if (rank.groups.size() < 2 || rank.lanes.empty() || rank.groups.size() > kMostGroups) return {};
      least = std::max(least, (rank.lanes.size() + kThreadsPerGroup - 1) / kThreadsPerGroup);
      most = std::min({most, rank.lanes.size(), rank.groups.size()});
      positions_ = std::max(positions_, rank.groups.size());
    }
    // A wrong size somewhere must not hide what kinds and ends can tell.
    for (const bool with_sizes : {true, false}) {
      for (size_t used = most; used >= least; --used) try_runs(used, with_sizes);
      if (!best_.empty()) break;
    }
    const bool sure = !gives_up_ && best_ns_ < kByFar * second_ns_;
    return sure ? std::move(best_) : LaneGroups{};
  }

 private:
  /// A member of a group: which rank, and which of its runs.
  struct Member {
    size_t rank = 0, run = 0;
  };
  using Groups = std::vector<std::vector<Member>>;
  using Candidates = std::vector<std::vector<const Cut*>>;  ///< per rank

  void try_runs(size_t used, bool with_sizes) {
    size_t in_cuts = 0;
    for (const RankThreads& rank : ranks_) {
      size_t operations = 1;
      for (const auto& own : rank.operations) operations += own.size();
      in_cuts += operations * number_of_cuts(rank.lanes.size(), used);
    }
    gives_up_ = gives_up_ || in_cuts > kMostInCuts;
    if (gives_up_) return;
    ProgramNumbers numbers(with_sizes);
    std::vector<std::vector<Cut>> cuts;
    for (size_t r = 0; r < ranks_.size(); ++r) cuts.push_back(cuts_into(*tables_[r], ranks_[r], used, numbers));
    Candidates all(ranks_.size());
    for (size_t r = 0; r < ranks_.size(); ++r) {
      for (const Cut& cut : cuts[r]) all[r].push_back(&cut);
    }
    std::vector<size_t> choice = first_choice(used);
    do {
      if (const auto groups = members_by_group(choice)) explore(choice, *groups, all);
    } while (next_choice(choice, positions_));
  }

  /// Looks at all ways of a choice in which the members of every group ran the same.
  void explore(const std::vector<size_t>& choice, const Groups& groups, Candidates left) {
    gives_up_ = gives_up_ || ++ways_ > kMostWays || compared_ > kMostCompared;
    if (gives_up_ || !keep_possible(groups, left)) return;
    for (size_t r = 0; r < left.size(); ++r) {
      std::set<std::vector<size_t>> programs;
      for (const Cut* cut : left[r]) programs.insert(cut->programs);
      if (programs.size() < 2) continue;
      for (const std::vector<size_t>& each : programs) {
        Candidates narrower = left;
        std::erase_if(narrower[r], [&](const Cut* cut) { return cut->programs != each; });
        explore(choice, groups, std::move(narrower));
      }
      return;
    }
    if (const std::optional<Way> way = way_of(choice, groups, left)) consider(*way);
  }

  void consider(const Way& way) {
    if (way.distance_ns < best_ns_) {
      second_ns_ = best_ns_;
      best_ns_ = way.distance_ns;
      best_ = lanes_of(way);
    } else {
      second_ns_ = std::min(second_ns_, way.distance_ns);
    }
    second_ns_ = std::min(second_ns_, way.next_ns);
  }

  /// Of cuts with which every group's members ran the same, those whose ends are closest. Nothing without operations.
  std::optional<Way> way_of(const std::vector<size_t>& choice, const Groups& groups, const Candidates& left) {
    Way way{choice, {}, 0};
    for (const auto& own : left) way.cuts.push_back(own.front());
    double worst_ratio = kNone;
    for (int round = 0; round < kRounds; ++round) worst_ratio = improve(groups, left, way);
    size_t count = 0;
    for (const std::vector<Member>& members : groups) {
      const std::vector<Operation>& first = way.cuts[members[0].rank]->operations[members[0].run];
      for (size_t m = 1; m < members.size(); ++m) {
        way.distance_ns += spread_ns(first, way.cuts[members[m].rank]->operations[members[m].run]);
        count += first.size();
        compared_ += first.size();
      }
    }
    if (count == 0) return std::nullopt;
    way.distance_ns /= static_cast<double>(count);
    if (worst_ratio < kNone) way.next_ns = way.distance_ns * worst_ratio;
    return way;
  }

  /// Nothing where a traced member of a group would have no thread for it.
  std::optional<Groups> members_by_group(const std::vector<size_t>& choice) const {
    using Key = std::pair<std::string, std::vector<int32_t>>;
    std::map<Key, std::vector<Member>> of_group;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (choice.back() >= ranks_[r].groups.size()) return std::nullopt;
      for (size_t run = 0; run < choice.size(); ++run) {
        const ProcessGroup& group = tables_[r]->info.groups[ranks_[r].groups[choice[run]]];
        of_group[{group.name, group.ranks}].push_back({r, run});
      }
    }
    Groups out;
    for (auto& [key, members] : of_group) {
      size_t traced = 0;
      for (const EventTable* table : tables_) {
        traced += static_cast<size_t>(std::count(key.second.begin(), key.second.end(), table->info.rank));
      }
      if (members.size() != traced) return std::nullopt;
      out.push_back(std::move(members));
    }
    return out;
  }

  /// Keeps the cuts whose runs have a fellow on every other member of their groups. False if a rank has none.
  static bool keep_possible(const Groups& groups, Candidates& left) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::vector<Member>& members : groups) {
        std::map<size_t, size_t> run_by;  // program to how many members may have run it
        for (const Member& member : members) {
          std::set<size_t> own;
          for (const Cut* cut : left[member.rank]) own.insert(cut->programs[member.run]);
          for (const size_t program : own) ++run_by[program];
        }
        for (const Member& member : members) {
          changed |= std::erase_if(left[member.rank], [&](const Cut* cut) {
                       return run_by[cut->programs[member.run]] < members.size();
                     }) > 0;
          if (left[member.rank].empty()) return false;
        }
      }
    }
    return true;
  }

  /// Every rank takes the cut whose ends are closest to what the others have. Returns how many times further the next
  /// best cut of a rank is at least.
  double improve(const Groups& groups, const Candidates& possible, Way& way) {
    double worst_ratio = kNone;
    for (size_t r = 0; r < possible.size(); ++r) {
      if (possible[r].size() < 2) continue;
      double best_ns = kNone, next_ns = best_ns;
      for (const Cut* cut : possible[r]) {
        const double ns = distance_to_others(groups, r, *cut, way);
        if (ns < best_ns) way.cuts[r] = cut;
        next_ns = std::min(next_ns, std::max(ns, best_ns));
        best_ns = std::min(best_ns, ns);
      }
      worst_ratio = std::min(worst_ratio, next_ns == best_ns ? 1 : next_ns / best_ns);
    }
    return worst_ratio;
  }

  double distance_to_others(const Groups& groups, size_t rank, const Cut& cut, const Way& way) {
    double sum = 0;
    for (const std::vector<Member>& members : groups) {
      const auto own =
          std::find_if(members.begin(), members.end(), [&](const Member& member) { return member.rank == rank; });
      if (own == members.end()) continue;
      // One fellow stands for all: they end together.
      const Member& other = own == members.begin() ? members.back() : members.front();
      if (other.rank == rank) continue;
      const auto& operations = cut.operations[own->run];
      compared_ += operations.size();
      sum += spread_ns(operations, way.cuts[other.rank]->operations[other.run]);
    }
    return sum;
  }

  LaneGroups lanes_of(const Way& way) const {
    LaneGroups out;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      out.emplace_back(tables_[r]->lanes.size(), kNoIndex);
      for (size_t i = 0; i < ranks_[r].lanes.size(); ++i) {
        out[r][ranks_[r].lanes[i]] = ranks_[r].groups[way.choice[way.cuts[r]->run_of[i]]];
      }
    }
    return out;
  }

  std::span<const EventTable* const> tables_;
  std::vector<RankThreads> ranks_;
  bool gives_up_ = false;
  size_t ways_ = 0;       ///< looked at
  size_t compared_ = 0;   ///< operations
  size_t positions_ = 0;  ///< the longest list of groups
  LaneGroups best_;
  double best_ns_ = kNone, second_ns_ = kNone;
};

}  // namespace

LaneGroups groups_of_host_lanes(std::span<const EventTable* const> tables) {
  if (tables.size() < 2) return {};
  return Chooser(tables).run();
}

}  // namespace lumos
