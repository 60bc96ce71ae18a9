#include "lumos/graph/match/match.h"

#include <algorithm>
#include <map>

#include "lumos/base/result.h"
#include "lumos/graph/match/match_collect.h"
#include "lumos/graph/match/match_lanes.h"
#include "lumos/graph/match/match_names.h"

namespace lumos {

namespace {

enum class Method : uint8_t { kSequence, kOrder, kEnds };

/// The kernels of one group on one rank, by start.
struct MemberSequence {
  uint32_t rank_index = 0;
  std::vector<uint32_t> kernels;
};

/// Pairs of kernel ids, and what made them.
struct Pairing {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  Method method = Method::kOrder;
};

class Matcher {
 public:
  Matcher(std::span<const EventTable* const> tables, const MatchOptions& options)
      : tables_(tables), options_(options), out_(collect_communication(tables, options)) {}

  JobMatches run() {
    if (tables_.empty()) return std::move(out_);
    refused_.assign(out_.kernels.size(), false);
    method_.assign(out_.kernels.size(), Method::kOrder);
    pivot_ns_ = middle_of_trace();
    out_.clocks[0].known = true;
    for (RankClock& clock : out_.clocks) clock.pivot_ns = pivot_ns_;
    const auto sequences = sequences_by_group();
    for (const auto& members : sequences) match_members(members, false);
    update_clocks();
    const std::vector<LaneSequence> lanes = lanes_without_group(out_);
    find_missing_clocks(lanes, sequences);
    // Now that clocks are known, ends can pair what order could not.
    for (const auto& members : sequences) match_members(members, true);
    match_lanes(lanes);
    update_clocks();
    finish();
    return std::move(out_);
  }

 private:
  int64_t middle_of_trace() const {
    const EventTable& table = *tables_[0];
    if (table.size() == 0) return 0;
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t row = 0; row < table.size(); ++row) {
      first = std::min(first, table.ts_ns[row]);
      last = std::max(last, table.end_ns(row));
    }
    return first + (last - first) / 2;
  }

  void find_missing_clocks(std::vector<LaneSequence> candidates,
                           const std::vector<std::vector<MemberSequence>>& sequences) {
    const bool all_known =
        std::all_of(out_.clocks.begin(), out_.clocks.end(), [](const RankClock& c) { return c.known; });
    if (all_known) return;
    for (uint32_t group = 0; group < sequences.size(); ++group) {
      for (const MemberSequence& member : sequences[group]) {
        candidates.push_back({member.rank_index, kNoIndex, false, group, member.kernels});
      }
    }
    bootstrap_clocks(candidates, out_);
  }

  std::vector<std::vector<MemberSequence>> sequences_by_group() const {
    std::vector<std::vector<MemberSequence>> out(out_.groups.size());
    for (uint32_t id = 0; id < out_.kernels.size(); ++id) {
      const CommKernel& kernel = out_.kernels[id];
      if (kernel.group == kNoIndex) continue;
      auto& members = out[kernel.group];
      if (members.empty() || members.back().rank_index != kernel.rank_index) {
        members.push_back({kernel.rank_index, {}});
      }
      members.back().kernels.push_back(id);
    }
    return out;
  }

  /// Matches everything of one group that is not matched yet. The rank with most kernels is compared with all others
  /// first; what that leaves over is compared with the next, and so may still join a match that others have made.
  void match_members(const std::vector<MemberSequence>& members, bool clocks_known) {
    if (clocks_known) take_apart_if_split(members);
    std::vector<uint32_t> by_count(members.size());
    for (uint32_t m = 0; m < members.size(); ++m) by_count[m] = m;
    std::stable_sort(by_count.begin(), by_count.end(),
                     [&](uint32_t x, uint32_t y) { return members[x].kernels.size() > members[y].kernels.size(); });
    for (uint32_t reference : by_count) {
      for (uint32_t m = 0; m < members.size(); ++m) {
        if (m == reference) continue;
        const MemberSequence left =
            without(members[m], [&](uint32_t id) { return out_.kernels[id].match != kNoIndex; });
        if (left.kernels.empty()) continue;
        const MemberSequence open = without(members[reference], [&](uint32_t id) {
          return out_.kernels[id].match != kNoIndex && has_rank(out_.kernels[id].match, left.rank_index);
        });
        if (!open.kernels.empty()) join(pair_members(open, left, clocks_known));
      }
    }
  }

