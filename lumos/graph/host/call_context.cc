#include "lumos/graph/host/call_context.h"

#include <string_view>

namespace lumos {

namespace {

// A stream is a communication stream when nine in ten of its works are: fills and small copies may sit beside them.
constexpr uint64_t kCommunicationShareNumerator = 9, kCommunicationShareDenominator = 10;

bool is_collective_scope(std::string_view name) {
  return name.substr(0, 6) == "c10d::" || name.substr(0, 5) == "nccl:" || name == "record_param_comms";
}

// Row of the outermost collective operation around each row. Parents precede children only in time, so walk chains with
// memory.
class ScopeFinder {
 public:
  ScopeFinder(const EventTable& table, const HostProgram& host)
      : table_(table), host_(host), is_scope_(table.names->size(), 2) {}

  uint32_t outermost(uint32_t row) {
    uint32_t found = kNoIndex;
    for (uint32_t r = host_.parent[row]; r != kNoIndex; r = host_.parent[r]) {
      uint8_t& scope = is_scope_[static_cast<uint32_t>(table_.name[r])];
      if (scope == 2) scope = is_collective_scope(table_.name_of(r)) ? 1 : 0;
      if (scope == 1) found = r;
    }
    return found;
  }

 private:
  const EventTable& table_;
  const HostProgram& host_;
  std::vector<uint8_t> is_scope_;
};

void find_communication_streams(const GpuProgram& gpu, CallContexts& out) {
  out.communication_stream.assign(gpu.streams(), false);
  for (uint32_t s = 0; s < gpu.streams(); ++s) {
    uint64_t communication = 0;
    for (uint32_t w = gpu.stream_begin[s]; w < gpu.stream_begin[s + 1]; ++w) communication += gpu.work[w].communication;
    const uint64_t all = gpu.stream_begin[s + 1] - gpu.stream_begin[s];
    out.communication_stream[s] = communication * kCommunicationShareDenominator >= all * kCommunicationShareNumerator;
  }
}

}  // namespace

CallContexts find_call_contexts(const EventTable& table, const HostProgram& host, const GpuProgram& gpu) {
  CallContexts out;
  const uint32_t calls = static_cast<uint32_t>(host.calls.size());
  out.of_call.resize(calls);
  out.launch_stream.assign(calls, kNoIndex);
  find_communication_streams(gpu, out);
  ScopeFinder scopes(table, host);
  const size_t threads = host.threads.size();
  std::vector<CallContext> last(threads);
  for (uint32_t c = 0; c < calls; ++c) {
    CallContext& here = out.of_call[c];
    CallContext& seen = last[host.calls[c].thread];
    here = seen;
    const CallKind kind = host.calls[c].kind;
    if (gpu.by_call_begin[c] != gpu.by_call_begin[c + 1]) {
      out.launch_stream[c] = gpu.work[gpu.by_call[gpu.by_call_begin[c]]].stream;
      here.collective_scope = scopes.outermost(host.calls[c].row);
      seen.previous_launch = c;
      if (!out.communication_stream[out.launch_stream[c]]) seen.previous_compute_launch = c;
      seen.previous_event_call = kNoIndex;
    } else if (kind == CallKind::kRecord || kind == CallKind::kWait) {
      here.collective_scope = scopes.outermost(host.calls[c].row);
      seen.previous_event_call = c;
    }
  }
  std::vector<CallContext> coming(threads);
  for (uint32_t c = calls; c-- > 0;) {
    CallContext& next = coming[host.calls[c].thread];
    out.of_call[c].next_launch = next.next_launch;
    out.of_call[c].next_compute_launch = next.next_compute_launch;
    if (out.launch_stream[c] == kNoIndex) continue;
    next.next_launch = c;
    if (!out.communication_stream[out.launch_stream[c]]) next.next_compute_launch = c;
  }
  return out;
}

}  // namespace lumos
