// The table of a job's fields: name, how to read the text of a value, how to write it. One entry per field is the only
// place that knows a name, so files, --set, CSV columns and output cannot disagree. Read by job.cc and job_file.cc.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "lumos/model/job/job.h"

namespace lumos {

/// A whole number in Job::further_sizes.
struct FurtherSize {
  Dimension dimension = Dimension::kTensor;
};

/// Where a field lives and, by the alternative, of what type it is.
using JobMember = std::variant<int64_t Job::*, double Job::*, bool Job::*, std::string Job::*, PipelineSchedule Job::*,
                               Recompute Job::*, RecomputeMethod Job::*, Normalization Job::*, PositionEmbedding Job::*,
                               ParamsType Job::*, Optimizer Job::*, FurtherSize>;

/// The value of the field that lives at `member`.
template <class J, class Member>
auto& field_at(J& job, Member member) {
  if constexpr (std::is_same_v<Member, FurtherSize>) {
    return job.further_sizes[member.dimension];
  } else {
    return job.*member;
  }
}

struct JobField {
  std::string_view name;
  JobMember member;
};

/// All fields in the order of the struct, then the sizes along further dimensions.
const std::vector<JobField>& job_fields();

/// The field called `name`, or nullptr.
const JobField* find_job_field(std::string_view name);

/// Reads `text` into the field of `job`. An error (kUsage) names the field and the values it takes.
Status set_job_field(Job& job, const JobField& field, std::string_view text);

/// The field's value as set_job_field reads it; "" for one that is unset.
std::string job_field_text(const Job& job, const JobField& field);

}  // namespace lumos
