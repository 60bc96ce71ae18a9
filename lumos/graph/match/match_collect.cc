#include "lumos/graph/match/match_collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "lumos/base/parallel.h"
#include "lumos/graph/host/host_transfers.h"
#include "lumos/graph/match/host_groups.h"
#include "lumos/trace/table/collective_names.h"

namespace lumos {

namespace {

/// A kernel with its group as the rank itself knows it, before ranks agree on group numbers.
struct LocalKernel {
  CommKernel kernel;
  uint32_t local_group = kNoIndex;
};

struct LocalRank {
  std::vector<LocalKernel> kernels;
  std::vector<CommGroup> groups;
};

/// record_param_comms rows by external id: older traces keep the metadata there and not on the kernels.
std::unordered_map<uint32_t, uint32_t> details_by_external_id(const EventTable& table) {
  std::unordered_map<uint32_t, uint32_t> out;
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] != EventKind::kCpuOp || table.external_id[row] == 0) continue;
    const OpDetail* op = table.op_detail(row);
    if (op == nullptr || op->collective == kNoIndex) continue;
    const std::string_view name = table.text(table.collectives[op->collective].collective);
    // "wait" and "barrier" bookkeeping rows belong to no kernel of their own.
    if (name == "wait" || name.empty()) continue;
    out.emplace(table.external_id[row], op->collective);
  }
  return out;
}

const ProcessGroup* find_group(const std::vector<ProcessGroup>& groups, std::string_view name) {
  for (const ProcessGroup& group : groups) {
    if (!name.empty() && group.name == name) return &group;
  }
  return nullptr;
}

CommGroup describe_group(const EventTable& table, const CollectiveDetail& detail) {
  CommGroup group;
  group.name = table.text(detail.group_name);
  group.description = table.text(detail.group_desc);
  group.size = detail.group_size;
  group.ranks = listed_ranks(table, detail);
  group.source = CommGroup::Source::kArguments;
  if (const ProcessGroup* config = find_group(table.info.groups, group.name)) {
    if (group.description.empty()) group.description = config->description;
    if (!config->ranks.empty()) group.source = CommGroup::Source::kConfig;
  }
  if (group.size < 0 && !group.ranks.empty()) group.size = static_cast<int32_t>(group.ranks.size());
  return group;
}

CommGroup listed_group(const ProcessGroup& group) {
  return {group.name, group.description, group.ranks, std::max(group.size, int32_t(group.ranks.size())),
          CommGroup::Source::kConfig};
}

/// The one group that a kernel without metadata must belong to, because the rank has no other; else nothing.
std::optional<CommGroup> only_group(const EventTable& table) {
  const ProcessGroup* only = nullptr;
  for (const ProcessGroup& group : table.info.groups) {
    if (group.size < 2 && group.ranks.size() < 2) continue;
    if (only != nullptr) return std::nullopt;
    only = &group;
  }
  if (only == nullptr) return std::nullopt;
  return listed_group(*only);
}

/// Transfers from one rank to another form a sequence of their own: other directions run on other streams.
CommGroup direction_group(const CommGroup& whole, int32_t from, int32_t to) {
  CommGroup pair = whole;
  pair.ranks = {std::min(from, to), std::max(from, to)};
  pair.size = 2;
  pair.name = fmt::format("{}:{}>{}", whole.name, from, to);
  return pair;
}

/// An operation on a CPU thread by the call that put it into the queue.
struct CallOrder {
  int64_t sequence = -1;
  uint32_t enqueue_row = kNoIndex;
};

