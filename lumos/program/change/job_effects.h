// What each setting of a job does to a prediction from traces: some change its work, some cannot be predicted from a
// program that has no such work, some do nothing, and why. Read by program/predict, so that no setting is without
// effect in silence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/model/job/job.h"

namespace lumos {

/// Fields whose values differ.
std::vector<std::string_view> changed_fields(const Job& base, const Job& target);

/// kUsage for the first changed field whose work no traced program of `base` can show, with the reason.
Status check_changes(const Job& base, const Job& target);

/// One sentence for each changed field that leaves the predicted step as it is, with the reason.
std::vector<std::string> changes_without_effect(const Job& base, const Job& target);

}  // namespace lumos
