#include "lumos/cli/arguments/change_arguments.h"

#include <utility>

#include "lumos/cli/arguments/config_file.h"

namespace lumos {

void add_change_options(Command& command, ChangeArguments& arguments) {
  std::vector<Option> options = {
      {"--scale", "SELECTOR=FACTOR", "Multiply the time of what matches", &arguments.scales},
      {"--scale-batch", "K", "K times the samples in each step: every kernel that works on the batch timed again",
       &arguments.scale_batch},
      {"--batch-size",
       "N",
       "The traced batch, where the shapes do not tell",
       &arguments.batch_size,
       false,
       {},
       Completion::kNothing,
       1},
      {"--cluster",
       "FILE|NAME",
       "Another GPU or network, by file or name (dgx-h100): every kernel by the ratio of its model's times on both",
       &arguments.cluster,
       false,
       {},
       Completion::kFile},
      {"--from-cluster",
       "FILE|NAME",
       "The traced machine, where the device's name does not tell; needed for transfers",
       &arguments.from_cluster,
       false,
       {},
       Completion::kFile},
      {"--remove", "WHAT", "Take out kernel:REGEX with its launch, or op:REGEX with all that it runs",
       &arguments.remove},
      {"--fuse", "op:REGEX", "Make the kernels of an operator one, GEMMs kept", &arguments.fuse},
      {"--drop-sync", "REGEX", "Synchronising calls, by name or operator, no longer wait", &arguments.drop_sync},
      {"--overlap", "none|full:REGEX", "Communication of a group never, or fully, beside compute", &arguments.overlap},
      {"--bandwidth", "TIER=FACTOR", "Links across (inter) or within (intra) nodes, as in inter=2x",
       &arguments.bandwidth},
      {"--latency", "TIER=FACTOR", "Their latency likewise", &arguments.latency},
      {"--no-launch-overhead", "", "Launching kernels costs nothing, as with a CUDA graph",
       &arguments.no_launch_overhead},
      {"--kernel-times",
       "FILE",
       "Measured times of kernels that win over all else: CSV with kernel, op, input_dims, grid, time_us",
       &arguments.kernel_times,
       false,
       {},
       Completion::kFile},
      {"--gpus-per-node",
       "N",
       "Where the traces do not tell",
       &arguments.gpus_per_node,
       false,
       {},
       Completion::kNothing,
       1},
      {"--changes", "FILE", "Changes from a TOML or JSON file", &arguments.file, false, {}, Completion::kFile},
  };
  command.options.insert(command.options.begin(), options.begin(), options.end());
}

Result<ChangeList> change_list(const ChangeArguments& arguments) {
  ChangeList list;
  if (!arguments.file.empty()) TRY_STATUS(read_changes(arguments.file, list));
  // Python says 0 where it says nothing.
  if (arguments.gpus_per_node < 0) return fail(ErrorKind::kUsage, "--gpus-per-node must be 1 or more");
  if (arguments.batch_size < 0) return fail(ErrorKind::kUsage, "--batch-size must be 1 or more");
  if (arguments.batch_size > 0) list.batch_size = arguments.batch_size;
  if (!arguments.from_cluster.empty()) {
    list.from_cluster = TRY(read_shared_cluster(TRY(find_config("clusters", arguments.from_cluster))));
  }
  if (arguments.gpus_per_node > 0) list.gpus_per_node = arguments.gpus_per_node;
  for (const std::string& text : arguments.scales) list.scales.push_back(TRY(parse_scale(text)));
  const std::pair<const char*, const std::vector<std::string>*> lists[] = {{"scale-batch", &arguments.scale_batch},
                                                                           {"cluster", &arguments.cluster},
                                                                           {"kernel-times", &arguments.kernel_times},
                                                                           {"remove", &arguments.remove},
                                                                           {"fuse", &arguments.fuse},
                                                                           {"drop-sync", &arguments.drop_sync},
                                                                           {"overlap", &arguments.overlap},
                                                                           {"bandwidth", &arguments.bandwidth},
                                                                           {"latency", &arguments.latency}};
  for (const auto& [option, texts] : lists) {
    for (const std::string& text : *texts) {
      // A cluster that comes with Lumos is told by its name; answers say what the user said.
      const bool named = option == std::string_view("cluster");
      list.changes.push_back(TRY(parse_change(option, named ? TRY(find_config("clusters", text)) : text)));
      if (named) list.changes.back().text = "--cluster " + text;
    }
  }
  if (arguments.no_launch_overhead) list.changes.push_back(TRY(parse_change("no-launch-overhead", "")));
  return list;
}

}  // namespace lumos
