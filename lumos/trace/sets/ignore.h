// Makes a trace poorer, to show how far a command gets without what profilers may leave out: operator shapes, the
// metadata of collectives, annotations. Read by inspect and predict.
#pragma once

#include <string_view>

#include "lumos/base/result.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

struct IgnoredMetadata {
  bool shapes = false;
  bool collectives = false;
  bool annotations = false;
};

/// "shapes,collectives,annotations" or a part of it. Errors: kUsage with the word nobody knows.
Result<IgnoredMetadata> parse_ignored(std::string_view text);

/// Takes the metadata out of the table. Annotations lose their rows, the profiler's steps included.
void ignore_metadata(EventTable& table, const IgnoredMetadata& ignored);

}  // namespace lumos
