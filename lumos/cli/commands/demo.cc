#include "lumos/cli/commands/demo.h"

#include <memory>

#include "lumos/base/file.h"
#include "lumos/trace/write/demo.h"

namespace lumos {

namespace {

constexpr int64_t kMaxSteps = 10'000;  // about 10 MB a hundred steps: enough for any demonstration

struct DemoArguments {
  std::string out = "-";
  int64_t steps = 3;
  bool sync_events = false;
};

Status run(const DemoArguments& arguments, Console& console) {
  if (arguments.steps < 0 || arguments.steps > kMaxSteps) {
    return fail(ErrorKind::kUsage, "demo: --steps must be from 0 to {}, not {}", kMaxSteps, arguments.steps);
  }
  const std::string trace = demo_trace({static_cast<int>(arguments.steps), arguments.sync_events});
  if (arguments.out == "-") {
    console.print(trace);
    return {};
  }
  return write_file(arguments.out, trace);
}

}  // namespace

Command demo_command() {
  auto arguments = std::make_shared<DemoArguments>();
  Command command;
  command.name = "demo";
  command.summary = "Write a small training trace to try the other commands on";
  command.description =
      "Writes the trace of a few training steps on one of two data-parallel ranks, as the PyTorch profiler would. It "
      "comes from an emulated machine, not from a measurement, and is the same in every run.";
  command.example = "lumos demo --out demo.json && lumos inspect demo.json";
  command.options = {
      {"--out", "FILE", "Where to write; '-', the default, is stdout", &arguments->out, false, {}, Completion::kFile},
      {"--steps", "N", "How many training steps, 3 by default", &arguments->steps},
      {"--sync-events", "", "Add the cuda_sync rows that name what each wait waited for", &arguments->sync_events},
  };
  command.run = [arguments](Console& console) { return run(*arguments, console); };
  return command;
}

}  // namespace lumos
