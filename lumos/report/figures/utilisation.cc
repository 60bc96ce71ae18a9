#include "lumos/report/figures/utilisation.h"

#include <algorithm>
#include <cmath>

namespace lumos {

namespace {

/// A change of what runs at one moment.
struct Change {
  int64_t at_ns;
  int32_t running;
  double sm_share;
};

std::vector<Change> changes_within(std::span<const BusyInterval> intervals, Window window) {
  std::vector<Change> changes;
  for (const BusyInterval& interval : intervals) {
    if (interval.start_ns >= window.end_ns) break;
    const int64_t start_ns = std::max(interval.start_ns, window.start_ns);
    const int64_t end_ns = std::min(interval.end_ns, window.end_ns);
    if (start_ns >= end_ns) continue;
    changes.push_back({start_ns, 1, interval.sm_share});
    changes.push_back({end_ns, -1, -interval.sm_share});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at_ns < b.at_ns; });
  return changes;
}

/// Adds the stretch [from_ns, to_ns), counted from the window's start, to the intervals that it covers.
void add_stretch(Utilisation& curves, int64_t from_ns, int64_t to_ns, double sm_share) {
  while (from_ns < to_ns) {
    const int64_t index = from_ns / curves.interval_ns;
    const int64_t until_ns = std::min(to_ns, (index + 1) * curves.interval_ns);
    curves.busy[index] += static_cast<double>(until_ns - from_ns);
    curves.weighted[index] += static_cast<double>(until_ns - from_ns) * sm_share;
    from_ns = until_ns;
  }
}

}  // namespace

int64_t utilisation_interval_ns(int64_t length_ns) {
  const int64_t whole =
      std::max<int64_t>(1, length_ns / kUtilisationIntervalNs + (length_ns % kUtilisationIntervalNs > 0));
  return kUtilisationIntervalNs * ((whole + kMostUtilisationIntervals - 1) / kMostUtilisationIntervals);
}

Utilisation utilisation(std::span<const BusyInterval> intervals, Window window, int64_t interval_ns) {
  Utilisation curves;
  curves.interval_ns = interval_ns;
  const int64_t length_ns = window.length_ns();
  const int64_t count = length_ns / interval_ns + (length_ns % interval_ns != 0 ? 1 : 0);
  curves.busy.assign(count, 0);
  curves.weighted.assign(count, 0);
  int32_t running = 0;
  double sm_share = 0;
  int64_t reached_ns = window.start_ns;
  for (const Change& change : changes_within(intervals, window)) {
    if (running > 0) {
      add_stretch(curves, reached_ns - window.start_ns, change.at_ns - window.start_ns, std::clamp(sm_share, 0.0, 1.0));
    }
    reached_ns = change.at_ns;
    running += change.running;
    sm_share = running > 0 ? sm_share + change.sm_share : 0;  // Sums of floats drift: start afresh when idle.
  }
  for (int64_t i = 0; i < count; ++i) {
    const double part_ns = static_cast<double>(std::min(interval_ns, length_ns - i * interval_ns));
    curves.busy[i] /= part_ns;
    curves.weighted[i] = std::min(curves.weighted[i] / part_ns, curves.busy[i]);
  }
  return curves;
}

double mean_absolute_difference(const std::vector<double>& a, const std::vector<double>& b) {
  const size_t count = std::max(a.size(), b.size());
  if (count == 0) return 0;
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += std::abs((i < a.size() ? a[i] : 0) - (i < b.size() ? b[i] : 0));
  return sum / static_cast<double>(count);
}

}  // namespace lumos
