// Real traces for tests of changes: one file below $LUMOS_DATA as a job, and what its kernels take. Tests only.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>

#include "lumos/base/test_data.h"
#include "lumos/graph/job/job.h"
#include "lumos/sim/overlap.h"

namespace lumos {

inline LinkedJob real_job(const std::string& path) {
  auto job = load_job({data_path(path)}, {});
  EXPECT_TRUE(job.has_value()) << (job ? "" : job.error().message);
  return job ? std::move(*job) : LinkedJob{};
}

/// A path as the name of a test.
inline std::string test_name(std::string path) {
  std::replace_if(
      path.begin(), path.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return path;
}

/// Kernels, without copies and fills, over the whole trace.
inline double kernel_time_ms(const ExecGraph& graph) {
  double ms = 0;
  for (uint32_t task = 0; task < graph.size(); ++task) {
    if (graph.kind[task] == TaskKind::kKernel) ms += static_cast<double>(graph.duration_ns[task]) / 1e6;
  }
  return ms;
}

}  // namespace lumos
