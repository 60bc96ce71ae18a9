#include "lumos/trace/launch_flows.h"

#include <algorithm>
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
    if (ids_are_shared()) find_owners();
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
    size_t c = 0;
    for (const Entry& work : works_) {
      while (c < calls_.size() && calls_[c].id < work.id) ++c;
      size_t end = c;
      while (end < calls_.size() && calls_[end].id == work.id) ++end;
      if (end > c) visit(work.row, c, end);
    }
  }

  /// The last call before the work, else the first; of one process only where `process` is given.
  uint32_t launcher(uint32_t work, size_t begin, size_t end, const NameId* process) const {
    uint32_t found = kNoIndex;
    for (size_t i = begin; i < end; ++i) {
      const uint32_t call = calls_[i].row;
      if (process != nullptr && process_of(call) != *process) continue;
      if (found == kNoIndex || table_.ts_ns[call] <= table_.ts_ns[work]) found = call;
    }
    return found;
  }

  bool ids_are_shared() const {
    for (size_t i = 1; i < calls_.size(); ++i) {
      if (calls_[i].id == calls_[i - 1].id && process_of(calls_[i].row) != process_of(calls_[i - 1].row)) return true;
    }
    return false;
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
      std::vector<NameId> processes;
      for (size_t i = begin; i < end && table_.ts_ns[calls_[i].row] <= table_.ts_ns[work]; ++i) {
        const NameId process = process_of(calls_[i].row);
        if (std::find(processes.begin(), processes.end(), process) == processes.end()) processes.push_back(process);
      }
      for (NameId process : processes) ++device.explained[process];
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
  std::vector<Entry> calls_, works_;  // by id and start
  std::map<NameId, NameId> owner_;    // process of a device, where ids do not tell
};

}  // namespace

std::vector<LaunchFlow> launch_flows(const EventTable& table) { return Linker(table).run(); }

}  // namespace lumos
