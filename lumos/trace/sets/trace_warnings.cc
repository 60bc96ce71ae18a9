#include "lumos/trace/sets/trace_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace lumos {

namespace {

constexpr size_t kFilesNamed = 3;  // of those that have the same fault as the first

// An event stands alone where nothing happens around it for longer than people let a profiler wait, many times as long
// as all others take together.
constexpr int64_t kLongestPauseNs = 60'000'000'000;
constexpr double kPauseOverSpan = 100;
constexpr size_t kOthersPerLoneEvent = 20;

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

/// How many rows the file has itself. Behind them stand the launches that flows tell of (Ascend): each lies at the end
/// of a call and ends with it.
size_t rows_of_file(const EventTable& table) {
  std::map<std::pair<uint32_t, int64_t>, int64_t> first_start;  // of the calls by lane and end
  for (size_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] != EventKind::kRuntime) continue;
    const auto [at, is_new] = first_start.try_emplace({table.lane[row], table.end_ns(row)}, table.ts_ns[row]);
    if (!is_new) at->second = std::min(at->second, table.ts_ns[row]);
  }
  size_t rows = table.size();
  for (; rows > 0 && table.kind[rows - 1] == EventKind::kRuntime; --rows) {
    if (first_start.at({table.lane[rows - 1], table.end_ns(rows - 1)}) == table.ts_ns[rows - 1]) break;
  }
  return rows;
}

/// The rows are in the order of the file: the last one is where reading stopped.
std::string last_event(const EventTable& table) {
  const size_t rows = rows_of_file(table);
  if (rows == 0) return "before any event that is used";
  const size_t row = rows - 1;
  const int64_t first_ns = *std::min_element(table.ts_ns.begin(), table.ts_ns.end());
  return fmt::format("after '{}' at {:.3f} ms", table.name_of(row),
                     static_cast<double>(table.ts_ns[row] - first_ns) / 1e6);
}

std::string cut_short(const EventTable& table) {
  return fmt::format(
      "{}: the file is cut short after {} bytes of text, {}; the {} events up to there are used, but steps may lack "
      "GPU "
      "work that came behind and look shorter than they were: copy or export it again",
      table.info.file, table.info.decoded_bytes, last_event(table), table.info.events);
}

std::string no_gpu_work(const EventTable& table) {
  return fmt::format(
      "{}: kernels are launched in it, but it holds no GPU work{}; operators on the CPU are taken for compute",
      table.info.file, table.info.truncated ? "" : ": record with ProfilerActivity.CUDA");
}

/// Says so, and what became of the events if there are any.
std::string nothing_ran(const EventTable& table) {
  const TraceInfo& info = table.info;
  std::string text = fmt::format("{}: nothing ran in this trace", info.file);
  const ReadIssue* worst = nullptr;
  for (const ReadIssue& issue : info.issues) {
    if (!issue.repaired && (worst == nullptr || issue.count > worst->count)) worst = &issue;
  }
  if (worst != nullptr && 2 * worst->count > info.left_out_other) {
    text +=
        fmt::format("; {} events were skipped: {}, first at byte {}", worst->count, worst->reason, worst->first_byte);
  } else if (info.left_out_other > 0) {
    text += fmt::format(
        "; none of its {} events is of a category (cat) that torch.profiler writes for operators, calls or GPU work: "
        "the trace of another program?",
        info.events);
  }
  return text;
}

/// The events of a table before and after the middle of its time.
struct Halves {
  size_t early = 0, late = 0;  // how many
  size_t last_early = 0, first_late = 0;
  int64_t first_ns = 0, last_ns = 0;
};

Halves halves_of(const EventTable& table) {
  Halves halves;
  const auto [first, last] = std::minmax_element(table.ts_ns.begin(), table.ts_ns.end());
  halves.first_ns = *first, halves.last_ns = *last;
  const int64_t middle_ns = std::midpoint(*first, *last);
  for (size_t row = 0; row < table.size(); ++row) {
    const bool early = table.ts_ns[row] <= middle_ns;
    size_t& count = early ? halves.early : halves.late;
    size_t& edge = early ? halves.last_early : halves.first_late;
    if (count++ == 0 || (table.ts_ns[row] > table.ts_ns[edge]) == early) edge = row;
  }
  return halves;
}