/// Sequence numbers for communication on CPU threads, whose rows have none: the k-th operation that was put into the
/// queue during step N is that of every rank, because all call them in one order; counted by group where `groups` tells
/// it of the lanes. By row; none outside of steps.
std::unordered_map<uint32_t, CallOrder> sequences_by_step(const EventTable& table,
                                                          const std::vector<uint32_t>& groups) {
  constexpr int64_t kMostPerStep = 1 << 20;  // so that step and position make one number
  constexpr std::string_view kStep = "ProfilerStep#";
  std::map<int64_t, int64_t> step_at;  // start to number
  for (uint32_t row = 0; row < table.size(); ++row) {
    const std::string_view name = table.name_of(row);
    if (table.kind[row] != EventKind::kAnnotation || !name.starts_with(kStep)) continue;
    int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + kStep.size(), name.data() + name.size(), number);
    if (error == std::errc()) step_at[table.ts_ns[row]] = number;
  }
  std::unordered_map<uint32_t, CallOrder> sequences;
  std::map<std::pair<uint32_t, int64_t>, int64_t> in_step;  // by group and step
  std::vector<HostTransfer> transfers = find_host_transfers(table, build_host_program(table)).transfers;
  std::erase_if(transfers, [](const HostTransfer& transfer) { return transfer.enqueue_row == kNoIndex; });
  // Of two that wait in one queue, the second may be the first to be seen on its thread.
  std::stable_sort(transfers.begin(), transfers.end(), [&](const HostTransfer& a, const HostTransfer& b) {
    return table.ts_ns[a.enqueue_row] < table.ts_ns[b.enqueue_row];
  });
  for (const HostTransfer& transfer : transfers) {
    const auto after = step_at.upper_bound(table.ts_ns[transfer.enqueue_row]);
    if (after == step_at.begin()) continue;
    const int64_t step = std::prev(after)->second;
    const uint32_t group = groups.empty() ? kNoIndex : groups[table.lane[transfer.row]];
    sequences[transfer.row] = {step * kMostPerStep + in_step[{group, step}]++, transfer.enqueue_row};
  }
  return sequences;
}

class RankCollector {
 public:
  /// `host_groups` of the rank's lanes; empty: not told.
  RankCollector(const EventTable& table, std::vector<uint32_t> host_groups)
      : table_(table),
        host_groups_(std::move(host_groups)),
        by_external_id_(details_by_external_id(table)),
        only_(only_group(table)) {}

  LocalRank collect(uint32_t rank_index, int64_t base_ns) {
    const std::vector<uint8_t> communicates = communication_rows(table_);
    const std::vector<bool> on_threads = transfer_lanes(table_);
    const bool any = std::find(on_threads.begin(), on_threads.end(), true) != on_threads.end();
    const auto sequences = any ? sequences_by_step(table_, host_groups_) : std::unordered_map<uint32_t, CallOrder>();
    std::map<uint32_t, uint32_t> first_thread;  // by group
    for (uint32_t row = 0; row < table_.size(); ++row) {
      const bool on_thread = on_threads[table_.lane[row]];
      if (communicates[row] == 0 || (!on_thread && !is_gpu_work(table_.kind[row]))) continue;
      LocalKernel local;
      CommKernel& kernel = local.kernel;
      kernel.rank_index = rank_index;
      kernel.row = row;
      kernel.lane = table_.lane[row];
      kernel.start_ns = table_.ts_ns[row] + base_ns;
      kernel.end_ns = table_.end_ns(row) + base_ns;
      kernel.kind = kind_of_kernel_name(table_.name_of(row));
      if (on_thread) {
        // Threads that share a queue take turns as chance has it: they are one lane.
        kernel.lane = first_thread.try_emplace(host_group(row), kernel.lane).first->second;
        CallOrder call;
        if (const auto found = sequences.find(row); found != sequences.end()) {
          call = found->second;
          kernel.sequence = call.sequence;
          kernel.in_call_order = true;
        }
        kernel.bytes = transfer_bytes(table_, row, call.enqueue_row);
      }
      if (const CollectiveDetail* detail = detail_of(row)) {
        fill(*detail, local);
      } else if (on_thread && host_group(row) != kNoIndex) {
        local.local_group = local_group(listed_group(table_.info.groups[host_group(row)]));
      } else if (only_ && (kernel.kind != CollectiveKind::kSendRecv || only_->size == 2)) {
        local.local_group = local_group(*only_);
      }
      out_.kernels.push_back(std::move(local));
    }
    std::stable_sort(out_.kernels.begin(), out_.kernels.end(),
                     [](const LocalKernel& a, const LocalKernel& b) { return a.kernel.start_ns < b.kernel.start_ns; });
    return std::move(out_);
  }

 private:
  uint32_t host_group(uint32_t row) const { return host_groups_.empty() ? kNoIndex : host_groups_[table_.lane[row]]; }

  const CollectiveDetail* detail_of(uint32_t row) const {
    if (const CollectiveDetail* detail = table_.collective_detail(row)) return detail;
    const auto found = by_external_id_.find(table_.external_id[row]);
    return found == by_external_id_.end() ? nullptr : &table_.collectives[found->second];
  }

