#include "lumos/whatif/times/fused_time.h"

#include <algorithm>
#include <cmath>

namespace lumos {

int64_t fused_ns(const std::vector<FusedPart>& parts) {
  int64_t longest_ns = 0, all_ns = 0, floor_ns = 0, work_ns = 0, moved = 0, handed_over = 0;
  bool known = true;
  for (size_t i = 0; i < parts.size(); ++i) {
    const FusedPart& part = parts[i];
    const int64_t fixed_ns = std::min(part.floor_ns, part.duration_ns);
    longest_ns = std::max(longest_ns, part.duration_ns);
    floor_ns = std::max(floor_ns, fixed_ns);
    all_ns += part.duration_ns;
    work_ns += part.duration_ns - fixed_ns;
    moved += part.input_bytes + part.output_bytes;
    known = known && part.input_bytes > 0 && part.output_bytes > 0;
    // Each but the last writes something that the next one reads.
    if (i + 1 < parts.size()) handed_over += part.output_bytes + std::min(part.output_bytes, parts[i + 1].input_bytes);
  }
  if (!known || moved <= 0) return longest_ns;
  const double left = static_cast<double>(std::max<int64_t>(0, moved - handed_over)) / static_cast<double>(moved);
  const int64_t fused = floor_ns + std::llround(static_cast<double>(work_ns) * left);
  return std::clamp(fused, longest_ns, std::max(longest_ns, all_ns));
}

}  // namespace lumos
