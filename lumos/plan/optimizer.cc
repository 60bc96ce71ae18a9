#include "lumos/plan/optimizer.h"

#include <algorithm>
#include <cmath>

#include "lumos/plan/parallel_layout.h"

namespace lumos {
namespace {

/// Apex's multi-tensor kernels take up to 320 blocks of 65536 elements each.
constexpr double kParametersPerLaunch = 320 * 65536.0;

/// Megatron's default bucket: 40 million parameters, or 1 million per replica when that is more.
int64_t default_bucket(const Job& job) { return std::max<int64_t>(40'000'000, 1'000'000 * job.data_parallel_size); }

}  // namespace

double gradient_bytes(const Job& job) { return job.grad_reduce_in_fp32 ? 4 : static_cast<double>(element_bytes(job)); }

double optimizer_share(const Job& job, double parameters) {
  return job.use_distributed_optimizer ? parameters / static_cast<double>(job.data_parallel_size) : parameters;
}

double optimizer_bytes_per_parameter(const Job& job) {
  const double gradient = gradient_bytes(job);
  const double element = static_cast<double>(element_bytes(job));
  double bytes = 0;
  if (gradient < 4) bytes += gradient + 4;                    // copy to fp32
  if (job.params_dtype == ParamsType::kFp16) bytes += 4 + 4;  // undo the loss scale, look for overflow
  if (job.clip_grad > 0) bytes += 4 + 4 + 4;                  // norm, then clip
  bytes += job.optimizer == Optimizer::kAdam ? 4 * 4 + 3 * 4 : 2 * 4 + 4;
  if (element < 4) bytes += 4 + element;  // copy to the model's parameters
  return bytes;
}

std::vector<KernelWork> optimizer_work(const Job& job, double parameters) {
  const double share = optimizer_share(job, parameters);
  const int64_t launches = static_cast<int64_t>(std::ceil(share / kParametersPerLaunch));
  return {
      {"optimizer", ElementwiseWork{share * optimizer_bytes_per_parameter(job)}, std::max<int64_t>(launches, 1) * 5},
      {"zero_grad", ElementwiseWork{parameters * gradient_bytes(job)}}};
}

KernelWork gradient_reduction(const Job& job, const Cluster& cluster, double parameters, int64_t buckets) {
  const GroupShape group = axis_group(job, cluster, ParallelAxis::kData);
  const CollectiveKind kind =
      job.use_distributed_optimizer ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  const double bytes = parameters * gradient_bytes(job) / static_cast<double>(buckets);
  return {"gradient_reduction", Collective{kind, bytes, group}, buckets};
}

KernelWork parameter_gather(const Job& job, const Cluster& cluster, double parameters, int64_t buckets) {
  const GroupShape group =
      job.use_distributed_optimizer ? axis_group(job, cluster, ParallelAxis::kData) : GroupShape{1, 1};
  const double bytes = parameters * static_cast<double>(element_bytes(job)) / static_cast<double>(buckets);
  return {"parameter_gather", Collective{CollectiveKind::kAllGather, bytes, group}, buckets};
}

int64_t gradient_buckets(const Job& job, double parameters) {
  if (!job.overlap_grad_reduce) return 1;
  const int64_t bucket = job.ddp_bucket_size > 0 ? job.ddp_bucket_size : default_bucket(job);
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(parameters / static_cast<double>(bucket))));
}

}  // namespace lumos
