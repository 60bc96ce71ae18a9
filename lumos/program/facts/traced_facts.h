// What a trace says of its job by itself: sizes of groups, shapes of tensors, passes and layers that recovery finds
// without being told. Job files are checked against it and completed from it. Read by the commands that take the traces
// of a job and its file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/model/job/job.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// One field of the traced job. Only what leaves no doubt is a fact.
struct TracedFact {
  std::string_view field;
  std::string value;     ///< as a job file would have it; of vocab_size, with its padding
  std::string evidence;  ///< where the trace says so, to follow "the traces say 4, "
};

/// The facts of one rank. `given` is what the job file says, for what a rank alone does not know: how many parts there
/// are of what it holds.
std::vector<TracedFact> traced_facts(const EventTable& table, const std::vector<JobSetting>& given);

/// Those of them that differ from rank to rank: the GPUs of a node, unless what is `given` explains the rank's device.
/// More GPUs than are given may be told, fewer never: a process may see a part of its node.
std::vector<TracedFact> node_facts(const EventTable& table, const std::vector<JobSetting>& given);

/// Success, or kUsage that names the field, both values and what to do.
Status check_facts(const Job& job, const std::vector<TracedFact>& facts, std::string_view job_file);

}  // namespace lumos