  /// Where members ran different numbers of collectives, order may have matched two parts of a group, each by itself.
  void take_apart_if_split(const std::vector<MemberSequence>& members) {
    const bool even = std::all_of(members.begin(), members.end(), [&](const MemberSequence& member) {
      return member.kernels.size() == members[0].kernels.size();
    });
    if (even) return;
    for (const MemberSequence& member : members) {
      for (uint32_t id : member.kernels) {
        uint32_t& match = out_.kernels[id].match;
        if (match != kNoIndex) sets_[match].clear();
        match = kNoIndex;
      }
    }
  }

  template <class Predicate>
  static MemberSequence without(const MemberSequence& sequence, Predicate unwanted) {
    MemberSequence out{sequence.rank_index, {}};
    for (uint32_t id : sequence.kernels) {
      if (!unwanted(id)) out.kernels.push_back(id);
    }
    return out;
  }

  bool has_rank(uint32_t match, uint32_t rank_index) const {
    const auto& set = sets_[match];
    return std::any_of(set.begin(), set.end(), [&](uint32_t id) { return out_.kernels[id].rank_index == rank_index; });
  }

  Pairing pair_members(const MemberSequence& a, const MemberSequence& b, bool clocks_known) {
    Pairing out = pair_by_sequence(a, b);
    if (!out.pairs.empty() && in_call_order(out)) return out;
    if (out.pairs.empty() && a.kernels.size() == b.kernels.size()) {
      for (size_t i = 0; i < a.kernels.size(); ++i) out.pairs.emplace_back(a.kernels[i], b.kernels[i]);
    }
    const bool common_clock = out_.clocks[a.rank_index].known && out_.clocks[b.rank_index].known && clocks_known;
    if (!out.pairs.empty() && ends_agree(out, common_clock)) return out;
    out.pairs.clear();
    if (!common_clock) return out;
    const auto a_spans = spans_of(out_, a.kernels, true), b_spans = spans_of(out_, b.kernels, true);
    for (const auto& [i, j] : pair_by_ends(a_spans, b_spans, 0, group_tolerance(a_spans))) {
      out.pairs.emplace_back(a.kernels[i], b.kernels[j]);
    }
    out.method = Method::kEnds;
    return out;
  }

  /// Ends of one group's kernels may lie a tenth of their duration apart, as end_tolerance_ns has it for one pair.
  static int64_t group_tolerance(std::vector<CommSpan> spans) {
    const auto middle = spans.begin() + static_cast<ptrdiff_t>(spans.size() / 2);
    std::nth_element(spans.begin(), middle, spans.end(), [](const CommSpan& x, const CommSpan& y) {
      return x.end_ns - x.start_ns < y.end_ns - y.start_ns;
    });
    return end_tolerance_ns(*middle, *middle);
  }

  Pairing pair_by_sequence(const MemberSequence& a, const MemberSequence& b) const {
    Pairing out;
    out.method = Method::kSequence;
    // One call may launch several kernels under one number: the k-th of a number meets the k-th.
    std::map<std::pair<int64_t, uint32_t>, uint32_t> numbered;
    std::map<int64_t, uint32_t> seen;
    for (uint32_t id : a.kernels) {
      const int64_t sequence = out_.kernels[id].sequence;
      if (sequence < 0) return {};
      numbered.emplace(std::pair(sequence, seen[sequence]++), id);
    }
    seen.clear();
    for (uint32_t id : b.kernels) {
      const int64_t sequence = out_.kernels[id].sequence;
      if (sequence < 0) return {};
      const auto found = numbered.find({sequence, seen[sequence]++});
      if (found != numbered.end()) out.pairs.emplace_back(found->second, id);
    }
    return out;
  }