/// Few events that lie implausibly far from all others: what a damaged time stamp looks like. Empty if there are none.
std::string stands_alone(const EventTable& table) {
  if (table.size() < 2) return "";
  const Halves halves = halves_of(table);
  if (halves.late == 0) return "";
  const int64_t gap_ns = table.ts_ns[halves.first_late] - table.ts_ns[halves.last_early];
  const bool early_alone = halves.early < halves.late;
  const size_t few = std::min(halves.early, halves.late);
  const double others_ns = static_cast<double>(halves.last_ns - halves.first_ns) - static_cast<double>(gap_ns);
  if (few * kOthersPerLoneEvent > table.size() || gap_ns < kLongestPauseNs ||
      static_cast<double>(gap_ns) < kPauseOverSpan * others_ns)
    return "";
  const size_t row = early_alone ? halves.last_early : halves.first_late;
  return fmt::format(
      "{}: '{}'{} at {:.3f} ms begins {:.0f} s {} all others: its time stamp is hardly right, and a step that reaches "
      "there is as long",
      table.info.file, table.name_of(row), few > 1 ? fmt::format(" and {} more", few - 1) : "",
      static_cast<double>(table.ts_ns[row] - halves.first_ns) / 1e6, static_cast<double>(gap_ns) / 1e9,
      early_alone ? "before" : "after");
}

/// The names of a trace's steps.
std::set<std::string_view> steps_of(const EventTable& table) {
  std::set<std::string_view> names;
  for (size_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] == EventKind::kAnnotation && table.name_of(row).starts_with("ProfilerStep"))
      names.insert(table.name_of(row));
  }
  return names;
}

/// Ranks without marks of steps beside ranks with them: a whole trace is then averaged with single steps.
std::string marks_missing(std::span<const EventTable* const> tables) {
  std::string marked;
  std::vector<std::string_view> unmarked;
  for (const EventTable* table : tables) {
    if (table->size() == 0) continue;
    const size_t steps = steps_of(*table).size();
    if (steps == 0) unmarked.push_back(table->info.file);
    if (steps > 0 && marked.empty()) marked = fmt::format("{} has {}", table->info.file, steps);
  }
  if (marked.empty() || unmarked.empty()) return "";
  return fmt::format(
      "{}{} {} no ProfilerStep marks, so that a whole trace counts as one step there, while {}: means over the ranks "
      "are of different things; leave out those without, or record them with prof.step()",
      unmarked.front(), unmarked.size() > 1 ? fmt::format(" and {} more", unmarked.size() - 1) : "",
      unmarked.size() > 1 ? "have" : "has", marked);
}

/// Why `a` and `b` are hardly of one job; empty if they may be.
std::string difference(const EventTable& a, const EventTable& b) {
  if (a.info.world_size > 0 && b.info.world_size > 0 && a.info.world_size != b.info.world_size) {
    return fmt::format("{} says that its job has {} ranks, {} says {}", a.info.file, a.info.world_size, b.info.file,
                       b.info.world_size);
  }
  const std::set<std::string_view> here = steps_of(a), there = steps_of(b);
  const bool common =
      std::any_of(here.begin(), here.end(), [&](std::string_view step) { return there.contains(step); });
  if (here.empty() || there.empty() || common) return "";
  return fmt::format("{} holds {}, {} holds {}, and no step in common", a.info.file, *here.begin(), b.info.file,
                     *there.begin());
}

/// Traces that are read together are taken for ranks of one job; here is what says that they are not.
std::string not_one_job(std::span<const EventTable* const> tables) {
  constexpr std::string_view kWhatToDo =
      "they look like traces of different jobs, but are taken for one: name the files of one job";
  for (const EventTable* table : tables) {
    const TraceInfo& info = table->info;
    if (info.world_size > 0 && info.rank >= info.world_size && info.rank_source != TraceInfo::RankSource::kUnknown)
      return fmt::format("{} is of rank {}, and says that its job has {} ranks; {}", info.file, info.rank,
                         info.world_size, kWhatToDo);
    const std::string why = difference(*tables.front(), *table);
    if (!why.empty()) return fmt::format("{}; {}", why, kWhatToDo);
  }
  size_t numbered = 0;
  for (const EventTable* table : tables) numbered += table->info.rank_source == TraceInfo::RankSource::kUnknown ? 1 : 0;
  if (numbered < 2) return "";
  return fmt::format(
      "{} of {} traces do not say whose rank they are, {} first; they are numbered in the order of their names and "
      "taken "
      "for one job: if they are not, name one at a time; else tell the ranks with --rank-regex",
      numbered, tables.size(), tables.front()->info.file);
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
  add(
      tables, [](const EventTable& table) { return !stands_alone(table).empty(); }, stands_alone, out);
  if (std::string text = marks_missing(tables); !text.empty()) out.push_back(std::move(text));
  if (std::string text = tables.size() > 1 ? not_one_job(tables) : ""; !text.empty()) out.push_back(std::move(text));
  return out;
}

}  // namespace lumos
