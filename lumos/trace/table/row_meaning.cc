#include "lumos/trace/table/row_meaning.h"

namespace lumos {

bool is_communication(const EventTable& table, size_t row) {
  switch (table.kind[row]) {
    case EventKind::kKernel:
      return table.collective_detail(row) != nullptr || table.kernel_meaning(row).communicates;
    case EventKind::kMemcpy:
    case EventKind::kMemset:
      return table.collective_detail(row) != nullptr;
    case EventKind::kCpuOp:
    case EventKind::kAnnotation:
      return table.operator_meaning(row).is(OperatorTrait::kGloo);
    default:
      return false;
  }
}

std::vector<uint8_t> communication_rows(const EventTable& table) {
  std::vector<uint8_t> result(table.size());
  for (size_t row = 0; row < table.size(); ++row) result[row] = is_communication(table, row) ? 1 : 0;
  return result;
}

KernelFamily row_family(const EventTable& table, size_t row) {
  if (table.collective_detail(row) != nullptr) return KernelFamily::kCommunication;
  if (table.kind[row] == EventKind::kMemcpy) return KernelFamily::kCopy;
  if (table.kind[row] == EventKind::kMemset) return KernelFamily::kFill;
  return table.kernel_meaning(row).family;
}

OperatorMeaning operator_of(const EventTable& table, size_t row) {
  const bool has = table.kind[row] == EventKind::kAnnotation || table.kind[row] == EventKind::kCpuOp;
  return has ? table.operator_meaning(row) : OperatorMeaning{};
}

bool is_step_mark(const EventTable& table, size_t row) { return operator_of(table, row).is(OperatorTrait::kStepMark); }

CollectiveKind collective_by_name(const EventTable& table, size_t row) {
  return is_gpu_work(table.kind[row]) ? table.kernel_meaning(row).collective : table.operator_meaning(row).hint.kind;
}

CollectiveHint hint_of(const EventTable& table, const CollectiveDetail& detail) {
  return table.metadata_meaning(detail.collective).hint;
}

ElementType type_of(const EventTable& table, const CollectiveDetail& detail) {
  return table.metadata_meaning(detail.dtype).type;
}

}  // namespace lumos
