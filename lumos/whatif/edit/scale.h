// `--scale SELECTOR=FACTOR`: parts of a job made faster or slower. Made from the command line or a file of changes;
// gives a new job graph, which is simulated like the one it came from.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/graph/job/job.h"

namespace lumos {

/// What a selector looks at. Expressions match the full name.
enum class ScaleTarget : uint8_t {
  kComm,    ///< comm:REGEX, transfers by kind or group; waiting follows by itself
  kGroup,   ///< group:REGEX, transfers by name or description of their group
  kKernel,  ///< kernel:REGEX, GPU work that is no communication, by name
  kOp,      ///< op:REGEX, the kernels that an operator launches
  kOpCpu,   ///< op-cpu:REGEX, the CPU time of an operator and of all inside it
  kHost,    ///< host, all CPU time but the profiler's own
  kRank,    ///< rank:N, compute and CPU time of one rank
};

struct Scale {
  std::string text;  ///< as the user wrote it
  ScaleTarget target = ScaleTarget::kHost;
  std::string pattern;
  int32_t rank = -1;  ///< of kRank
  double factor = 1;
};

/// A larger factor is a slip of the keyboard, and would not leave room for times in nanoseconds. Of what can be divided
/// by, the inverse is the least.
inline constexpr double kLargestFactor = 1e4;

/// A time that was multiplied, to the nanosecond and at most kLongestWorkNs: factors that come together may exceed what
/// each may be, and apply_changes refuses a job of that length.
inline constexpr double kLongestWorkNs = 1e18;  // 31 years: sums of times stay far from their limit
inline int64_t multiplied_ns(int64_t ns, double factor) {
  return std::llround(std::min(static_cast<double>(ns) * factor, kLongestWorkNs));
}

/// "kernel:.*gemm.*=0.5". Errors: kUsage for an unknown selector, a wrong expression, or a factor that is no number
/// from 0 to kLargestFactor.
Result<Scale> parse_scale(std::string_view text);

/// How much a scale matched, over all ranks and the whole trace.
struct ScaleMatch {
  std::string text;
  uint64_t tasks = 0;
  double time_ms = 0;              ///< their durations before the change
  std::vector<std::string> notes;  ///< what was assumed, where a change says so
};

struct ScaledGraph {
  ExecGraph graph;
  std::vector<ScaleMatch> matches;  ///< one per scale
};

/// The job's graph with all scales applied, each to the durations that the ones before it left. Communication waits and
/// launch latencies are not scaled: they follow, or belong to the machine. Errors: kUsage when a scale matches nothing.
Result<ScaledGraph> scale_graph(const LinkedJob& job, const std::vector<Scale>& scales);

}  // namespace lumos
