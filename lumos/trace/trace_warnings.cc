#include "lumos/trace/trace_warnings.h"

#include <fmt/format.h>

#include <algorithm>

namespace lumos {

namespace {

constexpr size_t kFilesNamed = 3;  // of those that have the same fault as the first

bool has_gpu_work(const EventTable& table) {
  return std::any_of(table.kind.begin(), table.kind.end(), [](EventKind kind) { return is_gpu_work(kind); });
}

bool launches(const EventTable& table) {
  for (uint32_t row = 0; row < table.size(); ++row) {
    // cudaLaunchKernel, hipModuleLaunchKernel, cudaGraphLaunch ...
    if (table.kind[row] == EventKind::kRuntime && table.name_of(row).find("aunch") != std::string_view::npos)
      return true;
  }
  return false;
}

/// The rows are in the order of the file: the last one is where reading stopped.
std::string last_event(const EventTable& table) {
  if (table.size() == 0) return "before any event that is used";
  const size_t row = table.size() - 1;
  const int64_t first_ns = *std::min_element(table.ts_ns.begin(), table.ts_ns.end());
  return fmt::format("after '{}' at {:.3f} ms", table.name_of(row),
                     static_cast<double>(table.ts_ns[row] - first_ns) / 1e6);
}

std::string cut_short(const EventTable& table) {
  return fmt::format(
      "{}: the file is cut short after {} bytes of text, {}; its {} events so far are used, what came behind is lost, "
      "GPU work of any step perhaps, so that steps look shorter than they were: copy or export it again",
      table.info.file, table.info.decoded_bytes, last_event(table), table.info.events);
}

std::string no_gpu_work(const EventTable& table) {
  return fmt::format(
      "{}: kernels are launched in it, but it holds no GPU work{}; operators on the CPU are taken for compute",
      table.info.file, table.info.truncated ? "" : ": record with ProfilerActivity.CUDA");
}

std::string nothing_ran(const EventTable& table) {
  return fmt::format("{}: nothing ran in this trace", table.info.file);
}

/// The sentence of the first table that has the fault, and the files of the others.
template <class HasFault, class Sentence>
void add(std::span<const EventTable* const> tables, HasFault has_fault, Sentence sentence,
         std::vector<std::string>& out) {
  std::string text;
  size_t others = 0;
  for (const EventTable* table : tables) {
    if (!has_fault(*table)) continue;
    if (text.empty()) {
      text = sentence(*table);
    } else if (++others <= kFilesNamed) {
      text += fmt::format("{}{}", others == 1 ? "; likewise " : ", ", table->info.file);
    }
  }
  if (others > kFilesNamed) text += fmt::format(" and {} more", others - kFilesNamed);
  if (!text.empty()) out.push_back(std::move(text));
}

}  // namespace

std::vector<std::string> trace_warnings(std::span<const EventTable* const> tables) {
  std::vector<std::string> out;
  add(
      tables, [](const EventTable& table) { return table.info.truncated; }, cut_short, out);
  add(
      tables, [](const EventTable& table) { return !has_gpu_work(table) && launches(table); }, no_gpu_work, out);
  add(
      tables, [](const EventTable& table) { return table.size() == 0; }, nothing_ran, out);
  return out;
}

}  // namespace lumos
