#include "lumos/model/kernel_work.h"

#include <algorithm>
#include <cmath>

#include "lumos/model/elementwise.h"

namespace lumos {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

/// How far the last of n normal arrivals is behind the mean, in standard deviations; within 3 % up to n = 16.
double expected_maximum(int64_t n) { return n < 2 ? 0 : 0.564 * std::pow(std::log2(static_cast<double>(n)), 0.85); }

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

WorkTimes& WorkTimes::operator+=(const WorkTimes& other) {
  compute_us += other.compute_us;
  comm_us += other.comm_us;
  overlapped_us += other.overlapped_us;
  matrix_flops += other.matrix_flops;
  launches += other.launches;
  return *this;
}

WorkTimes WorkTimes::operator*(double times) const {
  WorkTimes scaled = *this;
  scaled.compute_us *= times;
  scaled.comm_us *= times;
  scaled.overlapped_us *= times;
  scaled.matrix_flops *= times;
  scaled.launches = launches * times;
  return scaled;
}

WorkTimes work_times(const std::vector<KernelWork>& work, const Cluster& cluster) {
  WorkTimes total;
  double beside_us = 0;  // collectives that the next product covers
  for (const KernelWork& kernel : work) {
    const double time_us = kernel_us(kernel, cluster);
    total.launches += static_cast<double>(kernel.kernels);
    total.matrix_flops += work_flops(kernel);
    if (is_collective(kernel)) {
      if (time_us == 0) {
        total.launches -= static_cast<double>(kernel.kernels);  // a group of one has no kernel
        continue;
      }
      const double waits =
          static_cast<double>(kernel.kernels) * expected_maximum(std::get<Collective>(kernel.shape).group.size);
      const double whole_us = time_us + cluster.arrival_spread_us * waits;
      (kernel.beside_compute ? beside_us : total.comm_us) += whole_us;
      continue;
    }
    total.compute_us += time_us;
    if (std::holds_alternative<GemmShape>(kernel.shape) && beside_us > 0) {
      const double covered_us = std::min(beside_us, time_us);
      total.overlapped_us += covered_us;
      total.comm_us += beside_us - covered_us;
      beside_us = 0;
    }
  }
  total.comm_us += beside_us;
  return total;
}

}  // namespace lumos
