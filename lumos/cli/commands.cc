// The command table: one line per command.
#include "lumos/cli/calibrate.h"
#include "lumos/cli/command.h"
#include "lumos/cli/completion.h"
#include "lumos/cli/convert.h"
#include "lumos/cli/critical_path.h"
#include "lumos/cli/demo.h"
#include "lumos/cli/diff.h"
#include "lumos/cli/estimate.h"
#include "lumos/cli/export.h"
#include "lumos/cli/gains.h"
#include "lumos/cli/help.h"
#include "lumos/cli/inspect.h"
#include "lumos/cli/link.h"
#include "lumos/cli/merge.h"
#include "lumos/cli/predict.h"
#include "lumos/cli/replay.h"
#include "lumos/cli/report.h"
#include "lumos/cli/schemas.h"
#include "lumos/cli/search.h"
#include "lumos/cli/stragglers.h"
#include "lumos/cli/validate.h"

namespace lumos {

std::vector<Command> make_commands() {
  return {
      inspect_command(),  replay_command(),     report_command(),     critical_path_command(), diff_command(),
      link_command(),     stragglers_command(), predict_command(),    validate_command(),      gains_command(),
      estimate_command(), search_command(),     merge_command(),      calibrate_command(),     convert_command(),
      export_command(),   demo_command(),       completion_command(), schemas_command(),       reference_command(),
  };
}

std::string_view version() { return LUMOS_VERSION; }

}  // namespace lumos
