#include "lumos/report/figures/row_template.h"

#include <algorithm>

namespace lumos {

namespace {

RowTemplate template_of(const Label& label) {
  const bool in_layer = label.layer >= 0;
  switch (label.phase) {
    case Phase::kInit:
      return RowTemplate::kInit;
    case Phase::kForward:
      return in_layer ? RowTemplate::kForwardLayer : RowTemplate::kForward;
    case Phase::kBackward:
      return in_layer ? RowTemplate::kBackwardLayer : RowTemplate::kBackward;
    case Phase::kRecompute:
      return RowTemplate::kRecompute;
    case Phase::kP2p:
      return RowTemplate::kExchange;
    case Phase::kGradSync:
      return RowTemplate::kGradSync;
    case Phase::kOptimizer:
      return RowTemplate::kOptimizer;
    case Phase::kLog:
      return RowTemplate::kLog;
    case Phase::kUnknown:
      break;
  }
  return RowTemplate::kNotPlaced;
}

/// A launch on a thread, by time.
struct Launched {
  int64_t ts_ns;
  RowTemplate part;
};

}  // namespace

std::string_view template_name(RowTemplate part) {
  constexpr std::string_view kNames[] = {
      "init",
      "forward, outside layers",
      "forward layers",
      "backward, outside layers",
      "backward layers",
      "recompute",
      "exchange of stages",
      "gradient sync",
      "optimizer",
      "log",
      "not placed",
  };
  return kNames[static_cast<size_t>(part)];
}

std::vector<RowTemplate> row_templates(const EventTable& table, const RecoveredRank& recovered) {
  const LaunchList& list = recovered.list;
  std::vector<std::vector<Launched>> by_lane(table.lanes.size());
  for (size_t i = 0; i < list.launches.size(); ++i) {
    const Launch& launch = list.launches[i];
    if (launch.lane != kNoIndex) by_lane[launch.lane].push_back({launch.ts_ns, template_of(recovered.labels[i])});
  }
  std::vector<RowTemplate> parts(table.size(), RowTemplate::kNotPlaced);
  for (uint32_t row = 0; row < table.size(); ++row) {
    const uint32_t launch = list.launch_of_row[row];
    if (launch != kNoIndex) {
      parts[row] = template_of(recovered.labels[launch]);
      continue;
    }
    const std::vector<Launched>& thread = by_lane[table.lane[row]];
    if (thread.empty()) continue;
    auto next = std::lower_bound(thread.begin(), thread.end(), table.ts_ns[row],
                                 [](const Launched& a, int64_t ts_ns) { return a.ts_ns < ts_ns; });
    parts[row] = (next == thread.end() ? thread.back() : *next).part;
  }
  return parts;
}

std::vector<RowTemplate> row_templates(const EventTable& table) {
  return row_templates(table, recover(table, hints_from_groups(table)));
}

}  // namespace lumos
