// Writes down a rank's step as it would run: operators, runtime calls and GPU work go in program order into the rows of
// an event table and, with what they depend on, into the blocks of a RankProgram. Times in the table are nominal (the
// host never waits); lowering and simulation give the real ones. Driven by program/synth/synthesize; nothing else reads
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "lumos/program/blocks/program.h"

namespace lumos {

/// The processors of a synthesized rank, as indexes into synthetic_lanes().
enum class Place : uint8_t {
  kMain,
  kAutograd,
  kCompute,
  kTensor,  ///< one stream per communicator, as NCCL under PyTorch has
  kData,
  kPipeline,
  kSendForward,
  kReceiveForward,
  kSendBackward,
  kReceiveBackward,
  kEmbedding,
  kModel,
  kOther,  ///< of groups along further dimensions
};
inline constexpr int kNumPlaces = 13;

/// Threads by what they do, streams by the CUDA numbers that PyTorch usually gives them.
const std::vector<LaneKey>& synthetic_lanes();

/// Delays that no cluster file has: of an order that traces of current GPUs show, and too small to decide a step.
inline constexpr int64_t kLaunchLatencyNs = 5'000;  ///< from a launch call's start to an idle stream's kernel
inline constexpr int64_t kStreamGapNs = 1'000;      ///< between two kernels of a stream, or over an event
inline constexpr int64_t kWakeNs = 4'000;           ///< one thread waking another
inline constexpr int64_t kSyncReturnNs = 5'000;     ///< from the GPU's end to the return of the call that waits for it

/// One piece of GPU work to be launched.
struct GpuWorkItem {
  EventKind kind = EventKind::kKernel;
  std::string_view name;
  int64_t duration_ns = 0;
  GpuDetail detail;
  bool communicates = false;
  std::string_view annotation;  ///< "" or the annotation that encloses it on its stream
};

/// How the host gets to a launch: what the calls cost.
struct LaunchCost {
  std::string_view call = "cudaLaunchKernel";
  int64_t call_ns = 0;
};

class RankRecorder {
 public:
  explicit RankRecorder(int32_t rank);

  /// What follows belongs to this block.
  void begin_block(BlockRole role, const Label& label);

  /// Opens a row on a thread at its present time; rows nest. Returns the row.
  uint32_t open(Place thread, EventKind kind, std::string_view name, const OpDetail& detail = {});
  void close(Place thread);
  /// The innermost open row of the thread computes.
  void work(Place thread, int64_t duration_ns);
  /// `to` goes on once `from` has come as far as it is now.
  void hand_over(Place from, Place to);

  /// Returns the row of the GPU work.
  uint32_t launch(Place thread, Place stream, const GpuWorkItem& item, const LaunchCost& cost);
  /// cudaEventRecord on `stream`; the result is what wait() takes.
  uint32_t record(Place thread, Place stream, int64_t call_ns);
  /// cudaStreamWaitEvent.
  void wait(Place thread, Place stream, uint32_t recorded, int64_t call_ns);
  void synchronize_device(Place thread, int64_t call_ns);
  void synchronize_stream(Place thread, Place stream, int64_t call_ns);

  /// An arrow from the innermost open row of `thread` to its partner, forward to backward.
  void flow(Place thread, int64_t id, bool is_start);

  /// Encloses what the stream does from here to end_gpu_annotation().
  void begin_gpu_annotation(Place stream, std::string_view name);
  void end_gpu_annotation(Place stream);

  NameId intern(std::string_view text) { return names_->intern(text); }
  uint32_t add_collective(const CollectiveDetail& detail);
  uint32_t blocks() const { return static_cast<uint32_t>(program_.blocks.size()); }

  /// The program, with `info` as what its table says besides the events.
  RankProgram finish(TraceInfo info);

 private:
  uint32_t add_row(EventKind kind, std::string_view name, Place place, int64_t ts_ns, int64_t dur_ns);
  uint32_t call(Place thread, std::string_view name, int64_t duration_ns);
  uint32_t add_task(TaskKind kind, Place place, uint32_t row, int64_t duration_ns);
  void depend(uint32_t source, EdgeKind kind, int64_t lag_ns = 0, bool from_start = false);
  void add_thread_edges(Place thread);
  uint32_t end_synchronize(Place thread, uint32_t row, const std::vector<uint32_t>& awaited);
  uint32_t table_lane(Place place);
  int64_t& clock(Place place) { return clock_ns_[static_cast<size_t>(place)]; }
  uint32_t& last_task(Place place) { return last_task_[static_cast<size_t>(place)]; }

  std::shared_ptr<NamePool> names_;
  EventTable table_;
  RankProgram program_;
  uint32_t lane_of_[kNumPlaces];                 ///< of the table, made when first used
  int64_t clock_ns_[kNumPlaces] = {};            ///< nominal
  uint32_t last_task_[kNumPlaces];               ///< or kNoIndex
  uint32_t count_[kNumPlaces] = {};              ///< tasks so far
  uint32_t begin_count_[kNumPlaces];             ///< the same when the present block began
  uint32_t waits_for_[kNumPlaces];               ///< of threads: a task of another thread that its next task follows
  std::vector<uint32_t> open_[2];                ///< rows of the threads, innermost last
  std::vector<uint32_t> pending_[kNumPlaces];    ///< tasks that the next work of a stream waits for
  uint32_t annotation_[kNumPlaces];              ///< open GPU annotation
  std::vector<uint32_t> position_;               ///< of each task on its lane
  std::vector<std::vector<uint32_t>> recorded_;  ///< what each record waits for
  int64_t next_correlation_ = 1;
  uint32_t next_external_id_ = 1;
};

}  // namespace lumos
