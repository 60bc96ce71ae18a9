#include "lumos/program/synth/synthetic_buckets.h"

#include "lumos/plan/optimizer.h"
#include "lumos/program/recover/operator_names.h"

namespace lumos {

SyntheticBuckets::SyntheticBuckets(const Job& job, const Plan& plan, int64_t stage, WorkWriter& write)
    : job_(job),
      plan_(plan),
      write_(write),
      buckets_(stage_buckets(job, plan, stage)),
      gather_order_(gather_order(buckets_)) {}

std::string_view SyntheticBuckets::gradient_type() const {
  return job_.grad_reduce_in_fp32 ? "Float" : dtype_name(job_);
}

KernelWork SyntheticBuckets::exchange(const ParameterExchange& of, const Bucket& bucket) const {
  return exchange_work(plan_, of, static_cast<double>(bucket.parameters));
}

void SyntheticBuckets::complete_gradients(size_t part) {
  for (const Bucket& bucket : buckets_) {
    if (bucket.part != part) continue;
    RankRecorder& recorder = write_.recorder();
    recorder.open(Place::kAutograd, EventKind::kCpuOp,
                  "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad");
    recorder.open(Place::kAutograd, EventKind::kCpuOp, "torch::autograd::AccumulateGrad");
    reduced_.push_back(write_.collective(Place::kAutograd, exchange(plan_.reduction, bucket), gradient_type()));
    recorder.close(Place::kAutograd);
    recorder.close(Place::kAutograd);
  }
}

void SyntheticBuckets::reduce_all() {
  for (const Bucket& bucket : buckets_)
    reduced_.push_back(write_.collective(Place::kMain, exchange(plan_.reduction, bucket), gradient_type()));
}

void SyntheticBuckets::wait_for_reduced() {
  for (uint32_t recorded : reduced_) write_.wait_for(Place::kMain, recorded);
}

void SyntheticBuckets::gather() {
  for (const ParameterExchange& gather : plan_.gathers)
    for (size_t bucket : gather_order_)
      gathered_.push_back(write_.collective(Place::kMain, exchange(gather, buckets_[bucket]), dtype_name(job_)));
}

void SyntheticBuckets::wait_for_parameters(size_t part) {
  while (awaited_ < gathered_.size() && buckets_[gather_order_[awaited_]].part <= part)
    write_.wait_for(Place::kMain, gathered_[awaited_++]);
  if (awaited_ < gathered_.size()) return;
  gathered_.clear();
  awaited_ = 0;
}

void SyntheticBuckets::wait_for_all_parameters() { wait_for_parameters(SIZE_MAX); }

void SyntheticBuckets::end_step() { reduced_.clear(); }

}  // namespace lumos
