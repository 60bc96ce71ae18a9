#include "lumos/graph/match/transfer.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>

namespace lumos {

namespace {

// Among equal collectives, those at this share from below were the last to arrive, or nearly so. Lower ones are mostly
// those that ran beside nothing; the lowest are noise.
constexpr double kLowQuantile = 0.05;

// Ends of one collective scatter by polling; a scatter wider than this is a ring that drains, which is transfer.
constexpr int64_t kMostPollingNs = 5'000;
// Of two uniform delays up to w, the median distance is w * (1 - sqrt(1/2)), their mean w / 2.
constexpr double kMeanOfMedianDistance = 0.5 / 0.29289;

/// What makes two collectives equal: description (or stream), kind, bytes (or the kernel's grid), size of the group.
using EqualKey = std::tuple<std::string, CollectiveKind, int64_t, int32_t>;

EqualKey key_of(const JobMatches& matches, const std::vector<const EventTable*>& tables, const CommKernel& kernel) {
  const CommGroup& group = matches.groups[kernel.group];
  int64_t amount = kernel.bytes;
  if (amount < 0) {
    const GpuDetail* detail = tables[kernel.rank_index]->gpu_detail(kernel.row);
    amount = -1 - (detail == nullptr ? 0 : detail->grid[0]);
  }
  return {group.description.empty() ? group.name : group.description, kernel.kind, amount, group.size};
}

/// A collective of one or more traced members: its times on the reference clock.
struct Collective {
  std::vector<uint32_t> kernels;
  int64_t last_start_ns = 0;
  int64_t transfer_ns = 0;  ///< of the last arrival: an upper bound where members are missing
  bool complete = false;
};

Collective collective_of(const JobMatches& matches, std::vector<uint32_t> kernels) {
  Collective out;
  out.kernels = std::move(kernels);
  // All members end together, so the one that came last shows the transfer alone, free of clock errors.
  uint32_t last = out.kernels[0];
  for (uint32_t id : out.kernels) {
    if (matches.start_of(id) > matches.start_of(last)) last = id;
  }
  out.last_start_ns = matches.start_of(last);
  out.transfer_ns = matches.kernels[last].end_ns - matches.kernels[last].start_ns;
  const int32_t size = matches.groups[matches.kernels[last].group].size;
  out.complete = size > 0 && static_cast<int32_t>(out.kernels.size()) >= size;
  return out;
}

std::vector<Collective> all_collectives(const JobMatches& matches) {
  std::vector<Collective> out;
  for (uint32_t id = 0; id < matches.kernels.size(); ++id) {
    const uint32_t match = matches.kernels[id].match;
    if (match == kNoIndex) {
      out.push_back(collective_of(matches, {id}));
    } else if (matches.members_of(match)[0] == id) {
      const auto members = matches.members_of(match);
      out.push_back(collective_of(matches, {members.begin(), members.end()}));
    }
  }
  return out;
}

struct EqualTimes {
  std::vector<int64_t> complete, partial;
  int64_t typical_ns = -1;
};

int64_t at_share(std::vector<int64_t>& values, double share) {
  const auto at = values.begin() + static_cast<ptrdiff_t>(share * double(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// How long after the end of a transfer its kernels end in the mean, from how far their ends lie apart.
int64_t settling(const JobMatches& matches) {
  std::vector<int64_t> distances;
  for (size_t m = 0; m < matches.size(); ++m) {
    const auto members = matches.members_of(m);
    for (size_t i = 1; i < members.size(); ++i) {
      distances.push_back(std::abs(matches.end_of(members[i]) - matches.end_of(members[i - 1])));
    }
  }
  if (distances.empty()) return 0;
  const double median = double(at_share(distances, 0.5));
  return median > kMostPollingNs ? 0 : static_cast<int64_t>(median * kMeanOfMedianDistance);
}

}  // namespace

TransferColumns split_transfers(const JobMatches& matches, const std::vector<const EventTable*>& tables) {
  const size_t count = matches.kernels.size();
  TransferColumns out;
  out.transfer_ns.resize(count);
  out.wait_ns.resize(count);
  out.hidden_ns.resize(count);
  out.source.resize(count, TransferSource::kMeasured);
  out.settle_ns = settling(matches);
  const std::vector<Collective> collectives = all_collectives(matches);
  std::map<EqualKey, EqualTimes> equal;
  std::vector<EqualTimes*> equal_of(collectives.size());
  for (size_t c = 0; c < collectives.size(); ++c) {
    EqualTimes& times = equal[key_of(matches, tables, matches.kernels[collectives[c].kernels[0]])];
    (collectives[c].complete ? times.complete : times.partial).push_back(collectives[c].transfer_ns);
    equal_of[c] = &times;
  }
  for (auto& [key, times] : equal) {
    if (!times.complete.empty()) {
      times.typical_ns = at_share(times.complete, 0.5);
    } else if (times.partial.size() > 1) {
      times.typical_ns = at_share(times.partial, kLowQuantile);
    }
  }
  for (size_t c = 0; c < collectives.size(); ++c) {
    const Collective& collective = collectives[c];
    int64_t transfer = collective.transfer_ns;
    TransferSource source = TransferSource::kMeasured;
    if (!collective.complete) {
      const int64_t typical = equal_of[c]->typical_ns;
      source = typical < 0 ? TransferSource::kUnbounded : TransferSource::kRepeated;
      if (typical >= 0) transfer = std::min(transfer, typical);
    }
    for (uint32_t id : collective.kernels) {
      const CommKernel& kernel = matches.kernels[id];
      out.transfer_ns[id] = transfer - std::min(out.settle_ns, transfer / 4);
      // Threads of a busy machine finish one operation each in its own time.
      if (matches.kernels[id].in_call_order && collective.complete) {
        const int64_t own = matches.end_of(id) - collective.last_start_ns;
        if (own > 0) out.transfer_ns[id] = own - std::min(out.settle_ns, own / 4);
      }
      // Where clocks are wrong, the last may seem to come after this one has left.
      out.wait_ns[id] = std::clamp<int64_t>(collective.last_start_ns - matches.start_of(id), 0,
                                            std::max<int64_t>(0, kernel.end_ns - kernel.start_ns));
      out.hidden_ns[id] = std::max<int64_t>(0, kernel.end_ns - kernel.start_ns - out.wait_ns[id] - transfer);
      out.source[id] = source;
      if (collective.complete) out.hidden_ns[id] = 0;
    }
  }
  return out;
}

std::vector<TransferSummary> summarise_transfers(const JobMatches& matches, const TransferColumns& columns,
                                                 const std::vector<bool>& keep) {
  std::map<std::pair<uint32_t, CollectiveKind>, TransferSummary> rows;
  std::map<std::pair<uint32_t, CollectiveKind>, std::vector<bool>> ranks;
  std::vector<bool> counted(matches.size(), false);
  for (uint32_t id = 0; id < matches.kernels.size(); ++id) {
    if (!keep.empty() && !keep[id]) continue;
    const CommKernel& kernel = matches.kernels[id];
    TransferSummary& row = rows[{kernel.group, kernel.kind}];
    std::vector<bool>& seen = ranks[{kernel.group, kernel.kind}];
    row.group = kernel.group;
    row.kind = kernel.kind;
    seen.resize(matches.clocks.size(), false);
    if (!seen[kernel.rank_index]) {
      seen[kernel.rank_index] = true;
      ++row.members;
    }
    row.wait_ns += columns.wait_ns[id] + columns.hidden_ns[id];
    if (kernel.match != kNoIndex) {
      if (counted[kernel.match]) continue;
      counted[kernel.match] = true;
    }
    ++row.collectives;
    row.estimated += columns.source[id] != TransferSource::kMeasured;
    row.transfer_ns += columns.transfer_ns[id];
    row.bytes = row.bytes < 0 || kernel.bytes < 0 ? -1 : row.bytes + kernel.bytes;
  }
  std::vector<TransferSummary> out;
  for (auto& [key, row] : rows) {
    if (row.bytes > 0 && row.transfer_ns > 0) {
      row.algorithm_gbps = double(row.bytes) / double(row.transfer_ns);
      row.bus_gbps = row.algorithm_gbps * bus_factor(row.kind, matches.groups[row.group].size);
    }
    out.push_back(row);
  }
  return out;
}

}  // namespace lumos