  /// Threads of a busy machine notice the end of an operation milliseconds apart, so ends say little where the order of
  /// calls says all. Kinds must agree, and sizes where both are known.
  bool in_call_order(const Pairing& pairing) const {
    return std::all_of(pairing.pairs.begin(), pairing.pairs.end(), [&](const auto& pair) {
      const CommKernel& a = out_.kernels[pair.first];
      const CommKernel& b = out_.kernels[pair.second];
      const bool same_size = a.bytes == b.bytes || a.bytes < 0 || b.bytes < 0;
      return a.in_call_order && b.in_call_order && a.kind == b.kind && same_size;
    });
  }

  /// True if the paired kernels can be the same collectives: kinds and sizes equal, and most ends one offset apart.
  /// With one or two pairs and no clock, nothing speaks against them. Marks what is refused.
  bool ends_agree(const Pairing& pairing, bool common_clock) {
    std::vector<uint32_t> a, b;
    for (const auto& [x, y] : pairing.pairs) {
      a.push_back(x);
      b.push_back(y);
    }
    const OrderFit fit = fit_order(spans_of(out_, a, common_clock), spans_of(out_, b, common_clock),
                                   common_clock ? std::optional<int64_t>(0) : std::nullopt);
    if (fit.comparable && 2 * fit.agreeing >= a.size()) return true;
    if (fit.comparable && a.size() >= 3) {
      for (uint32_t id : a) refused_[id] = true;
      for (uint32_t id : b) refused_[id] = true;
    }
    return false;
  }

  void join(const Pairing& pairing) {
    for (const auto& [a, b] : pairing.pairs) {
      if (out_.kernels[b].match != kNoIndex) continue;
      uint32_t& match = out_.kernels[a].match;
      if (match == kNoIndex) {
        match = static_cast<uint32_t>(sets_.size());
        sets_.push_back({a});
        method_[a] = pairing.method;
      }
      out_.kernels[b].match = match;
      sets_[match].push_back(b);
      method_[b] = pairing.method;
    }
  }

  void update_clocks() {
    ClockSamples samples;
    for (const auto& set : sets_) {
      for (uint32_t id : set) samples.ends.push_back({out_.kernels[id].rank_index, out_.kernels[id].end_ns});
      samples.begin.push_back(static_cast<uint32_t>(samples.ends.size()));
    }
    out_.clocks = estimate_clocks(static_cast<uint32_t>(tables_.size()), samples, pivot_ns_);
  }

  void match_lanes(const std::vector<LaneSequence>& lanes) {
    const auto pairs = find_lane_pairs(lanes, out_, exchanging_ranks(), options_.threads, refused_);
    MatchNames names(tables_, out_);
    for (const auto& group : find_lane_groups(lanes, pairs)) {
      std::vector<MemberSequence> members;
      for (uint32_t lane : group) members.push_back({lanes[lane].rank_index, lanes[lane].kernels});
      std::vector<std::pair<uint32_t, std::span<const uint32_t>>> kernels_of;
      for (const MemberSequence& member : members) kernels_of.emplace_back(member.rank_index, member.kernels);
      names.name_group(kernels_of);
      match_members(members, true);
    }
    for (const LanePair& pair : pairs) {
      Pairing found;
      found.method = pair.by_order ? Method::kOrder : Method::kEnds;
      for (const auto& [i, j] : pair.pairs) {
        const uint32_t a = lanes[pair.a].kernels[i], b = lanes[pair.b].kernels[j];
        if (out_.kernels[a].match == kNoIndex && out_.kernels[b].match == kNoIndex) found.pairs.emplace_back(a, b);
      }
      if (found.pairs.empty()) continue;
      join(found);
      names.name_pair(lanes[pair.a], lanes[pair.b], found.pairs);
    }
    names.name_rest(lanes);
  }

  int32_t rank_of(uint32_t rank_index) const { return tables_[rank_index]->info.rank; }

