#include "lumos/program/synth/synthetic_buckets.h"

#include "lumos/plan/layer_work.h"
#include "lumos/plan/optimizer.h"
#include "lumos/program/recover/operator_names.h"

namespace lumos {
namespace {

/// Of sums of parameters, which are whole numbers.
constexpr double kRounding = 0.5;

}  // namespace

SyntheticBuckets::SyntheticBuckets(const Job& job, const Cluster& cluster, double parameters, WorkWriter& write)
    : job_(job), cluster_(cluster), write_(write), parameters_(parameters), count_(gradient_buckets(job, parameters)) {}

std::string_view SyntheticBuckets::gradient_type() const {
  return job_.grad_reduce_in_fp32 ? "Float" : dtype_name(job_);
}

KernelWork SyntheticBuckets::reduction() const { return gradient_reduction(job_, cluster_, parameters_, count_); }

void SyntheticBuckets::complete_gradients(double parameters) {
  complete_parameters_ += parameters;
  const double bucket = parameters_ / static_cast<double>(count_);
  while (static_cast<int64_t>(reduced_.size()) < count_ &&
         bucket * static_cast<double>(reduced_.size() + 1) <= complete_parameters_ + kRounding) {
    RankRecorder& recorder = write_.recorder();
    recorder.open(Place::kAutograd, EventKind::kCpuOp,
                  "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad");
    recorder.open(Place::kAutograd, EventKind::kCpuOp, "torch::autograd::AccumulateGrad");
    reduced_.push_back(write_.collective(Place::kAutograd, GroupKind::kData, reduction(), gradient_type()));
    recorder.close(Place::kAutograd);
    recorder.close(Place::kAutograd);
  }
}

void SyntheticBuckets::reduce_all() {
  reduced_.push_back(write_.collective(Place::kMain, GroupKind::kData, reduction(), gradient_type()));
}

void SyntheticBuckets::wait_for_reduced() {
  for (uint32_t recorded : reduced_) write_.wait_for(Place::kMain, recorded);
}

void SyntheticBuckets::gather() {
  const KernelWork gather = parameter_gather(job_, cluster_, parameters_, count_);
  for (int64_t i = 0; i < count_; ++i)
    gathered_.push_back(write_.collective(Place::kMain, GroupKind::kData, gather, dtype_name(job_)));
}

void SyntheticBuckets::wait_for_parameters(double parameters) {
  if (gathered_.empty()) return;
  read_parameters_ += parameters;
  const double bucket = parameters_ / static_cast<double>(count_);
  while (awaited_ < gathered_.size() && bucket * static_cast<double>(awaited_) + kRounding < read_parameters_)
    write_.wait_for(Place::kMain, gathered_[awaited_++]);
  if (awaited_ < gathered_.size()) return;
  gathered_.clear();
  awaited_ = 0;
  read_parameters_ = 0;
}

void SyntheticBuckets::end_step() {
  reduced_.clear();
  complete_parameters_ = 0;
}

}  // namespace lumos
