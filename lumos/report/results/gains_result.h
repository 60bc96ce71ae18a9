// The gains of a job as a table: what each thing takes, how much of that lies on the critical path, and how much
// shorter the step would be if it were faster. Made from a linked job; rendered as text and as lumos.gains.v1.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "lumos/graph/job/job.h"
#include "lumos/whatif/gains/candidates.h"

namespace lumos {

/// All times are per step, means over the ranks.
struct GainRow {
  CandidateKind kind = CandidateKind::kHost;
  std::string name;
  double time_ms = 0;
  double on_path_ms = 0;  ///< of it, on the critical path
  double tenth_ms = 0;    ///< the gain when 10 % faster
  double half_ms = 0;     ///< twice as fast
  double free_ms = 0;
  double peers_ms = 0;    ///< as fast as its peers; 0: not slower
  double ends_after = 1;  ///< the share of its time after which faster gains hardly more; 1: never
  std::string then;       ///< what the critical path has more of once this is free; empty: not asked
};

struct GainsResult {
  double step_ms = 0;  ///< simulated
  std::vector<GainRow> rows;
  uint64_t tried = 0;  ///< candidates
};

struct GainsOptions {
  double least_share = 1e-3;  ///< of the step: smaller gains are left out
  int threads = 0;
  std::stop_token stop;  ///< once asked for, the rest is left out and the result is worth nothing
};

GainsResult gains_result(const LinkedJob& job, const GainsOptions& options);

/// At most `limit` rows.
std::string gains_text(const GainsResult& result, size_t limit);
std::string gains_json(const GainsResult& result);

}  // namespace lumos
