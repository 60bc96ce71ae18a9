// A ReplayResult as text for people and as JSON for programs.
#pragma once

#include <string>

#include "lumos/report/results/replay_result.h"

namespace lumos {

/// At most 80 columns; measured, replayed and difference side by side, then what the replay rests on.
std::string replay_text(const ReplayResult& result);

/// One object, schema lumos.replay.v1.
std::string replay_json(const ReplayResult& result);

}  // namespace lumos
