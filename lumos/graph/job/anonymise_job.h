// A linked job without the names of people, machines and files: its tables, and what linking took from them. For graph
// files that people share. Used by `lumos convert --anonymize`.
#pragma once

#include "lumos/graph/job/job.h"

namespace lumos {

/// The same job with all names replaced, alike in all ranks; see trace/sets/anonymise for what a name is. Simulates to
/// the same nanosecond.
LinkedJob anonymised(LinkedJob job);

}  // namespace lumos
