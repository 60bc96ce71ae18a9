#include "lumos/graph/waits/current_stream.h"

#include <algorithm>

namespace lumos {

CurrentStreams::CurrentStreams(const EventTable& table, const HostProgram& host, const CallContexts& contexts)
    : table_(table), host_(host), contexts_(contexts), usual_(host.threads.size(), kNoIndex) {
  const size_t streams = contexts.communication_stream.size();
  std::vector<std::vector<uint64_t>> launches(host.threads.size(), std::vector<uint64_t>(streams));
  std::vector<uint64_t> all(streams);
  for (uint32_t c = 0; c < host.calls.size(); ++c) {
    const uint32_t stream = contexts.launch_stream[c];
    if (stream == kNoIndex || contexts.communication_stream[stream]) continue;
    ++launches[host.calls[c].thread][stream];
    ++all[stream];
  }
  const auto most = [](const std::vector<uint64_t>& counts) {
    const auto it = std::max_element(counts.begin(), counts.end());
    return it == counts.end() || *it == 0 ? kNoIndex : static_cast<uint32_t>(it - counts.begin());
  };
  const uint32_t common = most(all);
  for (size_t t = 0; t < usual_.size(); ++t) {
    const bool own = common != kNoIndex && launches[t][common] == 0 && most(launches[t]) != kNoIndex;
    usual_[t] = own ? most(launches[t]) : common;
  }
}

CurrentStream CurrentStreams::at(uint32_t call) const {
  const CallContext& context = contexts_.of_call[call];
  const auto stream_of = [&](uint32_t launch) {
    return launch == kNoIndex ? kNoIndex : contexts_.launch_stream[launch];
  };
  const uint32_t before = stream_of(context.previous_compute_launch), after = stream_of(context.next_compute_launch);
  if (before == kNoIndex || after == kNoIndex || before == after)
    return {before == kNoIndex ? after : before, kNoIndex};
  // A collective holds no launch of the program's: what counts is the operator that calls it.
  const uint32_t from = context.collective_scope == kNoIndex ? host_.calls[call].row : context.collective_scope;
  uint32_t op = host_.parent[from];
  while (op != kNoIndex && table_.kind[op] != EventKind::kCpuOp) op = host_.parent[op];
  if (op != kNoIndex && holds(op, context.next_compute_launch)) return {after, before};
  const uint32_t usual = usual_[host_.calls[call].thread];
  if (before == usual) return {before, after};
  return {after, before};
}

bool CurrentStreams::holds(uint32_t op, uint32_t call) const {
  const int64_t start = table_.ts_ns[host_.calls[call].row];
  return table_.ts_ns[op] <= start && start < table_.end_ns(op);
}

}  // namespace lumos
