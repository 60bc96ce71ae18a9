// Job graph -> Chakra execution traces (.et), one per rank, for ASTRA-sim and whoever else reads MLCommons' format:
// protobuf messages of et_def.proto, each behind its length. Made from a linked job by `lumos convert --chakra`. Hides
// protozero. docs/chakra.md says what the format cannot hold.
#pragma once

#include <string>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/graph/job/job.h"

namespace lumos {

/// The trace of rank `rank_index`: metadata, then a node per task in an order in which every node comes after those
/// that it depends on. O(tasks + edges).
std::string chakra_trace(const LinkedJob& job, uint32_t rank_index);

/// Writes trace.RANK.et for every rank and comm_groups.json into `folder`, which is made if need be. Returns the files.
/// Errors: kFailed when one cannot be written.
Result<std::vector<std::string>> write_chakra_traces(const LinkedJob& job, const std::string& folder);

}  // namespace lumos
