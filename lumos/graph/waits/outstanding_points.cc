#include "lumos/graph/waits/outstanding_points.h"

#include <algorithm>

#include "lumos/graph/waits/wait_site.h"

namespace lumos {

namespace {

// More points than this waiting to be waited for are never waited for.
constexpr size_t kMostOutstanding = 256;

}  // namespace

void OutstandingPoints::settle() {
  for (OutstandingPoint& p : points_) p.settled = true;
}

void OutstandingPoints::mark_awaited(uint32_t stream) {
  for (OutstandingPoint& p : points_) p.awaited |= p.point.stream == stream;
}

void OutstandingPoints::mark_awaited_up_to(uint32_t index) {
  const uint32_t stream = points_[index].point.stream;
  for (uint32_t i = 0; i <= index; ++i) points_[i].awaited |= points_[i].point.stream == stream;
}

void OutstandingPoints::drop_awaited() {
  std::erase_if(points_, [](const OutstandingPoint& p) { return p.awaited; });
  if (points_.size() > kMostOutstanding) {
    points_.erase(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(points_.size() - kMostOutstanding));
  }
}

void OutstandingPoints::keep_communication() {
  std::erase_if(points_, [&](const OutstandingPoint& p) { return !contexts_.communication_stream[p.point.stream]; });
}

void OutstandingPoints::find_readings(uint32_t c, uint32_t waiter, uint32_t streams, std::vector<uint32_t>& readings) {
  readings.assign(kFirstStream + kReadingsPerStream * streams, kNoIndex);
  const uint32_t last_launch = contexts_.of_call[c].previous_launch;
  operators_around(host_.calls[c].row, around_wait_);
  int deepest = -1;
  for (uint32_t i = 0; i < points_.size(); ++i) {
    const OutstandingPoint& p = points_[i];
    if (p.awaited || p.settled || p.point.stream == waiter) continue;
    const int depth = p.call == last_launch ? INT32_MAX : common_depth(p.call);
    // Of points equally near in structure a collective is waited for in the order of launches, an event recorded on a
    // compute stream right after it was recorded.
    if (depth > deepest || (depth == deepest && !contexts_.communication_stream[p.point.stream])) {
      deepest = depth;
      readings[kStructure] = i;
    }
    if (readings[kOldest] == kNoIndex) readings[kOldest] = i;
    readings[kNewest] = i;
    uint32_t* of_stream = &readings[kFirstStream + kReadingsPerStream * p.point.stream];
    if (of_stream[0] == kNoIndex) of_stream[0] = i;
    of_stream[1] = i;
  }
  if (readings[kNewest] != kNoIndex) return;
  for (uint32_t i = 0; i < points_.size(); ++i) {
    const OutstandingPoint& p = points_[i];
    if (!p.awaited && p.point.stream != waiter) readings[kStructure] = readings[kOldest] = readings[kNewest] = i;
  }
}

// Number of operators around `call` that are also around the wait (outermost last in both lists).
int OutstandingPoints::common_depth(uint32_t call) {
  operators_around(host_.calls[call].row, around_point_);
  const auto ends =
      std::mismatch(around_point_.rbegin(), around_point_.rend(), around_wait_.rbegin(), around_wait_.rend());
  return static_cast<int>(ends.first - around_point_.rbegin());
}

// Annotations of whole steps do not count.
void OutstandingPoints::operators_around(uint32_t row, std::vector<uint32_t>& out) const {
  out.clear();
  for (uint32_t r = host_.parent[row]; r != kNoIndex; r = host_.parent[r]) {
    if (table_.kind[r] == EventKind::kCpuOp || table_.kind[r] == EventKind::kModule) out.push_back(r);
  }
}

}  // namespace lumos
