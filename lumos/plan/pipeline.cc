#include "lumos/plan/pipeline.h"

#include <algorithm>

#include "lumos/base/result.h"

namespace lumos {
namespace {

constexpr double kNotYet = -1;

/// When both ends of each message have come to it, by tensor.
class MessageTimes {
 public:
  explicit MessageTimes(const PipelineShape& shape)
      : num_microbatches_(shape.num_microbatches),
        times_(static_cast<size_t>(4 * shape.num_stages * shape.num_chunks * shape.num_microbatches), kNotYet) {}

  double& at(const PipelineTensor& tensor, bool send) {
    const int64_t pass = int64_t{tensor.piece} * num_microbatches_ + tensor.microbatch;
    return times_[static_cast<size_t>(4 * pass + (tensor.backward ? 2 : 0) + (send ? 1 : 0))];
  }
  /// The later of the two ends, or kNotYet.
  double met(const PipelineTensor& tensor) {
    const double sent_us = at(tensor, true), received_us = at(tensor, false);
    return sent_us == kNotYet || received_us == kNotYet ? kNotYet : std::max(sent_us, received_us);
  }

 private:
  int64_t num_microbatches_;
  std::vector<double> times_;
};

/// One stage on its way through its steps.
class StageWalk {
 public:
  StageWalk(const PipelineTimes& times, int64_t stage) : times_(times), stage_(stage) {
    slot_ = slot_of_stage(times_.shape, stage_, 0);
  }

  /// Goes as far as the other stages' messages allow; whether it moved.
  bool advance(MessageTimes& messages) {
    const int64_t slot_before = n_;
    const size_t step_before = step_;
    const bool posted_before = posted_;
    while (!done() && run(slot_[step_], messages)) next();
    return n_ != slot_before || step_ != step_before || posted_ != posted_before;
  }
  bool done() const { return n_ == num_slots(times_.shape); }
  const StageRun& result() const { return run_; }

 private:
  void next() {
    posted_ = false;
    if (++step_ < slot_.size()) return;
    step_ = 0;
    ++n_;
    if (!done()) slot_ = slot_of_stage(times_.shape, stage_, n_);
  }

  bool run(const PipelineStep& step, MessageTimes& messages) {
    if (step.kind != PipelineStepKind::kExchange) return pass(step, messages);
    if (!posted_) post(step, messages);
    return times_.exchange_blocks ? exchange(step, messages) : true;
  }

  void post(const PipelineStep& step, MessageTimes& messages) {
    posted_ = true;
    run_.host_end_us += times_.exchange_host_us;
    wait_for_host(run_.host_end_us);
    for (const PipelineTensor& tensor : step.sends) messages.at(tensor, true) = run_.end_us;
    for (const PipelineTensor& tensor : step.receives) messages.at(tensor, false) = run_.end_us;
  }

  bool exchange(const PipelineStep& step, MessageTimes& messages) {
    double start_us = run_.end_us;
    for (const auto* tensors : {&step.sends, &step.receives}) {
      for (const PipelineTensor& tensor : *tensors) {
        const double met_us = messages.met(tensor);
        if (met_us == kNotYet) return false;
        start_us = std::max(start_us, met_us);
      }
    }
    // Each direction shares a link.
    const double transfer_us = std::max(transfers_us(step.sends), transfers_us(step.receives));
    run_.waiting_us += start_us - run_.end_us;
    run_.message_us += transfer_us;
    run_.end_us = start_us + transfer_us;
    if (times_.host_waits) {
      const double all_us = std::max({run_.end_us, run_.reduced_us, gathered_us_});
      run_.host_end_us = std::max(run_.host_end_us, all_us + kSyncReturnUs);
    }
    receive(step.receives.size());
    return true;
  }

  template <class Tensors>
  double transfers_us(const Tensors& tensors) const {
    double sum_us = 0;
    for (const PipelineTensor& tensor : tensors) sum_us += message_us(tensor.piece);
    return sum_us;
  }
  double message_us(int32_t piece) const {
    return times_.message_us[static_cast<size_t>(piece % times_.shape.num_stages)];
  }

  void receive(size_t tensors) {
    const double after_us = static_cast<double>(tensors) * times_.after_message_us;
    run_.message_us += after_us;
    run_.end_us += after_us;
  }

  bool pass(const PipelineStep& step, MessageTimes& messages) {
    const bool forward = step.kind == PipelineStepKind::kForward;
    if (!times_.exchange_blocks && !wait_for_input(step, forward, messages)) return false;
    const size_t index = static_cast<size_t>(stage_ * times_.shape.num_chunks + step.chunk);
    const LaunchedWork& work = (forward ? times_.forward : times_.backward)[index];
    const double start_us = run_.end_us;
    const double ready_us = std::max(start_us + work.gpu_us, run_.host_end_us + work.idle_us);
    run_.end_us = forward && step.microbatch == 0 ? gather(step, index, ready_us) : ready_us;
    run_.busy_us += work.gpu_us;
    run_.gather_us += run_.end_us - ready_us;
    run_.idle_us += ready_us - start_us - work.gpu_us;
    run_.host_end_us += work.host_us;
    if (!forward && step.microbatch + 1 == times_.shape.num_microbatches) {
      const BesideBackward& beside = times_.reduced[index];
      run_.reduced_us = std::max({run_.reduced_us + beside.all_us, start_us + beside.after_gpu_us,
                                  run_.host_end_us - work.host_us + beside.after_host_us});
    }
    return true;
  }

