// EventTables -> Perfetto protobuf (.pftrace): smaller than JSON, opened faster, and several ranks in one file. Hides
// protozero. Message and field numbers are those of perfetto/protos/perfetto/trace.
#pragma once

#include <string>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/trace/table/counter_curve.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

struct PerfettoRank {
  const EventTable* table = nullptr;
  std::string label;  ///< in front of every group of tracks: "rank 3", "rank 3 replayed"
  std::vector<CounterCurve> counters;
};

/// Writes all ranks to `path`, on one time axis. Kernels are named short, with the full name as an argument; flows lead
/// from launches to kernels and from forward to backward operators. Slices of a track never overlap unless nested.
/// Errors: kFailed when the file cannot be written.
Status write_perfetto_trace(const std::vector<PerfettoRank>& ranks, const std::string& path);

}  // namespace lumos
