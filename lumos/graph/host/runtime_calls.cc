#include "lumos/graph/host/runtime_calls.h"

namespace lumos {

namespace {

bool has(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

// aclrtSynchronizeStream, cudaStreamSynchronize, zeCommandQueueSynchronize, zeFenceHostSynchronize, cuCtxSynchronize
// ...
CallKind synchronise_kind(std::string_view name) {
  if (has(name, "Stream") || has(name, "Queue") || has(name, "CommandList")) return CallKind::kStreamSync;
  if (has(name, "Event") || has(name, "Fence")) return CallKind::kEventSync;
  return CallKind::kDeviceSync;
}

// SYCL's runtimes: urEnqueueKernelLaunch, piEnqueueMemBufferRead, urEnqueueCommandBufferExp ... A barrier may record or
// wait, its name does not tell.
CallKind enqueue_kind(std::string_view name) {
  if (has(name, "EventsWait")) return CallKind::kOther;
  return has(name, "CommandBuffer") || has(name, "Graph") ? CallKind::kGraphLaunch : CallKind::kLaunch;
}

}  // namespace

CallKind call_kind(std::string_view name) {
  if (name.starts_with("urEnqueue") || name.starts_with("piEnqueue")) return enqueue_kind(name);
  if (has(name, "GraphLaunch")) return CallKind::kGraphLaunch;
  if (has(name, "LaunchKernel") || has(name, "LaunchCooperative") || has(name, "LaunchHostFunc")) {
    return CallKind::kLaunch;
  }
  if (has(name, "EventQuery") || has(name, "StreamQuery") || has(name, "QueryEvent")) return CallKind::kPoll;
  if (has(name, "EventRecord") || has(name, "RecordEvent")) return CallKind::kRecord;
  if (has(name, "StreamWaitEvent")) return CallKind::kWait;
  if (has(name, "Synchronize")) return synchronise_kind(name);
  if (has(name, "QueueFinish")) return CallKind::kStreamSync;
  if (name == "urEventWait" || name == "piEventsWait") return CallKind::kEventSync;
  if (has(name, "AppendMemory")) return CallKind::kLaunch;  // of Level Zero's command lists
  if (has(name, "Memcpy") || has(name, "Memset")) {
    return has(name, "Async") || has(name, "Memset") ? CallKind::kLaunch : CallKind::kBlockingCopy;
  }
  const bool memory = has(name, "Free") || has(name, "Malloc") || has(name, "MemAlloc") ||
                      has(name, "USMDeviceAlloc") || has(name, "USMHostAlloc") || has(name, "USMSharedAlloc");
  if (memory && has(name, "Async")) return CallKind::kOther;  // enqueued on a stream like a launch
  if (memory || has(name, "HostAlloc") || has(name, "HostRegister") || has(name, "HostUnregister") ||
      has(name, "ModuleLoad") || has(name, "ModuleUnload")) {
    return CallKind::kMayBlock;
  }
  return CallKind::kOther;
}

}  // namespace lumos
