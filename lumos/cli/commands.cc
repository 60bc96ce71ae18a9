// The command table: one line per command.
#include "lumos/cli/arguments/command.h"
#include "lumos/cli/commands/calibrate.h"
#include "lumos/cli/commands/completion.h"
#include "lumos/cli/commands/convert.h"
#include "lumos/cli/commands/critical_path.h"
#include "lumos/cli/commands/demo.h"
#include "lumos/cli/commands/diff.h"
#include "lumos/cli/commands/estimate.h"
#include "lumos/cli/commands/export.h"
#include "lumos/cli/commands/gains.h"
#include "lumos/cli/commands/help.h"
#include "lumos/cli/commands/inspect.h"
#include "lumos/cli/commands/link.h"
#include "lumos/cli/commands/merge.h"
#include "lumos/cli/commands/predict.h"
#include "lumos/cli/commands/replay.h"
#include "lumos/cli/commands/report.h"
#include "lumos/cli/commands/schemas.h"
#include "lumos/cli/commands/search.h"
#include "lumos/cli/commands/stragglers.h"
#include "lumos/cli/commands/synth.h"
#include "lumos/cli/commands/validate.h"

namespace lumos {

std::vector<Command> make_commands() {
  return {
      inspect_command(),   replay_command(),     report_command(),  critical_path_command(), diff_command(),
      link_command(),      stragglers_command(), predict_command(), validate_command(),      gains_command(),
      estimate_command(),  synth_command(),      search_command(),  merge_command(),         calibrate_command(),
      convert_command(),   export_command(),     demo_command(),    completion_command(),    schemas_command(),
      reference_command(),
  };
}

std::string_view version() { return LUMOS_VERSION; }

}  // namespace lumos
