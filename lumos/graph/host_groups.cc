#include "lumos/graph/host_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "lumos/graph/collective.h"
#include "lumos/graph/host_transfers.h"
#include "lumos/trace/collective_names.h"

namespace lumos {

namespace {

// What gloo starts for a group (ProcessGroupGloo::Options::threads).
constexpr size_t kThreadsPerGroup = 2;
// How much closer together the ends of operations must be than by the next best way.
constexpr double kByFar = 0.5;
// A job with so many groups per rank is not told apart by trying.
constexpr size_t kMostGroups = 12;

struct Operation {
  CollectiveKind kind = CollectiveKind::kUnknown;
  int64_t end_ns = 0;
  size_t cluster = 0;
};

/// A rank's threads in clusters of one group each, and what they ran.
struct RankThreads {
  std::vector<uint32_t> lanes;                           ///< by thread id
  std::vector<uint32_t> groups;                          ///< that the rank is in, as listed
  std::vector<size_t> cluster;                           ///< per entry of lanes
  std::vector<std::pair<size_t, Operation>> operations;  ///< with their entry of lanes, by start
};

RankThreads threads_of(const EventTable& table) {
  RankThreads out;
  const std::vector<bool> communicates = transfer_lanes(table);
  for (uint32_t lane = 0; lane < communicates.size(); ++lane) {
    if (communicates[lane]) out.lanes.push_back(lane);
  }
  std::sort(out.lanes.begin(), out.lanes.end(),
            [&](uint32_t a, uint32_t b) { return table.lanes[a].tid < table.lanes[b].tid; });
  for (uint32_t g = 0; g < table.info.groups.size(); ++g) {
    const std::vector<int32_t>& ranks = table.info.groups[g].ranks;
    const bool member = std::find(ranks.begin(), ranks.end(), table.info.rank) != ranks.end();
    if (ranks.size() > 1 && member) out.groups.push_back(g);
  }
  std::map<uint32_t, size_t> entry;
  for (size_t i = 0; i < out.lanes.size(); ++i) entry[out.lanes[i]] = i;
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (entry.count(table.lane[row]) > 0 && is_communication(table, row)) rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return table.ts_ns[a] < table.ts_ns[b]; });
  for (uint32_t row : rows) {
    const CollectiveKind kind = kind_of_kernel_name(table.name_of(row));
    out.operations.push_back({entry[table.lane[row]], {kind, table.info.base_ns + table.end_ns(row)}});
  }
  return out;
}

/// Cuts the threads into `count` clusters where their ids are furthest apart: a group's are started together.
void cluster_threads(const EventTable& table, size_t count, RankThreads& threads) {
  const auto gap = [&](size_t i) { return table.lanes[threads.lanes[i]].tid - table.lanes[threads.lanes[i - 1]].tid; };
  std::vector<size_t> cuts(threads.lanes.size() - 1);
  std::iota(cuts.begin(), cuts.end(), size_t{1});
  std::stable_sort(cuts.begin(), cuts.end(), [&](size_t a, size_t b) { return gap(a) > gap(b); });
  cuts.resize(count - 1);
  threads.cluster.assign(threads.lanes.size(), 0);
  for (size_t i = 0; i < threads.lanes.size(); ++i) {
    for (size_t cut : cuts) threads.cluster[i] += i >= cut ? 1 : 0;
  }
  for (auto& [entry, operation] : threads.operations) operation.cluster = threads.cluster[entry];
}

/// The first way to choose `count` of `from` positions, in order; see next_choice.
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

class Chooser {
 public:
  explicit Chooser(std::span<const EventTable* const> tables) : tables_(tables) {
    for (const EventTable* table : tables) ranks_.push_back(threads_of(*table));
  }

  LaneGroups run() {
    size_t least = 1, most = kMostGroups, groups = 0;
    for (const RankThreads& rank : ranks_) {
      if (rank.groups.size() < 2 || rank.lanes.empty() || rank.groups.size() > kMostGroups) return {};
      least = std::max(least, (rank.lanes.size() + kThreadsPerGroup - 1) / kThreadsPerGroup);
      most = std::min({most, rank.lanes.size(), rank.groups.size()});
      groups = std::max(groups, rank.groups.size());
    }
    for (size_t used = least; used <= most; ++used) try_clusters(used, groups);
    const bool sure = best_ && (!second_ns_ || *best_ns_ < kByFar * *second_ns_);
    return sure ? *best_ : LaneGroups{};
  }

 private:
  void try_clusters(size_t used, size_t groups) {
    for (size_t r = 0; r < ranks_.size(); ++r) cluster_threads(*tables_[r], used, ranks_[r]);
    std::vector<size_t> choice = first_choice(used);
    do {
      const std::optional<double> ns = distance_ns(choice);
      if (!ns) continue;
      if (!best_ns_ || *ns < *best_ns_) {
        second_ns_ = best_ns_;
        best_ns_ = ns;
        best_ = lanes_of(choice);
      } else if (!second_ns_ || *ns < *second_ns_) {
        second_ns_ = ns;
      }
    } while (next_choice(choice, groups));
  }

  /// How far the ends of one operation are from each other on the members of its group, beyond what their clocks
  /// differ; nothing where members did not run the same operations.
  std::optional<double> distance_ns(const std::vector<size_t>& choice) const {
    using Key = std::pair<std::string, std::vector<int32_t>>;
    std::map<Key, std::vector<std::vector<Operation>>> of_group;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (choice.back() >= ranks_[r].groups.size()) return std::nullopt;
      std::vector<std::vector<Operation>> own(choice.size());
      for (const auto& [entry, operation] : ranks_[r].operations) own[operation.cluster].push_back(operation);
      for (size_t c = 0; c < choice.size(); ++c) {
        const ProcessGroup& group = tables_[r]->info.groups[ranks_[r].groups[choice[c]]];
        of_group[{group.name, group.ranks}].push_back(std::move(own[c]));
      }
    }
    double sum = 0;
    size_t count = 0;
    for (const auto& [key, members] : of_group) {
      // Traced members that have no thread for the group did not run it.
      size_t traced = 0;
      for (const EventTable* table : tables_) {
        traced += static_cast<size_t>(std::count(key.second.begin(), key.second.end(), table->info.rank));
      }
      if (members.size() != traced) return std::nullopt;
      for (size_t m = 1; m < members.size(); ++m) {
        if (!same_kinds(members[0], members[m])) return std::nullopt;
        sum += spread_ns(members[0], members[m]);
        count += members[m].size();
      }
    }
    if (count == 0) return std::nullopt;
    return sum / static_cast<double>(count);
  }

  static bool same_kinds(const std::vector<Operation>& a, const std::vector<Operation>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Operation& x, const Operation& y) { return x.kind == y.kind; });
  }

  static double spread_ns(const std::vector<Operation>& a, const std::vector<Operation>& b) {
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

  LaneGroups lanes_of(const std::vector<size_t>& choice) const {
    LaneGroups out;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      out.emplace_back(tables_[r]->lanes.size(), kNoIndex);
      for (size_t i = 0; i < ranks_[r].lanes.size(); ++i) {
        out[r][ranks_[r].lanes[i]] = ranks_[r].groups[choice[ranks_[r].cluster[i]]];
      }
    }
    return out;
  }

  std::span<const EventTable* const> tables_;
  std::vector<RankThreads> ranks_;
  std::optional<LaneGroups> best_;
  std::optional<double> best_ns_, second_ns_;
};

}  // namespace

LaneGroups groups_of_host_lanes(std::span<const EventTable* const> tables) {
  if (tables.size() < 2) return {};
  return Chooser(tables).run();
}

}  // namespace lumos
