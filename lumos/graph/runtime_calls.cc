#include "lumos/graph/runtime_calls.h"

namespace lumos {

namespace {

bool has(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

}  // namespace

CallKind call_kind(std::string_view name) {
  if (has(name, "GraphLaunch")) return CallKind::kGraphLaunch;
  if (has(name, "LaunchKernel") || has(name, "LaunchCooperative") || has(name, "LaunchHostFunc")) {
    return CallKind::kLaunch;
  }
  if (has(name, "EventQuery") || has(name, "StreamQuery")) return CallKind::kPoll;
  if (has(name, "EventRecord")) return CallKind::kRecord;
  if (has(name, "StreamWaitEvent")) return CallKind::kWait;
  if (has(name, "StreamSynchronize")) return CallKind::kStreamSync;
  if (has(name, "EventSynchronize")) return CallKind::kEventSync;
  if (has(name, "DeviceSynchronize") || has(name, "CtxSynchronize") || has(name, "ThreadSynchronize")) {
    return CallKind::kDeviceSync;
  }
  if (has(name, "Memcpy") || has(name, "Memset")) {
    return has(name, "Async") || has(name, "Memset") ? CallKind::kLaunch : CallKind::kBlockingCopy;
  }
  const bool memory = has(name, "Free") || has(name, "Malloc") || has(name, "MemAlloc");
  if (memory && has(name, "Async")) return CallKind::kOther;  // enqueued on a stream like a launch
  if (memory || has(name, "HostAlloc") || has(name, "HostRegister") || has(name, "HostUnregister") ||
      has(name, "ModuleLoad") || has(name, "ModuleUnload")) {
    return CallKind::kMayBlock;
  }
  return CallKind::kOther;
}

}  // namespace lumos
