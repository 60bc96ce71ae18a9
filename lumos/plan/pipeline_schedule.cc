#include "lumos/plan/pipeline_schedule.h"

#include <algorithm>

namespace lumos {
namespace {

/// Forward passes before the first backward pass.
int64_t warmup_passes(const PipelineShape& shape, int64_t stage) {
  const int64_t all = shape.num_microbatches * shape.num_chunks;
  const int64_t following = shape.num_stages - stage - 1;
  if (shape.schedule == PipelineSchedule::kGpipe) return all;
  if (shape.num_chunks == 1) return std::min(all, following);
  return std::min(all, following * 2 + (shape.num_chunks - 1) * shape.num_stages);
}

/// Writes down one slot; leaves out transfers over the ends of the model.
class SlotBuilder {
 public:
  SlotBuilder(const PipelineShape& shape, int64_t stage) : shape_(shape), stage_(stage) {}

  /// The k-th forward or backward pass of the stage.
  void forward(int64_t k) { slot_.push_back(pass(PipelineStepKind::kForward, chunk(k, true), k)); }
  void backward(int64_t k) { slot_.push_back(pass(PipelineStepKind::kBackward, chunk(k, false), k)); }

  /// Transfers of that pass, for the next exchange.
  void receive_forward(int64_t k) {
    if (piece(k, true) > 0) pending_.receives.push_back(tensor(k, piece(k, true) - 1, false));
  }
  void send_forward(int64_t k) {
    if (piece(k, true) < last()) pending_.sends.push_back(tensor(k, piece(k, true), false));
  }
  void receive_backward(int64_t k) {
    if (piece(k, false) < last()) pending_.receives.push_back(tensor(k, piece(k, false), true));
  }
  void send_backward(int64_t k) {
    if (piece(k, false) > 0) pending_.sends.push_back(tensor(k, piece(k, false) - 1, true));
  }
  void exchange() {
    if (pending_.sends.empty() && pending_.receives.empty()) return;
    pending_.kind = PipelineStepKind::kExchange;
    slot_.push_back(pending_);
    pending_ = {};
  }

  const PipelineSlot& slot() const { return slot_; }

 private:
  /// Interleaved, rounds of num_stages micro-batches go through each chunk in turn, backwards in reverse.
  int64_t chunk(int64_t k, bool forward) const {
    const int64_t chunk = k / shape_.num_stages % shape_.num_chunks;
    return forward ? chunk : shape_.num_chunks - 1 - chunk;
  }
  int64_t microbatch(int64_t k) const {
    if (shape_.num_chunks == 1) return k;
    return k / (shape_.num_stages * shape_.num_chunks) * shape_.num_stages + k % shape_.num_stages;
  }
  int64_t piece(int64_t k, bool forward) const { return chunk(k, forward) * shape_.num_stages + stage_; }
  int64_t last() const { return shape_.num_stages * shape_.num_chunks - 1; }
  PipelineTensor tensor(int64_t k, int64_t piece, bool backward) const {
    return {static_cast<int32_t>(microbatch(k)), static_cast<int32_t>(piece), backward};
  }
  PipelineStep pass(PipelineStepKind kind, int64_t chunk, int64_t k) const {
    return {kind, static_cast<int32_t>(chunk), static_cast<int32_t>(microbatch(k)), {}, {}};
  }

  const PipelineShape& shape_;
  int64_t stage_;
  PipelineStep pending_;
  PipelineSlot slot_;
};

/// GPipe and 1F1B: `ahead` forward passes, then forward and backward in turn, then the backward passes that are left.
void plain_slot(SlotBuilder& build, int64_t ahead, int64_t all, int64_t n) {
  const int64_t steady_end = 2 * all - ahead;
  if (n < ahead) {
    build.receive_forward(n);
    build.exchange();
    build.forward(n);
    build.send_forward(n);
    build.exchange();
  } else if (n < steady_end && (n - ahead) % 2 == 0) {
    const int64_t k = ahead + (n - ahead) / 2;
    if (n == ahead) build.receive_forward(k);
    build.exchange();
    build.forward(k);
    build.send_forward(k);
    build.receive_backward(k - ahead);
    build.exchange();
  } else if (n < steady_end) {
    const int64_t k = (n - ahead) / 2;
    build.backward(k);
    build.send_backward(k);
    if (ahead + k + 1 < all) build.receive_forward(ahead + k + 1);
    build.exchange();
  } else {
    const int64_t k = n - all;
    build.receive_backward(k);
    build.exchange();
    build.backward(k);
    build.send_backward(k);
    build.exchange();
  }
}

void interleaved_slot(SlotBuilder& build, int64_t ahead, int64_t all, int64_t n) {
  if (n == 0) build.receive_forward(0);
  build.exchange();
  if (n < ahead) {
    build.forward(n);
    build.send_forward(n);
    if (n + 1 < all) build.receive_forward(n + 1);
    if (n + 1 == ahead && ahead < all) build.receive_backward(0);
    build.exchange();
    return;
  }
  const bool steady = n < 2 * all - ahead;
  if (steady && (n - ahead) % 2 == 0) return build.forward(ahead + (n - ahead) / 2);
  const int64_t k = steady ? (n - ahead) / 2 : n - all;
  if (ahead == all && k == 0) build.receive_backward(0);
  build.exchange();
  build.backward(k);
  if (steady) build.send_forward(ahead + k);
  build.send_backward(k);
  if (steady && ahead + k + 1 < all) build.receive_forward(ahead + k + 1);
  if (k + 1 < all) build.receive_backward(k + 1);
  build.exchange();
}

}  // namespace

int64_t num_slots(const PipelineShape& shape) { return 2 * shape.num_microbatches * shape.num_chunks; }

PipelineSlot slot_of_stage(const PipelineShape& shape, int64_t stage, int64_t n) {
  const int64_t all = shape.num_microbatches * shape.num_chunks;
  SlotBuilder build(shape, stage);
  if (shape.num_chunks > 1) {
    interleaved_slot(build, warmup_passes(shape, stage), all, n);
  } else {
    plain_slot(build, warmup_passes(shape, stage), all, n);
  }
  return build.slot();
}

int64_t passes_in_flight(const PipelineShape& shape, int64_t stage) {
  return std::min(shape.num_microbatches * shape.num_chunks, warmup_passes(shape, stage) + 1);
}

}  // namespace lumos
