#include "lumos/trace/table/collective_names.h"

namespace lumos {

namespace {

// Substrings, because names come with namespaces, template arguments and return types around them.
constexpr std::string_view kKernelNames[] = {
    "ncclKernel",         // NCCL before 2.19
    "ncclDevKernel",      // NCCL since; RCCL too
    "ncclSym",            // NCCL symmetric-memory kernels
    "rcclGenericKernel",  //
    "msccl",              // MSCCL and MSCCL++
    "nvshmem",            //
    "cross_device_",      // vLLM, SGLang and AITER custom all-reduce and reduce-scatter
    "multimem",           // in-switch reduction
    "oneccl_",            // oneCCL on Intel GPUs
    "hcom_",              // HCCL on Ascend
    "shot_all_reduce",    // PyTorch symmetric memory: one_shot_, two_shot_
};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_gloo(std::string_view name) { return name.starts_with("gloo:"); }

bool may_be_gloo(EventKind kind) { return kind == EventKind::kCpuOp || kind == EventKind::kAnnotation; }

}  // namespace

bool is_communication_kernel(std::string_view name) {
  // HcclAllreduce and its like: an operator of its own in programs that are compiled as a whole.
  if (name.starts_with("Hccl")) return true;
  for (std::string_view part : kKernelNames) {
    if (contains(name, part)) return true;
  }
  return contains(name, "deep_ep") && (contains(name, "dispatch") || contains(name, "combine"));
}

bool is_communication(const EventTable& table, size_t row) {
  if (is_gpu_work(table.kind[row])) {
    return table.collective_detail(row) != nullptr ||
           (table.kind[row] == EventKind::kKernel && is_communication_kernel(table.name_of(row)));
  }
  return may_be_gloo(table.kind[row]) && is_gloo(table.name_of(row));
}

std::vector<uint8_t> communication_rows(const EventTable& table) {
  enum : uint8_t { kNo, kYes, kUnknown };
  std::vector<uint8_t> by_kernel_name(table.names ? table.names->size() : 0, kUnknown);
  std::vector<uint8_t> result(table.size(), kNo);
  for (size_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] != EventKind::kKernel || table.collective_detail(row) != nullptr) {
      result[row] = is_communication(table, row) ? kYes : kNo;
      continue;
    }
    uint8_t& known = by_kernel_name[static_cast<uint32_t>(table.name[row])];
    if (known == kUnknown) known = is_communication_kernel(table.name_of(row)) ? kYes : kNo;
    result[row] = known;
  }
  return result;
}

}  // namespace lumos
