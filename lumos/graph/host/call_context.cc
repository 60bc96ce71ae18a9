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

// How many collectives of each stream ran on the stream of a process group, and how many on the thread's current one.
// A process group makes its stream wait for the current one before each (record and wait), and records the end. NCCL
// itself has a pair of its own before and behind the kernel. So one pair before where there is one behind is NCCL's,
// and nothing was brought in; nor was it where there is none at all.
class BroughtIn {
 public:
  BroughtIn(const HostProgram& host, const GpuProgram& gpu, const CallContexts& contexts)
      : host_(host), gpu_(gpu), contexts_(contexts), brought_(gpu.streams()), current_(gpu.streams()) {}

  void run() {
    std::vector<Thread> threads(host_.threads.size());
    for (uint32_t c = 0; c < host_.calls.size(); ++c) {
      Thread& t = threads[host_.calls[c].thread];
      const uint32_t scope = contexts_.of_call[c].collective_scope;
      const CallKind kind = host_.calls[c].kind;
      if (contexts_.launch_stream[c] != kNoIndex) {
        count(t);
        // Of several kernels of one operation only the first tells.
        t = Thread{c, scope == t.scope ? kNoIndex : scope, t.after, 0, false, false};
      } else if (kind == CallKind::kRecord && scope != kNoIndex) {
        has_records_ = t.recorded = true;
      } else if (kind == CallKind::kWait && scope != kNoIndex && t.recorded) {
        t.recorded = false;
        t.paired_behind |= t.launch != kNoIndex && scope == t.scope;
        t.after += !(t.launch != kNoIndex && scope == t.scope);
      }
    }
    for (Thread& t : threads) count(t);
  }

  bool on_current_stream(uint32_t stream) const { return has_records_ && current_[stream] > brought_[stream]; }
  bool mostly_paired_behind() const { return 2 * paired_behind_ > counted_; }

 private:
  struct Thread {
    uint32_t launch = kNoIndex;
    uint32_t scope = kNoIndex;  ///< of the launch
    uint32_t before = 0;        ///< pairs within collectives before the launch
    uint32_t after = 0;         ///< and behind its scope
    bool paired_behind = false;
    bool recorded = false;
  };

  void count(const Thread& t) {
    if (t.launch == kNoIndex || t.scope == kNoIndex) return;
    const GpuWork& work = gpu_.work[gpu_.by_call[gpu_.by_call_begin[t.launch]]];
    if (!work.communication) return;
    ++counted_;
    paired_behind_ += t.paired_behind;
    const bool brought_in = t.before > (t.paired_behind ? 1u : 0u);
    ++(brought_in ? brought_ : current_)[work.stream];
  }

  const HostProgram& host_;
  const GpuProgram& gpu_;
  const CallContexts& contexts_;
  std::vector<uint64_t> brought_, current_;
  uint64_t counted_ = 0, paired_behind_ = 0;
  bool has_records_ = false;
};

void find_communication_streams(const HostProgram& host, const GpuProgram& gpu, CallContexts& out) {
  BroughtIn brought_in(host, gpu, out);
  brought_in.run();
  out.pair_behind_collectives = brought_in.mostly_paired_behind();
  for (uint32_t s = 0; s < gpu.streams(); ++s) {
    uint64_t communication = 0;
    for (uint32_t w = gpu.stream_begin[s]; w < gpu.stream_begin[s + 1]; ++w) communication += gpu.work[w].communication;
    const uint64_t all = gpu.stream_begin[s + 1] - gpu.stream_begin[s];
    out.communication_stream[s] =
        communication * kCommunicationShareDenominator >= all * kCommunicationShareNumerator &&
        !brought_in.on_current_stream(s);
  }
}

void find_scopes(const EventTable& table, const HostProgram& host, const GpuProgram& gpu, CallContexts& out) {
  ScopeFinder scopes(table, host);
  for (uint32_t c = 0; c < host.calls.size(); ++c) {
    const CallKind kind = host.calls[c].kind;
    const bool launches = gpu.by_call_begin[c] != gpu.by_call_begin[c + 1];
    if (launches) out.launch_stream[c] = gpu.work[gpu.by_call[gpu.by_call_begin[c]]].stream;
    if (launches || kind == CallKind::kRecord || kind == CallKind::kWait) {
      out.of_call[c].collective_scope = scopes.outermost(host.calls[c].row);
    }
  }
}

}  // namespace

CallContexts find_call_contexts(const EventTable& table, const HostProgram& host, const GpuProgram& gpu) {
  CallContexts out;
  const uint32_t calls = static_cast<uint32_t>(host.calls.size());
  out.of_call.resize(calls);
  out.launch_stream.assign(calls, kNoIndex);
  out.communication_stream.assign(gpu.streams(), false);
  find_scopes(table, host, gpu, out);
  find_communication_streams(host, gpu, out);
  const size_t threads = host.threads.size();
  std::vector<CallContext> last(threads);
  for (uint32_t c = 0; c < calls; ++c) {
    CallContext& here = out.of_call[c];
    CallContext& seen = last[host.calls[c].thread];
    const uint32_t scope = here.collective_scope;
    here = seen;
    here.collective_scope = scope;
    const CallKind kind = host.calls[c].kind;
    if (out.launch_stream[c] != kNoIndex) {
      seen.previous_launch = c;
      if (!out.communication_stream[out.launch_stream[c]]) seen.previous_compute_launch = c;
      seen.previous_event_call = kNoIndex;
    } else if (kind == CallKind::kRecord || kind == CallKind::kWait) {
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