  /// Which pairs of ranks may exchange point-to-point: those of one pipeline group where groups are known, else all.
  std::vector<std::vector<bool>> exchanging_ranks() const {
    const size_t ranks = tables_.size();
    std::vector<std::vector<bool>> may(ranks, std::vector<bool>(ranks, true));
    for (size_t r = 0; r < ranks; ++r) {
      const ProcessGroup* pipeline = nullptr;
      for (const ProcessGroup& group : tables_[r]->info.groups) {
        const bool member =
            std::find(group.ranks.begin(), group.ranks.end(), rank_of(uint32_t(r))) != group.ranks.end();
        if (pipeline == nullptr && member && group.description.rfind("PIPELINE", 0) == 0) pipeline = &group;
      }
      if (pipeline == nullptr) continue;
      for (size_t q = 0; q < ranks; ++q) {
        const bool in =
            std::find(pipeline->ranks.begin(), pipeline->ranks.end(), rank_of(uint32_t(q))) != pipeline->ranks.end();
        if (!in) may[r][q] = may[q][r] = false;
      }
    }
    return may;
  }

  /// A collective cannot end before its last member has come: what says so was matched wrongly and is taken apart.
  /// Where the order of calls says what meets, it is the clocks that are wrong: ends of threads tell them badly.
  bool possible(const std::vector<uint32_t>& set) const {
    const bool sure = std::all_of(set.begin(), set.end(), [&](uint32_t id) {
      return out_.kernels[id].in_call_order && method_[id] == Method::kSequence;
    });
    if (sure) return true;
    int64_t last_start = INT64_MIN, first_end = INT64_MAX, tolerance = kStrictToleranceNs;
    for (uint32_t id : set) {
      const int64_t start = out_.start_of(id), end = out_.end_of(id);
      last_start = std::max(last_start, start);
      first_end = std::min(first_end, end);
      tolerance = std::max(tolerance, (end - start) / 10);
    }
    return last_start <= first_end + tolerance;
  }

  void finish() {
    std::vector<uint32_t> order;
    for (uint32_t m = 0; m < sets_.size(); ++m) {
      auto& set = sets_[m];
      if (set.empty()) continue;
      std::sort(set.begin(), set.end());
      if (possible(set)) {
        order.push_back(m);
        continue;
      }
      for (uint32_t id : set) {
        out_.kernels[id].match = kNoIndex;
        refused_[id] = true;
      }
    }
    std::sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) { return sets_[x] < sets_[y]; });
    for (uint32_t m : order) {
      for (uint32_t id : sets_[m]) {
        out_.kernels[id].match = static_cast<uint32_t>(out_.match_begin.size() - 1);
        out_.members.push_back(id);
      }
      out_.match_begin.push_back(static_cast<uint32_t>(out_.members.size()));
    }
    count();
  }

  void count() {
    std::vector<uint32_t> traced(out_.groups.size(), 0);
    std::vector<uint32_t> last_rank(out_.groups.size(), kNoIndex);
    for (const CommKernel& kernel : out_.kernels) {
      if (kernel.group == kNoIndex || last_rank[kernel.group] == kernel.rank_index) continue;
      last_rank[kernel.group] = kernel.rank_index;
      ++traced[kernel.group];
    }
    MatchCounts& counts = out_.counts;
    for (uint32_t id = 0; id < out_.kernels.size(); ++id) {
      const CommKernel& kernel = out_.kernels[id];
      if (kernel.match != kNoIndex) {
        if (method_[id] == Method::kSequence) ++counts.by_sequence;
        if (method_[id] == Method::kOrder) ++counts.by_order;
        if (method_[id] == Method::kEnds) ++counts.by_ends;
      } else if (refused_[id]) {
        ++counts.refused;
      } else if (out_.groups[kernel.group].size > 0 && traced[kernel.group] > 1) {
        ++counts.unpaired;
      } else {
        ++counts.alone;
      }
    }
  }

  std::span<const EventTable* const> tables_;
  const MatchOptions& options_;
  JobMatches out_;
  std::vector<std::vector<uint32_t>> sets_;  ///< kernels of each match
  std::vector<bool> refused_;
  std::vector<Method> method_;
  int64_t pivot_ns_ = 0;
};

}  // namespace

JobMatches match_ranks(std::span<const EventTable* const> tables, const MatchOptions& options) {
  return Matcher(tables, options).run();
}

}  // namespace lumos
