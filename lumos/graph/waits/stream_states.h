// What each stream has come to while calls are replayed in program order: its last work, and what it was made to wait
// for since. Kept by graph/waits/stream_waits.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/graph/host/gpu_program.h"
#include "lumos/graph/waits/outstanding_points.h"

namespace lumos {

/// A dependency as a call site tells it; not yet held against time.
struct WaitCandidate {
  uint32_t waiting = 0;
  uint32_t source = 0;
  uint32_t site = 0;
  bool recorded = false;
};

class StreamStates {
 public:
  explicit StreamStates(const GpuProgram& gpu)
      : gpu_(&gpu), last_(gpu.streams(), kNoIndex), joined_(gpu.streams(), kNoIndex), pending_(gpu.streams()) {}

  /// The stream's last work, kNoIndex before its first.
  uint32_t last(uint32_t stream) const { return last_[stream]; }
  StreamPoint point_of(uint32_t stream) const;
  /// The stream has work that none was made to wait for yet.
  bool unjoined(uint32_t stream) const { return last_[stream] != kNoIndex && last_[stream] != joined_[stream]; }

  /// `waiter` is made to wait for the point: of each other stream for the latest work.
  void wait(uint32_t waiter, const StreamPoint& point, uint32_t site, bool recorded);
  /// Work `w` is launched: it waits for all that its stream was made to wait for.
  void launch(uint32_t w, std::vector<WaitCandidate>& edges);

 private:
  struct Pending {
    uint32_t work;
    uint32_t site;
    bool recorded;
  };

  const GpuProgram* gpu_;
  std::vector<uint32_t> last_;
  std::vector<uint32_t> joined_;  ///< the last work that another stream was made to wait for
  std::vector<std::vector<Pending>> pending_;
};

}  // namespace lumos