  void fill(const CollectiveDetail& detail, LocalKernel& local) {
    CommKernel& kernel = local.kernel;
    const CollectiveKind told = kind_of_metadata(table_.text(detail.collective));
    if (told != CollectiveKind::kUnknown) kernel.kind = told;
    kernel.bytes = collective_bytes(kernel.kind, detail, table_.text(detail.dtype));
    kernel.sequence = detail.sequence;
    CommGroup group = describe_group(table_, detail);
    if (group.name.empty() && group.ranks.empty()) return;
    if (kernel.kind == CollectiveKind::kSendRecv) {
      const int32_t rank = table_.info.rank;
      const bool told = detail.src_rank >= 0 && detail.dst_rank >= 0 && detail.src_rank != detail.dst_rank &&
                        (detail.src_rank == rank || detail.dst_rank == rank);
      if (told) {
        kernel.peer = detail.src_rank == rank ? detail.dst_rank : detail.src_rank;
        group = direction_group(group, detail.src_rank, detail.dst_rank);
      } else if (group.size != 2) {
        return;
      }
    }
    local.local_group = local_group(group);
  }

  uint32_t local_group(const CommGroup& group) {
    const auto key = std::make_tuple(group.name, group.description, group.ranks);
    const auto [it, fresh] = known_.try_emplace(key, static_cast<uint32_t>(out_.groups.size()));
    if (fresh) out_.groups.push_back(group);
    return it->second;
  }

  const EventTable& table_;
  std::vector<uint32_t> host_groups_;
  std::unordered_map<uint32_t, uint32_t> by_external_id_;
  std::optional<CommGroup> only_;
  std::map<std::tuple<std::string, std::string, std::vector<int32_t>>, uint32_t> known_;
  LocalRank out_;
};

}  // namespace

std::vector<int32_t> listed_ranks(const EventTable& table, const CollectiveDetail& detail) {
  std::vector<int32_t> ranks = parse_rank_list(table.text(detail.group_ranks));
  const ProcessGroup* config = ranks.empty() ? find_group(table.info.groups, table.text(detail.group_name)) : nullptr;
  return config == nullptr ? ranks : config->ranks;
}

std::vector<int32_t> parse_rank_list(std::string_view text) {
  if (text.find("...") != std::string_view::npos) return {};
  return shown_ranks(text);
}

std::vector<int32_t> shown_ranks(std::string_view text) {
  std::vector<int32_t> ranks;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    int32_t rank = 0;
    const auto [next, error] = std::from_chars(at, end, rank);
    if (error == std::errc()) {
      ranks.push_back(rank);
      at = next;
    } else {
      ++at;
    }
  }
  return ranks;
}

JobMatches collect_communication(std::span<const EventTable* const> tables, const MatchOptions& options) {
  std::vector<LocalRank> locals(tables.size());
  LaneGroups host_groups = groups_of_host_lanes(tables);
  host_groups.resize(tables.size());
  parallel_for(tables.size(), options.threads, [&](size_t r) {
    const int64_t base_ns = tables[r]->info.base_ns - tables[0]->info.base_ns;
    locals[r] = RankCollector(*tables[r], host_groups[r]).collect(static_cast<uint32_t>(r), base_ns);
  });
  JobMatches out;
  out.rank_begin.push_back(0);
  // All ranks name a group alike, so name, description and members together are its identity.
  std::map<std::tuple<std::string, std::string, std::vector<int32_t>>, uint32_t> known;
  for (LocalRank& local : locals) {
    std::vector<uint32_t> global(local.groups.size());
    for (size_t g = 0; g < local.groups.size(); ++g) {
      CommGroup& group = local.groups[g];
      const auto key = std::make_tuple(group.name, group.description, group.ranks);
      const auto [it, fresh] = known.try_emplace(key, static_cast<uint32_t>(out.groups.size()));
      if (fresh) out.groups.push_back(std::move(group));
      global[g] = it->second;
    }
    for (LocalKernel& kernel : local.kernels) {
      if (kernel.local_group != kNoIndex) kernel.kernel.group = global[kernel.local_group];
      out.kernels.push_back(kernel.kernel);
    }
    out.rank_begin.push_back(static_cast<uint32_t>(out.kernels.size()));
  }
  out.clocks.resize(tables.size());
  out.match_begin.push_back(0);
  out.counts.kernels = out.kernels.size();
  return out;
}

}  // namespace lumos
