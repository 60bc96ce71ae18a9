#include "lumos/report/text/unit_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "lumos/graph/host/collective.h"
#include "lumos/program/recover/units.h"
#include "lumos/report/text_table.h"
#include "lumos/trace/table/row_meaning.h"

namespace lumos {
namespace {

/// Collectives of units that are alike: of layers or of the rest, in one phase, of one sort and size.
struct Kind {
  bool of_layer = false;
  Phase phase = Phase::kUnknown;
  UnitWork work = UnitWork::kNone;
  bool ahead = false;
  int64_t bytes = -1;

  auto operator<=>(const Kind&) const = default;
};

struct Runs {
  int count = 0;
  int64_t sum_ns = 0, hidden_ns = 0;
};

struct Interval {
  int64_t begin_ns = 0, end_ns = 0;
};

/// When the GPU computed, merged and in order.
std::vector<Interval> computing(const RankProgram& rank) {
  std::vector<Interval> all;
  for (const Launch& launch : rank.recovered.list.launches)
    if (!launch.is_communication && launch.unit_work == UnitWork::kNone)
      all.push_back({rank.table->ts_ns[launch.gpu_row], rank.table->end_ns(launch.gpu_row)});
  std::sort(all.begin(), all.end(), [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  std::vector<Interval> merged;
  for (const Interval& one : all) {
    if (merged.empty() || one.begin_ns > merged.back().end_ns)
      merged.push_back(one);
    else
      merged.back().end_ns = std::max(merged.back().end_ns, one.end_ns);
  }
  return merged;
}

int64_t overlap_ns(const std::vector<Interval>& intervals, Interval with) {
  auto at = std::partition_point(intervals.begin(), intervals.end(),
                                 [&](const Interval& each) { return each.end_ns <= with.begin_ns; });
  int64_t sum = 0;
  for (; at != intervals.end() && at->begin_ns < with.end_ns; ++at)
    sum += std::min(at->end_ns, with.end_ns) - std::max(at->begin_ns, with.begin_ns);
  return sum;
}

Kind kind_of(const RankProgram& rank, uint32_t launch) {
  const Launch& launched = rank.recovered.list.launches[launch];
  const Label& label = rank.recovered.labels[launch];
  Kind kind{label.layer >= 0, label.phase, launched.unit_work, launched.gathers_ahead, -1};
  if (const CollectiveDetail* detail = rank.table->collective_detail(launched.gpu_row))
    kind.bytes = collective_bytes(launched.collective, *detail, type_of(*rank.table, *detail));
  return kind;
}

std::string name_of(const Kind& kind) {
  const std::string_view unit = kind.of_layer ? "layer" : "rest";
  if (kind.work == UnitWork::kReduce) return fmt::format("{}: reduced", unit);
  if (kind.work == UnitWork::kReplicaReduce) return fmt::format("{}: over replicas", unit);
  return fmt::format("{}: gathered, {}{}", unit, phase_name(kind.phase), kind.ahead ? ", ahead" : "");
}

}  // namespace

std::string units_text(const RankProgram& rank) {
  const std::vector<Interval> busy = computing(rank);
  std::map<Kind, Runs> runs;
  for (uint32_t i = 0; i < rank.recovered.labels.size(); ++i) {
    const Launch& launch = rank.recovered.list.launches[i];
    if (launch.unit_work == UnitWork::kNone || !launch.is_communication || rank.recovered.labels[i].step < 0) continue;
    Runs& own = runs[kind_of(rank, i)];
    const Interval moved{rank.table->ts_ns[launch.gpu_row], rank.table->end_ns(launch.gpu_row)};
    ++own.count;
    own.sum_ns += moved.end_ns - moved.begin_ns;
    own.hidden_ns += overlap_ns(busy, moved);
  }
  if (runs.empty()) return "";
  const size_t steps = std::max<size_t>(rank.recovered.step_start_ns.size(), 2) - 1;
  TextTable table({{"unit", Align::kLeft}, {"in a step"}, {"MB"}, {"ms"}, {"beside computing"}});
  for (const auto& [kind, own] : runs) {
    table.add({name_of(kind), fmt::format("{:.0f}", static_cast<double>(own.count) / static_cast<double>(steps)),
               kind.bytes < 0 ? "" : fmt::format("{:.1f}", static_cast<double>(kind.bytes) / 1e6),
               fmt::format("{:.3f}", static_cast<double>(own.sum_ns) / own.count / 1e6),
               fmt::format("{:.0f} %", 100 * static_cast<double>(own.hidden_ns) /
                                           static_cast<double>(std::max<int64_t>(1, own.sum_ns)))});
  }
  return table.text();
}

}  // namespace lumos
