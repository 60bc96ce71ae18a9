// The options that change a job: --scale, --remove, --fuse ... and the file that holds the same.
#pragma once

#include <string>
#include <vector>

#include "lumos/cli/arguments/command.h"
#include "lumos/whatif/edit/change.h"

namespace lumos {

struct ChangeArguments {
  std::vector<std::string> scales, remove, fuse, drop_sync, overlap, bandwidth, latency;
  std::vector<std::string> scale_batch, cluster, kernel_times;
  std::string from_cluster;
  int64_t batch_size = 0;
  bool no_launch_overhead = false;
  int64_t gpus_per_node = 0;
  std::string file;
};

/// Adds the options that store into `arguments`, first of the list.
void add_change_options(Command& command, ChangeArguments& arguments);

/// Parses them: those of the file first. Errors: kUsage, and kUnreadable for the file.
Result<ChangeList> change_list(const ChangeArguments& arguments);

}  // namespace lumos
