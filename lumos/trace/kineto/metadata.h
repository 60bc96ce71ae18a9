// What a trace document says besides its events: ranks, process groups, devices, the time base. Read by
// trace/kineto/reader from the values that the splitter picked up.
#pragma once

#include <string>

#include "lumos/trace/kineto/splitter.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// Enters the metadata of `document` into `info`. Values of an unexpected form are left at their defaults.
void read_metadata(const DocumentInfo& document, TraceInfo& info);

/// What a document without events is, for people: "a PyTorch execution trace (Chakra host trace)", "JSON with keys a,
/// b".
std::string describe_document(const DocumentInfo& document);

}  // namespace lumos
