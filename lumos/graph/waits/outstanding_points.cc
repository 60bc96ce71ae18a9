#include "lumos/graph/waits/outstanding_points.h"

#include <algorithm>
#include <utility>

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
  for (uint32_t i = 0; i < index; ++i) points_[i].awaited |= points_[i].point.stream == stream;
  OutstandingPoint& point = points_[index];
  if (point.awaited) return;
  point.awaited = --point.uses == 0;
  point.in_use = true;
  any_in_use_ |= !point.awaited;
}

void OutstandingPoints::end_uses() {
  if (!std::exchange(any_in_use_, false)) return;
  for (OutstandingPoint& p : points_) p.awaited |= p.in_use;
}

void OutstandingPoints::drop_awaited(int64_t now_ns) {
  std::erase_if(points_, [&](const OutstandingPoint& p) { return p.awaited && !may_wait_again(p, now_ns); });
  if (points_.size() > kMostOutstanding) {
    points_.erase(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(points_.size() - kMostOutstanding));
  }
}

bool OutstandingPoints::may_wait_again(const OutstandingPoint& point, int64_t now_ns) const {
  if (!contexts_.communication_stream[point.point.stream]) return false;
  for (uint32_t r = host_.parent[host_.calls[point.call].row]; r != kNoIndex; r = host_.parent[r]) {
    if (table_.kind[r] == EventKind::kCpuOp && table_.end_ns(r) > now_ns) return true;
  }
  return false;
}

void OutstandingPoints::keep_communication() {
  std::erase_if(points_, [&](const OutstandingPoint& p) { return !contexts_.communication_stream[p.point.stream]; });
}

bool OutstandingPoints::collective_near(uint32_t c) {
  operators_around(host_.calls[c].row, around_wait_);
  return std::any_of(points_.begin(), points_.end(), [&](const OutstandingPoint& p) {
    return !p.awaited && !p.settled && contexts_.communication_stream[p.point.stream] && common_depth(p.call) > 0;
  });
}

void OutstandingPoints::find_readings(uint32_t c, uint32_t waiter, uint32_t other, uint32_t streams,
                                      std::vector<uint32_t>& readings) {
  readings.assign(kFirstStream + kReadingsPerStream * streams, kNoIndex);
  operators_around(host_.calls[c].row, around_wait_);
  find_twins(c, waiter, 0, readings);
  if (other != kNoIndex) find_twins(c, other, 1, readings);
}

void OutstandingPoints::find_twins(uint32_t c, uint32_t waiter, uint32_t twin, std::vector<uint32_t>& readings) {
  const uint32_t last_launch = contexts_.of_call[c].previous_launch;
  int deepest = -1, deepest_again = 0;
  uint32_t again = kNoIndex;
  for (uint32_t i = 0; i < points_.size(); ++i) {
    const OutstandingPoint& p = points_[i];
    if (p.settled || p.point.stream == waiter) continue;
    if (p.awaited) {
      const int depth = common_depth(p.call);
      if (depth > deepest_again) deepest_again = depth, again = i;
      continue;
    }
    const int depth = p.call == last_launch ? INT32_MAX : common_depth(p.call);
    // Of points equally near in structure a collective is waited for in the order of launches, an event recorded on a
    // compute stream right after it was recorded.
    if (depth > deepest || (depth == deepest && !contexts_.communication_stream[p.point.stream])) {
      deepest = depth;
      readings[kStructure + twin] = i;
    }
    if (readings[kOldest + twin] == kNoIndex) readings[kOldest + twin] = i;
    readings[kNewest + twin] = i;
    uint32_t* of_stream = &readings[kFirstStream + kReadingsPerStream * p.point.stream + twin];
    if (of_stream[0] == kNoIndex) of_stream[0] = i;
    of_stream[2] = i;
  }
  // An operator that waits again for what it has waited for means nothing that was launched elsewhere.
  if (deepest_again > deepest) readings[kStructure + twin] = again;
  if (readings[kNewest + twin] != kNoIndex || twin != 0) return;
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
