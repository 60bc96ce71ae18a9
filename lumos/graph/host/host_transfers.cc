#include "lumos/graph/host/host_transfers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "lumos/graph/host/collective.h"
#include "lumos/trace/table/collective_names.h"

namespace lumos {

namespace {

// A wait ends soon after what it waited for: its latency is a smaller part of it than this. Of an operator during which
// an operation merely happens to end, half remains in the mean.
constexpr double kLatencyShare = 0.2;

// An operator that waited takes this many times what its name usually takes.
constexpr int64_t kUnusual = 2;

// "c10d::allreduce_" and the functional "_c10d_functional::all_reduce" put operations into queues.
bool may_enqueue(std::string_view name) {
  return name.starts_with("c10d::") || name.starts_with("_c10d_functional::") || name.starts_with("c10d_functional::");
}

/// Calls of every kind, earliest first, without those inside another one.
std::map<CollectiveKind, std::deque<uint32_t>> find_calls(const EventTable& table, const HostProgram& host) {
  std::map<CollectiveKind, std::deque<uint32_t>> calls;
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] != EventKind::kCpuOp || !may_enqueue(table.name_of(row))) continue;
    const CollectiveKind kind = kind_of_metadata(table.name_of(row));
    if (kind != CollectiveKind::kUnknown) calls[kind].push_back(row);
  }
  for (auto& [kind, rows] : calls) {
    // The functional operator calls the other one: the inner one is the call.
    std::unordered_map<uint32_t, bool> outer;
    for (uint32_t row : rows) {
      for (uint32_t p = host.parent[row]; p != kNoIndex; p = host.parent[p]) outer[p] = true;
    }
    std::erase_if(rows, [&](uint32_t row) { return outer.count(row) > 0; });
    std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return table.ts_ns[a] < table.ts_ns[b]; });
  }
  return calls;
}

class Finder {
 public:
  Finder(const EventTable& table, const HostProgram& host) : table_(table), host_(host) {}

  HostTransfers run() {
    const std::vector<bool> lanes = transfer_lanes(table_);
    for (const HostThread& thread : host_.threads) out_.is_transfer_thread.push_back(lanes[thread.lane]);
    find_transfers();
    if (out_.transfers.empty()) return std::move(out_);
    find_enqueuing();
    find_waits();
    return std::move(out_);
  }

 private:
  void find_transfers() {
    for (uint32_t t = 0; t < host_.threads.size(); ++t) {
      if (!out_.is_transfer_thread[t]) continue;
      uint32_t last = kNoIndex;
      for (uint32_t s = host_.threads[t].first_segment; s < host_.threads[t].end_segment; ++s) {
        const uint32_t row = host_.segments[s].row;
        if (row != kNoIndex && row != last) out_.transfers.push_back({row, s});
        last = row;
      }
    }
    std::sort(out_.transfers.begin(), out_.transfers.end(), [&](const HostTransfer& a, const HostTransfer& b) {
      return std::pair(table_.ts_ns[a.row], a.row) < std::pair(table_.ts_ns[b.row], b.row);
    });
  }

  /// Several groups, and so several queues, of which no call tells which it goes to.
  bool has_several_groups() const {
    const auto& groups = table_.info.groups;
    return std::count_if(groups.begin(), groups.end(), [](const auto& group) { return group.ranks.size() > 1; }) > 1;
  }

  /// The call among those waiting that put an operation into a queue: the first, or with several queues the first with
  /// tensors of the operation's size. The size alone would not do: a thread's row may name what lies in their place.
  std::deque<uint32_t>::iterator find_call(std::deque<uint32_t>& calls, uint32_t row, bool by_size) const {
    if (!by_size) return calls.begin();
    const OpDetail* own = table_.op_detail(row);
    if (own == nullptr) return calls.begin();
    const std::string_view types = table_.text(own->input_types);
    const int64_t bytes = input_bytes(table_.text(own->input_dims), types);
    const auto same = std::find_if(calls.begin(), calls.end(), [&](uint32_t call) {
      const OpDetail* called = table_.op_detail(call);
      return called != nullptr && table_.ts_ns[call] <= table_.ts_ns[row] &&
             input_bytes(table_.text(called->input_dims), types) == bytes;
    });
    return same == calls.end() ? calls.begin() : same;
  }

