// The demo trace: three training steps of a small network on one of two data-parallel ranks, in the form that the
// PyTorch profiler writes. Not measured anywhere: an emulated machine runs a script, so the project can ship and test
// on it.
#pragma once

#include <string>

namespace lumos {

struct DemoOptions {
  int steps = 3;
  bool sync_events = false;  ///< with the cuda_sync rows that most traces lack
};

/// A whole Kineto trace as JSON text; the same bytes for the same options.
std::string demo_trace(const DemoOptions& options);

}  // namespace lumos
