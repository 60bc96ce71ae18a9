// What graph/rank/build gathers before it fits constants, from tables written by hand. Tests only.
#pragma once

#include "lumos/graph/rank/first_wave.h"
#include "lumos/graph/rank/rank_programs.h"
#include "lumos/graph/test_table.h"

namespace lumos {

/// The programs of a table with everything that the passes find but waits for room, which tests add or look for.
inline RankPrograms rank_programs(const TestPrograms& p) {
  RankPrograms out;
  out.table = p.table.get();
  out.host = p.host;
  out.gpu = p.gpu;
  out.tolerance_ns = clock_tolerance_ns(*p.table);
  out.usual_call_ns = usual_durations(*p.table, p.host);
  out.longest_plain_call_ns = longest_plain_call(*p.table, p.host);
  out.late_launch = find_late_launches(*p.table, p.host, p.gpu, out.usual_call_ns);
  out.stream_predecessor = find_stream_predecessors(p.gpu, out.tolerance_ns);
  out.stream_waits = find_stream_waits(*p.table, p.host, p.gpu, out.tolerance_ns, {});
  out.launch_queue = find_launch_queue(*p.table, p.host, p.gpu);
  out.sync_calls = find_sync_calls(*p.table, p.host, p.gpu, out.tolerance_ns, true);
  out.hand_offs = find_hand_offs(*p.table, p.host);
  return out;
}

}  // namespace lumos