  void find_enqueuing() {
    const bool by_size = has_several_groups();
    std::map<CollectiveKind, std::deque<uint32_t>> calls = find_calls(table_, host_);
    std::unordered_map<uint32_t, int64_t> idle_since;  // by lane
    for (HostTransfer& transfer : out_.transfers) {
      const int64_t start = table_.ts_ns[transfer.row];
      const uint32_t lane = table_.lane[transfer.row];
      std::deque<uint32_t>& queue = calls[kind_of_kernel_name(table_.name_of(transfer.row))];
      // What runs before the first call of the trace was put into the queue before it.
      if (!queue.empty() && table_.ts_ns[queue.front()] <= start) {
        const auto call = find_call(queue, transfer.row, by_size);
        transfer.enqueue_row = *call;
        queue.erase(call);
        const auto idle = idle_since.find(lane);
        transfer.thread_was_idle = idle == idle_since.end() || idle->second <= table_.ts_ns[transfer.enqueue_row];
      }
      idle_since[lane] = table_.end_ns(transfer.row);
    }
  }

  /// Of every thread that enqueues: goes through its segments with what is pending.
  void find_waits() {
    const std::map<uint32_t, int64_t> usual = usual_lengths();
    for (uint32_t t = 0; t < host_.threads.size(); ++t) {
      if (out_.is_transfer_thread[t]) continue;
      std::vector<uint32_t> own;
      for (uint32_t i = 0; i < out_.transfers.size(); ++i) {
        const uint32_t row = out_.transfers[i].enqueue_row;
        if (row != kNoIndex && table_.lane[row] == host_.threads[t].lane) own.push_back(i);
      }
      size_t next = 0;
      std::vector<uint32_t> pending;
      for (uint32_t s = host_.threads[t].first_segment; s < host_.threads[t].end_segment; ++s) {
        const HostSegment& segment = host_.segments[s];
        while (next < own.size() && table_.ts_ns[out_.transfers[own[next]].enqueue_row] < segment.start_ns) {
          pending.push_back(own[next++]);
        }
        if (!pending.empty()) try_wait(s, usual, pending);
      }
    }
  }

  /// The median length of a thread's segments by name: a wait is longer than what its name usually takes.
  std::map<uint32_t, int64_t> usual_lengths() const {
    std::map<uint32_t, std::vector<int64_t>> lengths;
    for (const HostSegment& segment : host_.segments) {
      if (segment.row == kNoIndex || out_.is_transfer_thread[segment.thread]) continue;
      lengths[static_cast<uint32_t>(table_.name[segment.row])].push_back(segment.end_ns - segment.start_ns);
    }
    std::map<uint32_t, int64_t> usual;
    for (auto& [name, values] : lengths) {
      std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
      usual[name] = values[values.size() / 2];
    }
    return usual;
  }

  void try_wait(uint32_t s, const std::map<uint32_t, int64_t>& usual, std::vector<uint32_t>& pending) {
    const HostSegment& segment = host_.segments[s];
    if (segment.is_call) return;
    HostTransferWait wait{s, {}, 0};
    for (uint32_t i : pending) {
      if (end_of(i) <= segment.end_ns) wait.transfers.push_back(i);
    }
    if (wait.transfers.empty()) return;
    std::sort(wait.transfers.begin(), wait.transfers.end(),
              [&](uint32_t a, uint32_t b) { return std::pair(end_of(a), a) < std::pair(end_of(b), b); });
    const int64_t last_end = end_of(wait.transfers.back());
    if (last_end <= segment.start_ns) return;
    wait.latency_ns = segment.end_ns - last_end;
    const int64_t length = segment.end_ns - segment.start_ns;
    if (static_cast<double>(wait.latency_ns) > kLatencyShare * static_cast<double>(length)) return;
    if (segment.row != kNoIndex && table_.kind[segment.row] == EventKind::kCpuOp) {
      const bool only_waits = table_.name_of(segment.row).find("wait") != std::string_view::npos;
      if (!only_waits && length < kUnusual * usual.at(static_cast<uint32_t>(table_.name[segment.row]))) return;
    }
    std::erase_if(pending, [&](uint32_t i) {
      return std::find(wait.transfers.begin(), wait.transfers.end(), i) != wait.transfers.end();
    });
    out_.waits.push_back(std::move(wait));
  }

