#include "lumos/trace/table/launch_flows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace lumos {

namespace {

// Correlation 0 and -1 mean that the producer did not know (ROCm).
constexpr int64_t kFirstCorrelation = 1;

// Of a device's rows so many must be explained by the calls of a process for it to be its launcher: a few rows were
// launched before the recording and have another process's call of their id.
constexpr uint64_t kShareNumerator = 9, kShareDenominator = 10;

struct Entry {
  int64_t id;
  uint32_t row;
};

std::vector<Entry> sorted_entries(const EventTable& table, bool gpu) {
  std::vector<Entry> entries;
  for (uint32_t row = 0; row < table.size(); ++row) {
    const bool wanted = gpu ? is_gpu_work(table.kind[row]) : table.kind[row] == EventKind::kRuntime;
    if (wanted && table.correlation[row] >= kFirstCorrelation) entries.push_back({table.correlation[row], row});
  }
  const auto before = [&](const Entry& a, const Entry& b) {
    if (a.id != b.id) return a.id < b.id;
    return table.ts_ns[a.row] != table.ts_ns[b.row] ? table.ts_ns[a.row] < table.ts_ns[b.row] : a.row < b.row;
  };
  if (!std::is_sorted(entries.begin(), entries.end(), before)) std::sort(entries.begin(), entries.end(), before);
  return entries;
}

class Linker {
 public:
  explicit Linker(const EventTable& table)
      : table_(table), calls_(sorted_entries(table, false)), works_(sorted_entries(table, true)) {}

  std::vector<LaunchFlow> run() {
    if (ids_are_shared()) {
      sort_by_process();
      find_owners();
    }
    std::vector<LaunchFlow> flows;
    for_each_work([&](uint32_t work, size_t begin, size_t end) {
      const auto owner = owner_.find(device_of(work));
      const uint32_t call = launcher(work, begin, end, owner == owner_.end() ? nullptr : &owner->second);
      if (call != kNoIndex) flows.push_back({call, work});
    });
    std::sort(flows.begin(), flows.end(), [](const LaunchFlow& a, const LaunchFlow& b) { return a.work < b.work; });
    return flows;
  }

 private:
  NameId process_of(uint32_t call) const { return table_.lanes[table_.lane[call]].pid_text; }
  NameId device_of(uint32_t work) const { return table_.lanes[table_.lane[work]].pid_text; }

  /// Calls visit(work, begin, end) with the range of calls that have its id.
  template <class Visit>
  void for_each_work(Visit visit) const {
    size_t begin = 0, end = 0;
    for (const Entry& work : works_) {
      if (begin == end || calls_[begin].id != work.id) {
        for (begin = end; begin < calls_.size() && calls_[begin].id < work.id;) ++begin;
        for (end = begin; end < calls_.size() && calls_[end].id == work.id;) ++end;
      }
      if (end > begin) visit(work.row, begin, end);
    }
  }

  /// Calls visit(first, past) for each process's calls in [begin, end). O(processes log calls).
  template <class Visit>
  void for_each_process(size_t begin, size_t end, Visit visit) const {
    while (begin < end) {
      const NameId process = process_of(calls_[begin].row);
      const auto past = by_process_ ? std::partition_point(calls_.begin() + begin, calls_.begin() + end,
                                                           [&](Entry e) { return process_of(e.row) == process; })
                                    : calls_.begin() + end;
      visit(begin, static_cast<size_t>(past - calls_.begin()));
      begin = static_cast<size_t>(past - calls_.begin());
    }
  }

  bool is_earlier(uint32_t a, uint32_t b) const {
    return table_.ts_ns[a] != table_.ts_ns[b] ? table_.ts_ns[a] < table_.ts_ns[b] : a < b;
  }

  /// The last call before the work, else the first; of one process only where `process` is given.
  uint32_t launcher(uint32_t work, size_t begin, size_t end, const NameId* process) const {
    uint32_t before = kNoIndex, first = kNoIndex;
    for_each_process(begin, end, [&](size_t from, size_t past) {
      const uint32_t earliest = calls_[from].row;
      if (process != nullptr && process_of(earliest) != *process) return;
      if (first == kNoIndex || is_earlier(earliest, first)) first = earliest;
      const auto later = std::partition_point(calls_.begin() + from, calls_.begin() + past,
                                              [&](Entry e) { return table_.ts_ns[e.row] <= table_.ts_ns[work]; });
      if (later == calls_.begin() + from) return;
      const uint32_t last = std::prev(later)->row;
      if (before == kNoIndex || is_earlier(before, last)) before = last;
    });
    return before != kNoIndex ? before : first;
  }

  bool ids_are_shared() const {
    for (size_t i = 1; i < calls_.size(); ++i) {
      if (calls_[i].id == calls_[i - 1].id && process_of(calls_[i].row) != process_of(calls_[i - 1].row)) return true;
    }
    return false;
  }

  /// Each id's calls by process and start, so that none is looked at twice.
  void sort_by_process() {
    by_process_ = true;
    std::sort(calls_.begin(), calls_.end(), [&](const Entry& a, const Entry& b) {
      if (a.id != b.id) return a.id < b.id;
      if (process_of(a.row) != process_of(b.row)) return process_of(a.row) < process_of(b.row);
      return is_earlier(a.row, b.row);
    });
  }

  struct Device {
    uint64_t works = 0;
    std::map<NameId, uint64_t> explained;  // by process: works that began after a call of theirs
    std::vector<NameId> candidates;
  };

  /// A process can be the launcher of a device when its calls came before (nearly) all works. Devices with one
  /// candidate take it; of several candidates a device takes the one that the fewest others took.
  void find_owners() {
    std::map<NameId, Device> devices;
    for_each_work([&](uint32_t work, size_t begin, size_t end) {
      Device& device = devices[device_of(work)];
      ++device.works;
      for_each_process(begin, end, [&](size_t from, size_t) {
        const uint32_t first = calls_[from].row;
        if (table_.ts_ns[first] <= table_.ts_ns[work]) ++device.explained[process_of(first)];
      });
    });
    std::vector<std::pair<size_t, NameId>> order;
    for (auto& [name, device] : devices) {
      for (const auto& [process, explained] : device.explained) {
        if (explained * kShareDenominator >= device.works * kShareNumerator) device.candidates.push_back(process);
      }
      if (!device.candidates.empty()) order.emplace_back(device.candidates.size(), name);
    }
    std::sort(order.begin(), order.end());
    std::map<NameId, size_t> taken;
    for (const auto& [count, name] : order) {
      const Device& device = devices[name];
      const auto better = [&](NameId a, NameId b) {
        if (taken[a] != taken[b]) return taken[a] < taken[b];
        return device.explained.at(a) > device.explained.at(b);
      };
      const NameId owner = *std::min_element(device.candidates.begin(), device.candidates.end(), better);
      ++taken[owner];
      owner_[name] = owner;
    }
  }

  const EventTable& table_;
  std::vector<Entry> calls_, works_;  // by id and start; calls by id, process and start once by_process_ is set
  bool by_process_ = false;
  std::map<NameId, NameId> owner_;  // process of a device, where ids do not tell
};

}  // namespace

std::vector<LaunchFlow> launch_flows(const EventTable& table) { return Linker(table).run(); }

}  // namespace lumos
