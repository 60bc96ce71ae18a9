#include "lumos/cli/change_arguments.h"

#include <utility>

namespace lumos {

void add_change_options(Command& command, ChangeArguments& arguments) {
  std::vector<Option> options = {
      {"--scale", "SELECTOR=FACTOR", "Multiply the time of what matches", &arguments.scales},
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
      {"--gpus-per-node", "N", "Where the traces do not tell", &arguments.gpus_per_node},
      {"--changes", "FILE", "Changes from a TOML or JSON file", &arguments.file, false, {}, Completion::kFile},
  };
  command.options.insert(command.options.begin(), options.begin(), options.end());
}

Result<ChangeList> change_list(const ChangeArguments& arguments) {
  ChangeList list;
  if (!arguments.file.empty()) TRY_STATUS(read_changes(arguments.file, list));
  if (arguments.gpus_per_node < 0) return fail(ErrorKind::kUsage, "--gpus-per-node must be 1 or more");
  if (arguments.gpus_per_node > 0) list.gpus_per_node = arguments.gpus_per_node;
  for (const std::string& text : arguments.scales) list.scales.push_back(TRY(parse_scale(text)));
  const std::pair<const char*, const std::vector<std::string>*> lists[] = {
      {"remove", &arguments.remove},   {"fuse", &arguments.fuse},           {"drop-sync", &arguments.drop_sync},
      {"overlap", &arguments.overlap}, {"bandwidth", &arguments.bandwidth}, {"latency", &arguments.latency}};
  for (const auto& [option, texts] : lists) {
    for (const std::string& text : *texts) list.changes.push_back(TRY(parse_change(option, text)));
  }
  if (arguments.no_launch_overhead) list.changes.push_back(TRY(parse_change("no-launch-overhead", "")));
  return list;
}

}  // namespace lumos
