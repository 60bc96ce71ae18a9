// The emulated sets of the data, recovered from their traces. Tests only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lumos/graph/rank/build.h"
#include "lumos/model/job/job_file.h"
#include "lumos/program/predict.h"
#include "lumos/trace/kineto/reader.h"

namespace lumos {

/// `folder` holds the traces and the config.json of one job.
inline Recovery recover_set(const std::string& folder) {
  const JobFile file = read_job_file(folder + "/config.json").value();
  TraceSet set = read_traces({folder}, {}).value();
  std::vector<ExecGraph> graphs;
  for (EventTable& table : set.tables)
    graphs.push_back(build_graph(std::make_shared<const EventTable>(std::move(table)), {}));
  return recover_job(graphs, file.job, default_network()).value();
}

}  // namespace lumos
