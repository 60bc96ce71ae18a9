// An emulated host with two threads and one GPU with two streams, recorded in the form of the PyTorch profiler. It
// keeps causality as hardware does: a kernel starts after its launch, its stream's previous work and the events that
// the stream waits for; a synchronise call returns when the GPU is done. Driven by trace/write/demo; nothing else reads
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/base/json_writer.h"

namespace lumos {

class DemoMachine {
 public:
  enum class Thread : uint8_t { kMain, kAutograd };
  enum class Stream : uint8_t { kCompute, kCommunication };
  enum class Copy : uint8_t { kHostToDevice, kDeviceToHost };

  struct Kernel {
    std::string name;
    int64_t duration_ns = 0;
    int32_t blocks = 1;
    int32_t threads = 128;
    std::string more_args;  ///< further members of "args" as JSON text, e.g. the collective metadata
  };

  /// With `sync_events`, every wait and synchronise also writes the cuda_sync row that names what it waited for.
  explicit DemoMachine(bool sync_events) : sync_events_(sync_events) {}

  /// Opens an event on a thread at its present time; events nest. `more_args` as in Kernel.
  void open(Thread thread, std::string_view category, std::string_view name, std::string more_args = "");
  void close(Thread thread);
  /// Lets a thread compute for about `duration_ns`: durations vary by up to 2 %, latencies by 15 %, the same way in
  /// every run.
  void work(Thread thread, int64_t duration_ns);
  /// `to` goes on when `from` has come as far as it is now, plus the time that waking takes.
  void hand_over(Thread from, Thread to);

  void launch(Thread thread, Stream stream, const Kernel& kernel);
  void copy(Thread thread, Stream stream, Copy direction, int64_t bytes);
  /// cudaEventRecord; the result names the record for wait().
  uint32_t record(Thread thread, Stream stream);
  /// cudaStreamWaitEvent.
  void wait(Thread thread, Stream stream, uint32_t record);
  void synchronize_stream(Thread thread, Stream stream);
  void synchronize_device(Thread thread);

  /// One end of the flow that ties a forward operator to its backward one, at the thread's innermost open event.
  void flow(Thread thread, int64_t id, bool is_start);

  /// Writes all events as items of the array that is open in `json`.
  void write_events(JsonWriter& json) const;

 private:
  struct Event {
    char phase;
    std::string category;
    std::string name;
    int64_t pid;
    int64_t tid;
    int64_t start_ns;
    int64_t duration_ns;
    int64_t flow_id;
    std::string args;
  };
  struct Record {
    Stream stream;
    int64_t done_ns;  ///< when what was enqueued before it is done
    int64_t correlation;
  };

  int64_t vary(int64_t duration_ns, int64_t at_most_per_mille = 20);
  int64_t latency(int64_t typical_ns) { return vary(typical_ns, 150); }
  int64_t external_id(Thread thread) const;
  int64_t call(Thread thread, std::string_view name, int64_t duration_ns, bool launches);
  void run_on(Stream stream, int64_t issued_ns, int64_t correlation, Event event);
  void sync_row(std::string_view kind, int64_t stream, int64_t start_ns, int64_t end_ns, int64_t correlation,
                const Record* record);
  int64_t synchronize(Thread thread, std::string_view name, int64_t done_ns);

  bool sync_events_;
  int64_t now_ns_[2] = {0, 0};
  int64_t stream_end_ns_[2] = {0, 0};    ///< end of the last work enqueued
  int64_t stream_ready_ns_[2] = {0, 0};  ///< end of the last event waited for
  std::vector<size_t> open_[2];          ///< indices into events_, innermost last
  std::vector<int64_t> external_ids_[2];
  std::vector<Event> events_;
  std::vector<Record> records_;
  int64_t next_external_id_ = 1;
  int64_t next_correlation_ = 101;
  uint64_t noise_ = 0;
};

}  // namespace lumos
