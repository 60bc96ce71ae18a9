// The kernels that a step spends its GPU time in, by family and name. Read by the HTML report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/report/figures/steps.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

struct KernelUse {
  std::string family;
  std::string name;  ///< short
  uint64_t count = 0;
  int64_t total_ns = 0;
};

/// GPU work, communication included, that starts in `windows`; longest total first.
std::vector<KernelUse> kernel_uses(const EventTable& table, const std::vector<Window>& windows);

}  // namespace lumos
