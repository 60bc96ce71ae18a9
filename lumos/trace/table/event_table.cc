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

std::shared_ptr<const Lexicon> make_lexicon(const EventTable& table) {
  auto lexicon = std::make_shared<Lexicon>(table.names);
  for (size_t row = 0; row < table.size(); ++row) {
    const EventKind kind = table.kind[row];
    if (is_gpu_work(kind)) lexicon->add_kernel(table.name[row]);
    if (kind == EventKind::kCpuOp || kind == EventKind::kAnnotation) lexicon->add_operator(table.name[row]);
    if (kind == EventKind::kRuntime) lexicon->add_call(table.name[row]);
  }
  for (const CollectiveDetail& detail : table.collectives) {
    lexicon->add_metadata(detail.collective);
    lexicon->add_metadata(detail.dtype);
  }
  return lexicon;
}

}  // namespace lumos
