#include "lumos/report/figures/kind_names.h"

namespace lumos {

std::string_view task_kind_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::kHost:
      return "host";
    case TaskKind::kCall:
      return "call";
    case TaskKind::kSyncReturn:
      return "sync_return";
    case TaskKind::kKernel:
      return "kernel";
    case TaskKind::kMemcpy:
      return "memcpy";
    case TaskKind::kMemset:
      return "memset";
    case TaskKind::kArrive:
      return "arrive";
    case TaskKind::kTransfer:
      return "transfer";
    case TaskKind::kRendezvous:
      return "rendezvous";
    case TaskKind::kGap:
      break;
  }
  return "gap";
}

std::string_view edge_kind_name(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::kThread:
      return "thread";
    case EdgeKind::kInterThread:
      return "inter_thread";
    case EdgeKind::kLaunch:
      return "launch";
    case EdgeKind::kSync:
      return "sync";
    case EdgeKind::kStream:
      return "stream";
    case EdgeKind::kInterStream:
      return "inter_stream";
    case EdgeKind::kQueue:
      return "queue";
    case EdgeKind::kIssueOrder:
      return "issue_order";
    case EdgeKind::kRendezvous:
      return "rendezvous";
    case EdgeKind::kTransferOf:
      return "transfer_of";
    case EdgeKind::kFirstWave:
      return "room";
    case EdgeKind::kCount:
      break;
  }
  return "";
}

std::string_view event_kind_name(EventKind kind) {
  switch (kind) {
    case EventKind::kCpuOp:
      return "cpu_op";
    case EventKind::kAnnotation:
      return "annotation";
    case EventKind::kGpuAnnotation:
      return "gpu_annotation";
    case EventKind::kRuntime:
      return "runtime";
    case EventKind::kKernel:
      return "kernel";
    case EventKind::kMemcpy:
      return "memcpy";
    case EventKind::kMemset:
      return "memset";
    case EventKind::kSync:
      return "sync";
    case EventKind::kModule:
      return "module";
    case EventKind::kOverhead:
      break;
  }
  return "overhead";
}

}  // namespace lumos