  /// The end of a first pass that needs parameters and would have ended at `ready_us`.
  double gather(const PipelineStep& step, size_t index, double ready_us) {
    const BesideForward& beside = times_.gathered[index];
    if (step.chunk == 0) first_pass_us_ = run_.end_us;
    gathered_us_ = std::max(gathered_us_, first_pass_us_ + beside.all_us);
    return std::max(ready_us, first_pass_us_ + beside.pass_end_us);
  }

  /// Messages beside compute: the pass begins when what it reads has come.
  bool wait_for_input(const PipelineStep& step, bool forward, MessageTimes& messages) {
    const int64_t piece = step.chunk * times_.shape.num_stages + stage_;
    const int64_t last = times_.shape.num_stages * times_.shape.num_chunks - 1;
    if (times_.shape.num_stages == 1 || piece == (forward ? 0 : last)) return true;
    const PipelineTensor input{step.microbatch, static_cast<int32_t>(forward ? piece - 1 : piece), !forward};
    const double met_us = messages.met(input);
    if (met_us == kNotYet) return false;
    const double arrival_us = met_us + message_us(input.piece);
    run_.waiting_us += std::max(0.0, arrival_us - run_.end_us);
    run_.end_us = std::max(run_.end_us, arrival_us);
    receive(1);
    return true;
  }

  void wait_for_host(double host_us) {
    run_.idle_us += std::max(0.0, host_us - run_.end_us);
    run_.end_us = std::max(run_.end_us, host_us);
  }

  const PipelineTimes& times_;
  int64_t stage_;
  int64_t n_ = 0;    ///< slot
  size_t step_ = 0;  ///< of the slot
  bool posted_ = false;
  double first_pass_us_ = 0;  ///< when it began
  double gathered_us_ = 0;    ///< end of what runs beside first forward passes
  PipelineSlot slot_;
  StageRun run_;
};

}  // namespace

std::vector<StageRun> run_pipeline(const PipelineTimes& times) {
  MessageTimes messages(times.shape);
  std::vector<StageWalk> stages;
  for (int64_t stage = 0; stage < times.shape.num_stages; ++stage) stages.emplace_back(times, stage);
  // Every stage goes as far as its messages allow, again and again; each sweep moves at least one stage of a valid
  // schedule.
  for (bool moved = true; moved;) {
    moved = false;
    for (StageWalk& stage : stages) moved |= stage.advance(messages);
  }
  std::vector<StageRun> runs;
  for (const StageWalk& stage : stages) {
    CHECK(stage.done());
    runs.push_back(stage.result());
  }
  return runs;
}

std::vector<double> pipeline_end_bounds_us(const PipelineTimes& times) {
  constexpr double kRounding = 1 - 1e-9;
  const size_t num_stages = static_cast<size_t>(times.shape.num_stages);
  const size_t num_chunks = static_cast<size_t>(times.shape.num_chunks);
  const double microbatches = static_cast<double>(times.shape.num_microbatches);
  std::vector<double> last_pass_us(num_stages);
  double start_us = 0;
  for (size_t i = 0; i < num_stages; ++i) {
    double gpu_us = 0, host_us = 0;
    for (size_t chunk = 0; chunk < num_chunks; ++chunk) {
      const size_t index = i * num_chunks + chunk;
      gpu_us += times.forward[index].gpu_us + times.backward[index].gpu_us;
      host_us += times.forward[index].host_us + times.backward[index].host_us;
    }
    const double to_next_us = times.message_us[i], to_previous_us = times.message_us[(i + num_stages - 1) % num_stages];
    double messages_us = 0;
    if (times.exchange_blocks && num_stages > 1) {
      const double forward = static_cast<double>(num_chunks) - (i + 1 == num_stages ? 1 : 0);
      const double backward = static_cast<double>(num_chunks) - (i == 0 ? 1 : 0);
      messages_us = microbatches * (forward * to_next_us + backward * to_previous_us) - (i > 0 ? to_previous_us : 0);
    }
    const LaunchedWork &first = times.forward[i * num_chunks], &last = times.backward[i * num_chunks];
    last_pass_us[i] =
        std::max(start_us + microbatches * gpu_us + messages_us, microbatches * host_us - last.host_us + last.idle_us);
    start_us += (i == 0 ? std::max(first.gpu_us, first.idle_us) : first.gpu_us) + to_next_us;
  }
  for (size_t i = num_stages - 1; i > 0; --i) {
    const double after_us = last_pass_us[i] + times.message_us[i - 1] + times.backward[(i - 1) * num_chunks].gpu_us;
    last_pass_us[i - 1] = std::max(last_pass_us[i - 1], after_us);
  }
  for (double& end_us : last_pass_us) end_us *= kRounding;
  return last_pass_us;
}

}  // namespace lumos
