// Kinds of events, tasks and dependencies in words, as the columns of tables have them. Read by csv_export and python/.
#pragma once

#include <string_view>

#include "lumos/graph/exec_graph.h"

namespace lumos {

/// "cpu_op", "kernel" ...
std::string_view event_kind_name(EventKind kind);
/// "host", "kernel", "transfer" ...
std::string_view task_kind_name(TaskKind kind);
/// "launch", "inter_stream" ...
std::string_view edge_kind_name(EdgeKind kind);

}  // namespace lumos
