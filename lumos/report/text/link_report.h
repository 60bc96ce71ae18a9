// What `lumos link` found: how the ranks' clocks relate, what was matched by what, and every group's transfers with
// their bandwidth. Made from a linked job; rendered as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "lumos/graph/job/job.h"

namespace lumos {

/// Transfers of one group and kind in one chosen step (the k-th of every rank).
struct StepTransfers {
  std::vector<TransferSummary> rows;
};

struct LinkReport {
  const LinkedJob* job = nullptr;  ///< must outlive the report
  std::vector<StepTransfers> steps;
};

LinkReport link_report(const LinkedJob& job);

std::string link_text(const LinkReport& report);
std::string link_json(const LinkReport& report);

}  // namespace lumos
