#include "lumos/trace/table/event_table.h"

namespace lumos {

uint64_t TraceInfo::repaired() const {
  uint64_t sum = 0;
  for (const ReadIssue& issue : issues) sum += issue.repaired ? issue.count : 0;
  return sum;
}

uint64_t TraceInfo::skipped() const {
  uint64_t sum = 0;
  for (const ReadIssue& issue : issues) sum += issue.repaired ? 0 : issue.count;
  return sum;
}

const GpuDetail* EventTable::gpu_detail(size_t row) const {
  return is_gpu_work(kind[row]) && detail[row] != kNoIndex ? &gpu[detail[row]] : nullptr;
}

const OpDetail* EventTable::op_detail(size_t row) const {
  const bool has_ops = kind[row] == EventKind::kCpuOp || kind[row] == EventKind::kAnnotation;
  return has_ops && detail[row] != kNoIndex ? &ops[detail[row]] : nullptr;
}

const SyncDetail* EventTable::sync_detail(size_t row) const {
  return kind[row] == EventKind::kSync && detail[row] != kNoIndex ? &syncs[detail[row]] : nullptr;
}

const CollectiveDetail* EventTable::collective_detail(size_t row) const {
  uint32_t index = kNoIndex;
  if (const GpuDetail* d = gpu_detail(row)) index = d->collective;
  if (const OpDetail* d = op_detail(row)) index = d->collective;
  return index == kNoIndex ? nullptr : &collectives[index];
}

}  // namespace lumos
