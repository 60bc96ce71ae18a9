#include "lumos/model/kernels/kernel_work.h"

#include <algorithm>

#include "lumos/model/kernels/elementwise.h"
#include "lumos/model/kernels/expected_maximum.h"

namespace lumos {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

double work_flops(const KernelWork& work) {
  if (const auto* gemm = std::get_if<GemmShape>(&work.shape))
    return gemm_flops(*gemm) * static_cast<double>(work.kernels);
  if (const auto* attention = std::get_if<AttentionShape>(&work.shape)) return attention_flops(*attention);
  return 0;
}

}  // namespace

double kernel_us(const KernelWork& work, const Cluster& cluster) {
  const double kernels = static_cast<double>(work.kernels);
  return std::visit(Overloaded{
                        [&](const GemmShape& shape) { return kernels * gemm_us(shape, cluster.gpu); },
                        [&](const AttentionShape& shape) { return kernels * attention_us(shape, cluster.gpu); },
                        [&](const ElementwiseWork& shape) { return elementwise_us(shape.bytes, cluster.gpu, kernels); },
                        [&](const Collective& shape) { return kernels * collective_us(shape, cluster); },
                    },
                    work.shape);
}

LaunchedWork& LaunchedWork::operator+=(const LaunchedWork& next) {
  idle_us = std::max(idle_us + next.gpu_us, host_us + next.idle_us);
  host_us += next.host_us;
  gpu_us += next.gpu_us;
  return *this;
}

LaunchedWork LaunchedWork::operator*(double times) const {
  if (times < 1) return {times * host_us, times * gpu_us, times * idle_us};
  // The slower of the two sets the pace; the other's share of the first one comes on top.
  return {times * host_us, times * gpu_us, idle_us + (times - 1) * std::max(host_us, gpu_us)};
}

WorkTimes& WorkTimes::operator+=(const WorkTimes& next) {
  compute_us += next.compute_us;
  comm_us += next.comm_us;
  overlapped_us += next.overlapped_us;
  matrix_flops += next.matrix_flops;
  launches += next.launches;
  launched += next.launched;
  return *this;
}

WorkTimes WorkTimes::operator*(double times) const {
  WorkTimes scaled = *this;
  scaled.compute_us *= times;
  scaled.comm_us *= times;
  scaled.overlapped_us *= times;
  scaled.matrix_flops *= times;
  scaled.launches *= times;
  scaled.launched = launched * times;
  return scaled;
}

WorkTimes work_times(const std::vector<KernelWork>& work, const Cluster& cluster, const WorkScale& scale) {
  WorkTimes total;
  const double launch_us = scale.host * cluster.host.launch_us;
  // A launch call comes in the middle of what the host does for a kernel.
  const double until_run_us = 0.5 * launch_us + kLaunchLatencyUs;
  const auto launch = [&](double launches, double time_us) {
    if (launches == 0) return total.launched += LaunchedWork{0, time_us, 0};  // part of the kernel before
    const double each_us = time_us / launches;
    return total.launched += LaunchedWork{launch_us, each_us, until_run_us + each_us} * launches;
  };
  double beside_us = 0;  // collectives that the next product covers
  for (const KernelWork& kernel : work) {
    const double kernels = static_cast<double>(kernel.kernels);
    const double time_us = kernel_us(kernel, cluster);
    if (is_collective(kernel)) {
      if (time_us == 0) continue;  // a group of one has no kernel
      const double waits = kernels * expected_maximum(std::get<Collective>(kernel.shape).group.size);
      const double whole_us = time_us + cluster.arrival_spread_us * waits;
      total.launches += scale.host * kernels;
      (kernel.beside_compute ? beside_us : total.comm_us) += whole_us;
      launch(kernels, kernel.beside_compute ? 0 : whole_us);
      continue;
    }
    total.launches += scale.host * kernels;
    total.matrix_flops += work_flops(kernel);
    const double compute_us = scale.compute * time_us;
    total.compute_us += compute_us;
    double exposed_us = 0;
    if (std::holds_alternative<GemmShape>(kernel.shape) && beside_us > 0) {
      const double covered_us = std::min(beside_us, compute_us);
      total.overlapped_us += covered_us;
      exposed_us = beside_us - covered_us;
      beside_us = 0;
    }
    total.comm_us += exposed_us;
    launch(kernels, compute_us + exposed_us);
  }
  total.comm_us += beside_us;
  launch(0, beside_us);
  return total;
}

}  // namespace lumos
