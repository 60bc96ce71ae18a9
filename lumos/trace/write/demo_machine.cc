#include "lumos/trace/write/demo_machine.h"

#include <fmt/format.h>

#include <algorithm>

namespace lumos {

namespace {

constexpr int64_t kProcess = 4242;
constexpr int64_t kThreadIds[] = {4242, 4317};
constexpr int64_t kStreamIds[] = {7, 20};
constexpr int64_t kDevice = 0;

// Typical of a current server: times of the CUDA calls themselves and of what follows them.
constexpr int64_t kLaunchCallNs = 4'600;
constexpr int64_t kRecordCallNs = 1'100;
constexpr int64_t kWaitCallNs = 1'300;
constexpr int64_t kCopyCallNs = 6'800;
constexpr int64_t kSynchronizeCallNs = 2'400;
constexpr int64_t kLaunchLatencyNs = 6'200;  // start of the call to start of the kernel on an idle stream
constexpr int64_t kDispatchGapNs = 900;      // between two kernels of one stream
constexpr int64_t kReturnLatencyNs = 7'500;  // end of the GPU's work to the return of a synchronise
constexpr int64_t kWakeNs = 18'000;          // one thread wakes another
constexpr int64_t kCopySetupNs = 1'400;
constexpr int64_t kHostLinkBytesPerUs = 24'000;  // PCIe 4.0 x16

size_t index(DemoMachine::Thread thread) { return static_cast<size_t>(thread); }
size_t index(DemoMachine::Stream stream) { return static_cast<size_t>(stream); }

std::string join(std::string args, std::string_view more) {
  if (!args.empty() && !more.empty()) args += ',';
  args += more;
  return args;
}

}  // namespace

// splitmix64: a fixed sequence, so that the demo is the same bytes everywhere.
int64_t DemoMachine::vary(int64_t duration_ns, int64_t at_most_per_mille) {
  uint64_t z = (noise_ += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  const int64_t per_mille =
      static_cast<int64_t>(z % static_cast<uint64_t>(2 * at_most_per_mille + 1)) - at_most_per_mille;
  return duration_ns + duration_ns * per_mille / 1000;
}

int64_t DemoMachine::external_id(Thread thread) const {
  const std::vector<int64_t>& ids = external_ids_[index(thread)];
  return ids.empty() ? 0 : ids.back();
}

void DemoMachine::open(Thread thread, std::string_view category, std::string_view name, std::string more_args) {
  const size_t t = index(thread);
  const int64_t id = next_external_id_++;
  open_[t].push_back(events_.size());
  external_ids_[t].push_back(id);
  std::string args = join(fmt::format(R"("External id":{},"Record function id":0)", id), more_args);
  events_.push_back(
      {'X', std::string(category), std::string(name), kProcess, kThreadIds[t], now_ns_[t], 0, 0, std::move(args)});
}

void DemoMachine::close(Thread thread) {
  const size_t t = index(thread);
  CHECK(!open_[t].empty());
  Event& event = events_[open_[t].back()];
  event.duration_ns = now_ns_[t] - event.start_ns;
  open_[t].pop_back();
  external_ids_[t].pop_back();
}

void DemoMachine::work(Thread thread, int64_t duration_ns) { now_ns_[index(thread)] += vary(duration_ns); }

void DemoMachine::hand_over(Thread from, Thread to) {
  now_ns_[index(to)] = std::max(now_ns_[index(to)], now_ns_[index(from)] + latency(kWakeNs));
}

// A runtime call on a thread; the result is its correlation. Calls that launch nothing still end a flow, as Kineto has
// it.
int64_t DemoMachine::call(Thread thread, std::string_view name, int64_t duration_ns, bool launches) {
  const size_t t = index(thread);
  const int64_t correlation = next_correlation_++;
  events_.push_back({'X', "cuda_runtime", std::string(name), kProcess, kThreadIds[t], now_ns_[t], duration_ns, 0,
                     fmt::format(R"("External id":{},"correlation":{})", external_id(thread), correlation)});
  events_.push_back({launches ? 's' : 'f', "ac2g", "ac2g", kProcess, kThreadIds[t], now_ns_[t], 0, correlation, ""});
  now_ns_[t] += duration_ns;
  return correlation;
}

void DemoMachine::run_on(Stream stream, int64_t issued_ns, int64_t correlation, Event event) {
  const size_t s = index(stream);
  const int64_t gap_ns = latency(kDispatchGapNs);
  const int64_t after_previous = stream_end_ns_[s] == 0 ? 0 : stream_end_ns_[s] + gap_ns;
  const int64_t after_waits = stream_ready_ns_[s] == 0 ? 0 : stream_ready_ns_[s] + gap_ns;
  event.start_ns = std::max({issued_ns + latency(kLaunchLatencyNs), after_previous, after_waits});
  stream_end_ns_[s] = event.start_ns + event.duration_ns;
  event.pid = kDevice;
  event.tid = kStreamIds[s];
  events_.push_back(std::move(event));
  events_.push_back({'f', "ac2g", "ac2g", kDevice, kStreamIds[s], events_.back().start_ns, 0, correlation, ""});
}

void DemoMachine::launch(Thread thread, Stream stream, const Kernel& kernel) {
  const int64_t issued_ns = now_ns_[index(thread)];
  const int64_t external = external_id(thread);
  const bool is_collective = stream == Stream::kCommunication;
  const int64_t correlation =
      call(thread, is_collective ? "cudaLaunchKernelExC" : "cudaLaunchKernel", vary(kLaunchCallNs), true);
  std::string args =
      fmt::format(R"("External id":{},"queued":0,"device":{},"context":1,"stream":{},"correlation":{},)"
                  R"("registers per thread":64,"shared memory":0,"grid":[{},1,1],"block":[{},1,1])",
                  external, kDevice, kStreamIds[index(stream)], correlation, kernel.blocks, kernel.threads);
  run_on(stream, issued_ns, correlation,
         {'X', "kernel", kernel.name, 0, 0, 0, vary(kernel.duration_ns), 0, join(std::move(args), kernel.more_args)});
}

void DemoMachine::copy(Thread thread, Stream stream, Copy direction, int64_t bytes) {
  const int64_t issued_ns = now_ns_[index(thread)];
  const int64_t external = external_id(thread);
  const int64_t correlation = call(thread, "cudaMemcpyAsync", vary(kCopyCallNs), true);
  const int64_t duration_ns = kCopySetupNs + bytes * 1000 / kHostLinkBytesPerUs;
  std::string args = fmt::format(R"("External id":{},"device":{},"context":1,"stream":{},"correlation":{},"bytes":{})",
                                 external, kDevice, kStreamIds[index(stream)], correlation, bytes);
  const std::string_view name =
      direction == Copy::kHostToDevice ? "Memcpy HtoD (Pinned -> Device)" : "Memcpy DtoH (Device -> Pinned)";
  run_on(stream, issued_ns, correlation,
         {'X', "gpu_memcpy", std::string(name), 0, 0, 0, vary(duration_ns), 0, std::move(args)});
}

uint32_t DemoMachine::record(Thread thread, Stream stream) {
  const int64_t correlation = call(thread, "cudaEventRecord", vary(kRecordCallNs), false);
  records_.push_back({stream, stream_end_ns_[index(stream)], correlation});
  return static_cast<uint32_t>(records_.size() - 1);
}

void DemoMachine::wait(Thread thread, Stream stream, uint32_t record) {
  const int64_t start_ns = now_ns_[index(thread)];
  const int64_t correlation = call(thread, "cudaStreamWaitEvent", vary(kWaitCallNs), false);
  int64_t& ready_ns = stream_ready_ns_[index(stream)];
  ready_ns = std::max(ready_ns, records_[record].done_ns);
  sync_row("Stream Wait Event", kStreamIds[index(stream)], start_ns, start_ns + 1'000, correlation, &records_[record]);
}

int64_t DemoMachine::synchronize(Thread thread, std::string_view name, int64_t done_ns) {
  const int64_t start_ns = now_ns_[index(thread)];
  // Each draws once: one after the other, since compilers may take arguments in any order.
  const int64_t returned_ns = done_ns + latency(kReturnLatencyNs);
  const int64_t end_ns = std::max(start_ns + vary(kSynchronizeCallNs), returned_ns);
  return call(thread, name, end_ns - start_ns, false);
}

void DemoMachine::synchronize_stream(Thread thread, Stream stream) {
  const int64_t start_ns = now_ns_[index(thread)];
  const int64_t correlation = synchronize(thread, "cudaStreamSynchronize", stream_end_ns_[index(stream)]);
  sync_row("Stream Sync", kStreamIds[index(stream)], start_ns, now_ns_[index(thread)], correlation, nullptr);
}

void DemoMachine::synchronize_device(Thread thread) {
  const int64_t start_ns = now_ns_[index(thread)];
  const int64_t done_ns = std::max(stream_end_ns_[0], stream_end_ns_[1]);
  const int64_t correlation = synchronize(thread, "cudaDeviceSynchronize", done_ns);
  sync_row("Context Sync", 4294967295, start_ns, now_ns_[index(thread)], correlation, nullptr);
}

void DemoMachine::sync_row(std::string_view kind, int64_t stream, int64_t start_ns, int64_t end_ns, int64_t correlation,
                           const Record* record) {
  if (!sync_events_) return;
  std::string args = fmt::format(R"("cuda_sync_kind":"{}","stream":{},"correlation":{},"device":{},"context":1)", kind,
                                 stream, correlation, kDevice);
  if (record != nullptr) {
    args += fmt::format(R"(,"wait_on_stream":{},"wait_on_cuda_event_record_corr_id":{},"wait_on_cuda_event_id":{})",
                        kStreamIds[index(record->stream)], record->correlation, record - records_.data() + 1);
  }
  const int64_t tid = kind == "Context Sync" ? -1 : stream;
  events_.push_back(
      {'X', "cuda_sync", std::string(kind), kDevice, tid, start_ns, end_ns - start_ns, 0, std::move(args)});
}

void DemoMachine::flow(Thread thread, int64_t id, bool is_start) {
  const size_t t = index(thread);
  CHECK(!open_[t].empty());
  const int64_t start_ns = events_[open_[t].back()].start_ns;
  events_.push_back({is_start ? 's' : 'f', "fwdbwd", "fwdbwd", kProcess, kThreadIds[t], start_ns, 0, id, ""});
}

void DemoMachine::write_events(JsonWriter& json) const {
  for (const Event& event : events_) {
    json.begin_object(JsonWriter::Layout::kInline);
    json.member("ph", std::string_view(&event.phase, 1)).member("cat", event.category).member("name", event.name);
    if (event.phase != 'X') json.member("id", event.flow_id);
    json.member("pid", event.pid).member("tid", event.tid).key("ts").thousandths(event.start_ns);
    if (event.phase == 'X') json.key("dur").thousandths(event.duration_ns);
    if (event.phase == 'f') json.member("bp", "e");
    if (event.phase == 'X') json.key("args").raw("{" + event.args + "}");
    json.end_object();
  }
}

}  // namespace lumos
