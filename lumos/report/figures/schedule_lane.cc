#include "lumos/report/figures/schedule_lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace lumos {

namespace {

struct PassKey {
  PassKind kind = PassKind::kForward;
  int16_t microbatch = -1;
  int16_t chunk = -1;
  bool operator==(const PassKey&) const = default;
};

std::optional<PassKey> key_of(const Label& label) {
  switch (label.phase) {
    case Phase::kForward:
      return PassKey{PassKind::kForward, label.microbatch, label.chunk};
    case Phase::kBackward:
    case Phase::kRecompute:
      return PassKey{PassKind::kBackward, label.microbatch, label.chunk};
    case Phase::kGradSync:
    case Phase::kOptimizer:
      return PassKey{PassKind::kUpdate, -1, -1};
    case Phase::kInit:
    case Phase::kP2p:
    case Phase::kLog:
    case Phase::kUnknown:
      break;
  }
  return std::nullopt;
}

std::string name_of(const PassKey& key, const RecoveredRank& recovered) {
  if (key.kind == PassKind::kUpdate) return "gradient sync and optimizer";
  std::string name = key.kind == PassKind::kForward ? "forward" : "backward";
  if (recovered.microbatches > 1) name += fmt::format(" of micro-batch {}", key.microbatch);
  if (recovered.chunks > 1) name += fmt::format(", chunk {}", key.chunk);
  return name;
}

}  // namespace

std::vector<PassBox> schedule_boxes(const ExecGraph& graph, const Timeline& timeline, uint32_t rank_index,
                                    Window window, const RecoveredRank& recovered) {
  const RankTasks& rank = graph.ranks[rank_index];
  std::vector<uint32_t> kernels;
  for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
    const bool inside = timeline.end_ns[task] > window.start_ns && timeline.start_ns[task] < window.end_ns;
    if (inside && graph.kind[task] == TaskKind::kKernel && graph.event[task] != kNoIndex) kernels.push_back(task);
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [&](uint32_t a, uint32_t b) { return timeline.start_ns[a] < timeline.start_ns[b]; });
  std::vector<PassBox> boxes;
  PassKey last;
  for (uint32_t task : kernels) {
    const uint32_t launch = recovered.list.launch_of_row[graph.event[task]];
    if (launch == kNoIndex) continue;
    const std::optional<PassKey> key = key_of(recovered.labels[launch]);
    if (!key) continue;
    const int64_t start_ns = std::max(timeline.start_ns[task], window.start_ns);
    const int64_t end_ns = std::min(timeline.end_ns[task], window.end_ns);
    if (!boxes.empty() && *key == last) {
      boxes.back().end_ns = std::max(boxes.back().end_ns, end_ns);
      continue;
    }
    // Where streams overlap, a pass ends as the next one begins.
    if (!boxes.empty()) boxes.back().end_ns = std::min(boxes.back().end_ns, start_ns);
    boxes.push_back({start_ns, end_ns, key->kind, name_of(*key, recovered)});
    last = *key;
  }
  std::erase_if(boxes, [](const PassBox& box) { return box.end_ns <= box.start_ns; });
  return boxes;
}

}  // namespace lumos