  int64_t end_of(uint32_t transfer) const { return table_.end_ns(out_.transfers[transfer].row); }

  const EventTable& table_;
  const HostProgram& host_;
  HostTransfers out_;
};

/// c10's names of element types, as "Input type" has them.
int64_t type_bytes(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, int64_t>, 10> kSizes = {{{"float", 4},
                                                                                   {"double", 8},
                                                                                   {"c10::Half", 2},
                                                                                   {"c10::BFloat16", 2},
                                                                                   {"int", 4},
                                                                                   {"long int", 8},
                                                                                   {"short int", 2},
                                                                                   {"unsigned char", 1},
                                                                                   {"signed char", 1},
                                                                                   {"bool", 1}}};
  for (const auto& [name, bytes] : kSizes) {
    if (type == name) return bytes;
  }
  return 0;
}

/// The next text in quotes, which is taken away from `rest`.
std::string_view next_text(std::string_view& rest) {
  const size_t begin = rest.find('"');
  const size_t end = begin == std::string_view::npos ? begin : rest.find('"', begin + 1);
  if (end == std::string_view::npos) return rest = {}, std::string_view{};
  const std::string_view text = rest.substr(begin + 1, end - begin - 1);
  rest.remove_prefix(end + 1);
  return text;
}

}  // namespace

std::vector<bool> transfer_lanes(const EventTable& table) {
  std::vector<bool> communicates(table.lanes.size(), false), does_else(table.lanes.size(), false);
  for (size_t row = 0; row < table.size(); ++row) {
    const uint32_t lane = table.lane[row];
    if (table.lanes[lane].is_gpu || table.kind[row] == EventKind::kOverhead) continue;
    (is_communication(table, row) ? communicates : does_else)[lane] = true;
  }
  for (size_t lane = 0; lane < communicates.size(); ++lane) communicates[lane] = communicates[lane] && !does_else[lane];
  return communicates;
}

HostTransfers find_host_transfers(const EventTable& table, const HostProgram& host) {
  return Finder(table, host).run();
}

int64_t transfer_bytes(const EventTable& table, uint32_t row, uint32_t enqueue_row) {
  const OpDetail* own = table.op_detail(row);
  if (own == nullptr) return -1;
  const OpDetail* called = enqueue_row == kNoIndex ? nullptr : table.op_detail(enqueue_row);
  return input_bytes(table.text((called != nullptr ? called : own)->input_dims), table.text(own->input_types));
}

int64_t input_bytes(std::string_view dims, std::string_view types) {
  int64_t sum = 0, product = 1;
  bool any = false, in_tensor = false;
  int depth = 0;
  int tensor_depth = 0;
  std::string_view type;
  for (size_t i = 0; i < dims.size();) {
    const char c = dims[i];
    if (c == '[') {
      if (++depth == 2) type = next_text(types);
      product = 1;
      in_tensor = false;
      ++i;
    } else if (c == ']') {
      if (in_tensor && depth == tensor_depth) {
        const int64_t bytes = type_bytes(type);
        if (bytes == 0) return -1;
        sum += product * bytes;
        any = true;
      }
      in_tensor = false;
      --depth;
      ++i;
    } else if (c >= '0' && c <= '9') {
      int64_t value = 0;
      const auto [end, error] = std::from_chars(dims.data() + i, dims.data() + dims.size(), value);
      if (error != std::errc()) return -1;
      product *= value;
      in_tensor = true;
      tensor_depth = depth;
      i = static_cast<size_t>(end - dims.data());
    } else {
      ++i;
    }
  }
  return any ? sum : -1;
}

}  // namespace lumos
