#include "lumos/trace/table/vocabulary.h"

#include <array>

namespace lumos {

namespace {

struct KnownCategory {
  std::string_view text;
  CategoryMeaning meaning;
};

constexpr CategoryMeaning kept(EventKind kind) { return {Category::kKept, kind}; }

constexpr KnownCategory kCategories[] = {
    {"cpu_op", kept(EventKind::kCpuOp)},
    {"kernel", kept(EventKind::kKernel)},
    {"cuda_runtime", kept(EventKind::kRuntime)},
    {"python_function", {Category::kPython, EventKind::kModule}},
    {"gpu_memcpy", kept(EventKind::kMemcpy)},
    {"gpu_memset", kept(EventKind::kMemset)},
    {"cuda_driver", kept(EventKind::kRuntime)},
    {"user_annotation", kept(EventKind::kAnnotation)},
    {"gpu_user_annotation", kept(EventKind::kGpuAnnotation)},
    {"cuda_sync", kept(EventKind::kSync)},
    {"xpu_sync", kept(EventKind::kSync)},
    {"overhead", kept(EventKind::kOverhead)},
    {"mtia_ccp_events", kept(EventKind::kKernel)},
    {"concurrent_kernel", kept(EventKind::kKernel)},
    {"Operator", kept(EventKind::kCpuOp)},
    {"Kernel", kept(EventKind::kKernel)},
    {"Runtime", kept(EventKind::kRuntime)},
    {"Memcpy", kept(EventKind::kMemcpy)},
    {"Memset", kept(EventKind::kMemset)},
};

struct KnownArg {
  std::string_view text;
  ArgKey key;
};

// Sorted by length, so that a lookup compares only the few of one length.
constexpr std::array<KnownArg, kArgKeys> kArgs = {{
    {"Seq", ArgKey::kCollectiveSequence},
    {"grid", ArgKey::kGrid},
    {"name", ArgKey::kName},
    {"Mode", ArgKey::kMode},
    {"block", ArgKey::kBlock},
    {"bytes", ArgKey::kBytes},
    {"dtype", ArgKey::kDtype},
    {"stream", ArgKey::kStream},
    {"Src Rank", ArgKey::kSrcRank},
    {"Dst Rank", ArgKey::kDstRank},
    {"Stream Id", ArgKey::kStreamId},
    {"Task Type", ArgKey::kTaskType},
    {"Input Dims", ArgKey::kInputDims},
    {"Input type", ArgKey::kInputTypes},
    {"Group size", ArgKey::kGroupSize},
    {"External id", ArgKey::kExternalId},
    {"external id", ArgKey::kExternalIdOld},
    {"correlation", ArgKey::kCorrelation},
    {"connection_id", ArgKey::kConnection},
    {"shared memory", ArgKey::kSharedMemory},
    {"graph node id", ArgKey::kGraphNode},
    {"Fwd thread id", ArgKey::kFwdThread},
    {"In split size", ArgKey::kInSplit},
    {"In msg nelems", ArgKey::kInElements},
    {"wait_on_stream", ArgKey::kWaitOnStream},
    {"Out split size", ArgKey::kOutSplit},
    {"Out msg nelems", ArgKey::kOutElements},
    {"Concrete Inputs", ArgKey::kConcreteInputs},
    {"Sequence number", ArgKey::kSequence},
    {"Collective name", ArgKey::kCollective},
    {"Process Group Name", ArgKey::kGroupName},
    {"Process Group Ranks", ArgKey::kGroupRanks},
    {"registers per thread", ArgKey::kRegisters},
    {"wait_on_cuda_event_id", ArgKey::kWaitOnEvent},
    {"est. achieved occupancy %", ArgKey::kOccupancy},
    {"Process Group Description", ArgKey::kGroupDescription},
    {"wait_on_cuda_event_record_corr_id", ArgKey::kWaitOnCorrelation},
}};

constexpr size_t kLongestArg = kArgs.back().text.size();

/// First index into kArgs of each length, and one more for the end.
constexpr std::array<uint8_t, kLongestArg + 2> make_length_index() {
  std::array<uint8_t, kLongestArg + 2> first{};
  size_t arg = 0;
  for (size_t length = 0; length < first.size(); ++length) {
    while (arg < kArgs.size() && kArgs[arg].text.size() < length) ++arg;
    first[length] = static_cast<uint8_t>(arg);
  }
  return first;
}

constexpr auto kFirstOfLength = make_length_index();

constexpr bool is_sorted_by_length() {
  for (size_t i = 1; i < kArgs.size(); ++i) {
    if (kArgs[i - 1].text.size() > kArgs[i].text.size()) return false;
  }
  return true;
}
static_assert(is_sorted_by_length());

}  // namespace

CategoryMeaning category_meaning(std::string_view category) {
  for (const KnownCategory& known : kCategories) {
    if (known.text == category) return known.meaning;
  }
  // xpu_runtime, mtia_runtime, privateuse1_driver ...: every accelerator names its host API so.
  if (category.ends_with("_runtime") || category.ends_with("_driver")) return kept(EventKind::kRuntime);
  return {};
}

FlowMeaning flow_meaning(std::string_view category) {
  if (category == "fwdbwd") return FlowMeaning::kFwdBwd;
  // Kineto's arrows from 2021 on, and the path that analyses draw into a trace.
  for (std::string_view known : {"ac2g", "async", "async_cpu_to_gpu", "async_gpu", "critical_path"}) {
    if (category == known) return FlowMeaning::kNone;
  }
  return category.empty() ? FlowMeaning::kNone : FlowMeaning::kLaunch;
}

ArgKey arg_key(std::string_view text) {
  if (text.size() > kLongestArg) return ArgKey::kCount;
  for (size_t i = kFirstOfLength[text.size()]; i < kFirstOfLength[text.size() + 1]; ++i) {
    if (kArgs[i].text == text) return kArgs[i].key;
  }
  return ArgKey::kCount;
}

FieldKey field_key(std::string_view text) {
  switch (text.size()) {
    case 2:
      if (text == "ts") return FieldKey::kTs;
      if (text == "ph") return FieldKey::kPhase;
      if (text == "id") return FieldKey::kId;
      break;
    case 3:
      if (text == "cat") return FieldKey::kCategory;
      if (text == "pid") return FieldKey::kPid;
      if (text == "tid") return FieldKey::kTid;
      if (text == "dur") return FieldKey::kDur;
      break;
    case 4:
      if (text == "name") return FieldKey::kName;
      if (text == "args") return FieldKey::kArgs;
      break;
    default:
      break;
  }
  return FieldKey::kOther;
}

}  // namespace lumos
