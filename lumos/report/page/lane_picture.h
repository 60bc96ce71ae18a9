// The simulated run of a step as boxes on lanes, one lane per stream of each rank: what ran when, and what it had
// waited for. Thinned to a number of boxes, so that a page of many ranks stays small. Drawn by the HTML report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/graph/exec_graph.h"
#include "lumos/report/figures/schedule_lane.h"
#include "lumos/sim/timeline.h"

namespace lumos {

/// What a box is; each kind has one colour everywhere. The last three are of the lane that shows the schedule.
enum class BoxKind : uint8_t { kCompute, kCommunication, kCopy, kWait, kForward, kBackward, kUpdate, kCount };

struct LaneBox {
  int64_t start_ns = 0;  ///< from the start of the picture
  int64_t length_ns = 0;
  BoxKind kind = BoxKind::kCompute;
  uint32_t name = 0;    ///< index into LanePicture::texts
  uint32_t wait = 0;    ///< likewise: what decided when it began; an empty text of the schedule's boxes
  uint32_t merged = 1;  ///< how many tasks it stands for; of several, name and wait are those of the first
};

struct PictureLane {
  int32_t rank = 0;
  std::string label;           ///< "stream 7", "schedule"
  std::vector<LaneBox> boxes;  ///< by start; those of one kind do not overlap
};

struct LanePicture {
  int64_t length_ns = 0;
  int64_t resolution_ns = 0;  ///< neighbours shorter and closer than this were merged; 0: nothing was
  std::vector<std::string> texts;
  std::vector<PictureLane> lanes;  ///< by rank and stream, the schedule of a rank first
};

/// Draws step `steps[r]` (index into rank.steps, kNoIndex: not this rank) of every rank r, and above its streams the
/// passes in `schedules[r]`, if any. Linked ranks share one clock; others begin side by side. O(tasks log tasks).
LanePicture lane_picture(const ExecGraph& graph, const Timeline& timeline, const std::vector<uint32_t>& steps,
                         const std::vector<std::vector<PassBox>>& schedules, size_t most_boxes);

/// For the page's script: {"length", "texts", "lanes": [{"rank", "label", "boxes": [...]}]}; six numbers a box: start
/// less the end of the box before, length, kind, name, wait, merged.
std::string lane_json(const LanePicture& picture);

/// For readers without script: a line per lane, a drawing that stretches with the page.
std::string lane_html(const LanePicture& picture);

std::string_view box_kind_name(BoxKind kind);

}  // namespace lumos
