#include "lumos/trace/kineto/event_meaning.h"

#include <string_view>

#include "lumos/trace/table/collective_names.h"

namespace lumos {

namespace {

/// A task of Ascend's device. One that waits for an event or notification, or gives one, is no work.
CategoryMeaning meaning_of_task(const EventFields& fields) {
  std::string_view type = fields.arg(ArgKey::kTaskType);
  for (std::string_view idle : {"EVENT_", "NOTIFY_", "Notify ", "PLACE_HOLDER", "WRITE_VALUE", "CAPTURE_"}) {
    if (type.starts_with(idle)) return {};
  }
  for (std::string_view copy : {"SDMA", "MEMCPY", "PCIE_DMA"}) {
    if (type.starts_with(copy)) return {Category::kKept, EventKind::kMemcpy};
  }
  return {Category::kKept, EventKind::kKernel};
}

}  // namespace

CategoryMeaning meaning_without_category(const EventFields& fields) {
  if (fields.has(ArgKey::kTaskType) && fields.has(ArgKey::kStreamId)) return meaning_of_task(fields);
  if (fields.has(ArgKey::kMode) && fields.has(ArgKey::kConnection)) return {Category::kKept, EventKind::kRuntime};
  std::string_view name = fields.name.text;
  // Ascend's collectives stand on the lane of their group, apart from the device's tasks.
  if (fields.has(ArgKey::kConnection) && is_communication_kernel(name)) return {Category::kKept, EventKind::kKernel};
  if (name.ends_with(" Cmpt Exec")) return {Category::kKept, EventKind::kKernel};
  if (name.ends_with(" Cmpt Prep")) return {Category::kKept, EventKind::kRuntime};
  if (name.ends_with(" DmaI") || name.ends_with(" DmaO")) return {Category::kKept, EventKind::kMemcpy};
  return {};
}

}  // namespace lumos
