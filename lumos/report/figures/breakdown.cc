#include "lumos/report/figures/breakdown.h"

#include <algorithm>

namespace lumos {

Breakdown& Breakdown::operator+=(const Breakdown& other) {
  exposed_compute_ns += other.exposed_compute_ns;
  overlapped_ns += other.overlapped_ns;
  exposed_comm_ns += other.exposed_comm_ns;
  other_ns += other.other_ns;
  return *this;
}

Breakdown breakdown(std::span<const BusyInterval> intervals, Window window) {
  Breakdown result;
  // Everything before `reached` is accounted for. Since intervals come by start, the state there is fully described by
  // how far the compute and the communication seen so far reach.
  int64_t reached = window.start_ns;
  int64_t compute_until = window.start_ns;
  int64_t comm_until = window.start_ns;
  const auto advance_to = [&](int64_t ns) {
    while (reached < ns) {
      const bool compute = compute_until > reached;
      const bool comm = comm_until > reached;
      int64_t next = ns;
      if (compute) next = std::min(next, compute_until);
      if (comm) next = std::min(next, comm_until);
      int64_t& part = compute ? (comm ? result.overlapped_ns : result.exposed_compute_ns)
                              : (comm ? result.exposed_comm_ns : result.other_ns);
      part += next - reached;
      reached = next;
    }
  };
  for (const BusyInterval& interval : intervals) {
    if (interval.start_ns >= window.end_ns) break;
    if (interval.end_ns <= window.start_ns) continue;
    advance_to(interval.start_ns);
    int64_t& until = interval.communication ? comm_until : compute_until;
    until = std::max(until, std::min(interval.end_ns, window.end_ns));
  }
  advance_to(window.end_ns);
  return result;
}

}  // namespace lumos
