#include "lumos/graph/host/collective.h"

#include <algorithm>

#include "lumos/trace/table/row_meaning.h"

namespace lumos {

int64_t collective_bytes(CollectiveKind kind, const CollectiveDetail& detail, ElementType type) {
  const int64_t size = bytes_of(type);
  if (size == 0) return -1;
  int64_t elements = std::max(detail.in_elements, detail.out_elements);
  if (kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kAllToAll) elements = detail.in_elements;
  return elements < 0 ? -1 : elements * size;
}

int64_t collective_bytes(const EventTable& table, const CollectiveDetail& detail) {
  return std::max<int64_t>(0, collective_bytes(hint_of(table, detail).kind, detail, type_of(table, detail)));
}

double bus_factor(CollectiveKind kind, int32_t ranks) {
  // https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
  if (ranks < 2) return 1.0;
  const double share = double(ranks - 1) / ranks;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2.0 * share;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return share;
    default:
      return 1.0;
  }
}

}  // namespace lumos
