#include "lumos/trace/words/unit_work.h"

namespace lumos {

namespace {

struct NamedWork {
  std::string_view name;
  UnitWork work;
};

// Longer names first where one begins with another.
constexpr NamedWork kBeginnings[] = {
    {"fsdp::all_gather_copy_in", UnitWork::kCopyIn},
    {kCopyOutAnnotation, UnitWork::kCopyOut},
    {"fsdp::split_with_sizes_copy", UnitWork::kCopyOut},
    {kGatherAnnotation, UnitWork::kCopyIn},
    {"fsdp::chunk_cat", UnitWork::kReduceIn},
    {"FullyShardedDataParallel._pre", UnitWork::kCopyIn},
    {"FullyShardedDataParallel._post_backward", UnitWork::kReduceIn},
};

constexpr NamedWork kOperators[] = {
    {"fsdp::all_gather_copy_in", UnitWork::kCopyIn},     {"fsdp::split_with_sizes_copy", UnitWork::kCopyOut},
    {"aten::split_with_sizes_copy", UnitWork::kCopyOut}, {"fsdp::chunk_cat", UnitWork::kReduceIn},
    {"aten::_chunk_cat", UnitWork::kReduceIn},
};

}  // namespace

UnitWork unit_work_of_name(std::string_view name) {
  for (const NamedWork& named : kBeginnings)
    if (name.starts_with(named.name)) return named.work;
  return UnitWork::kNone;
}

UnitWork unit_work_of_operator(std::string_view name) {
  for (const NamedWork& named : kOperators)
    if (name == named.name) return named.work;
  return UnitWork::kNone;
}

}  // namespace lumos
