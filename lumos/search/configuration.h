// One job of a search with what is known before it is evaluated: its name, whether it fits, and a step time that it
// cannot beat. Made from a list of jobs; read by search, which evaluates what could matter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lumos/model/job/job.h"
#include "lumos/program/anchor.h"

namespace lumos {

struct Configuration {
  std::string id;
  Job job;
  uint32_t line = 0;    ///< of the table it comes from; 0 for a space
  double peak_gib = 0;  ///< of the fullest stage
  bool fits = true;     ///< in the memory of the cluster's GPU
  double bound_ms = 0;  ///< no estimate of this job is below
};

/// 16 hexadecimal digits that depend on every setting of the job and on `context`: what else decides a result, such as
/// the cluster. Two results with one id are the same question.
std::string config_id(const Job& job, std::string_view context);

/// What config_id takes as context: every number of the cluster but its price, which no result depends on, and the
/// scales of the traces.
std::string search_context(const Anchor& anchor);

/// Configurations of `jobs`, in their order. Memory and bounds are computed on `threads` workers (0: all processors).
std::vector<Configuration> make_configurations(const std::vector<Job>& jobs, const Anchor& anchor, int threads);

}  // namespace lumos
