// In which order a pipeline stage runs and exchanges its micro-batches: GPipe, 1F1B and Megatron's interleaved
// schedule. Made slot by slot, so that a walk of many micro-batches stores none of it. Read by plan/pipeline, which
// times it, and by program/blocks/schedule, which makes blocks of it.
#pragma once

#include <array>
#include <cstdint>

#include "lumos/model/job/job.h"

namespace lumos {

struct PipelineShape {
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  int64_t num_stages = 1;
  int64_t num_chunks = 1;  ///< above 1 only interleaved, with micro-batches that divide by the stages
  int64_t num_microbatches = 1;
};

/// What crosses a stage border: the output of a piece of the model (chunk * num_stages + stage), or its gradient.
struct PipelineTensor {
  int32_t microbatch = 0;
  int32_t piece = 0;
  bool backward = false;
  bool operator==(const PipelineTensor&) const = default;
};

/// At most `kMost` values, in place.
template <class T, size_t kMost>
class ShortList {
 public:
  void push_back(const T& value) { values_[size_++] = value; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + size_; }
  const T& operator[](size_t i) const { return values_[i]; }

 private:
  std::array<T, kMost> values_{};
  size_t size_ = 0;
};

enum class PipelineStepKind : uint8_t { kForward, kBackward, kExchange };

/// A pass of one micro-batch through one chunk of a stage, or an exchange: messages that are posted together.
struct PipelineStep {
  PipelineStepKind kind = PipelineStepKind::kForward;
  int32_t chunk = 0;
  int32_t microbatch = 0;
  ShortList<PipelineTensor, 2> sends, receives;
};

/// A pass with the exchanges that precede and follow it.
using PipelineSlot = ShortList<PipelineStep, 4>;

/// Slots of a stage: every micro-batch once forward and once backward per chunk.
int64_t num_slots(const PipelineShape& shape);

/// The n-th slot of `stage`. Megatron-LM's order (core/pipeline_parallel/schedules.py): while a pipeline fills or
/// drains, a stage sends and then receives; in between it does both at once, interleaved after a forward and a backward
/// pass. GPipe only fills and drains.
PipelineSlot slot_of_stage(const PipelineShape& shape, int64_t stage, int64_t n);

/// How many chunk forward passes are waiting for their backward pass at most on `stage`.
int64_t passes_in_flight(const PipelineShape& shape, int64_t stage);

}  // namespace lumos
