// What a GPU is asked to do, without saying when: products, attention, moving bytes, collectives. Lists of these are
// what a layer, a head or an optimizer step consists of (layer_work.h); a time comes from the cluster's constants. Read
// by estimates and by whoever builds a program without a trace.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "lumos/model/attention.h"
#include "lumos/model/collective.h"
#include "lumos/model/gemm.h"

namespace lumos {

/// Bytes read plus bytes written by kernels that only move data.
struct ElementwiseWork {
  double bytes = 0;
};

using WorkShape = std::variant<GemmShape, AttentionShape, ElementwiseWork, Collective>;

/// One kernel, or `kernels` of them that share the work equally.
struct KernelWork {
  std::string_view role;  ///< "linear_qkv", "input_layernorm" ...: Megatron's module; static text
  WorkShape shape;
  int64_t kernels = 1;
  bool beside_compute = false;  ///< a collective that runs beside the next product instead of before it
};

inline bool is_collective(const KernelWork& work) { return std::holds_alternative<Collective>(work.shape); }

/// Microseconds of all its kernels one after the other; a collective's transfer without waiting for other ranks.
double kernel_us(const KernelWork& work, const Cluster& cluster);

/// Totals of a list that runs on one GPU.
struct WorkTimes {
  double compute_us = 0;
  double comm_us = 0;        ///< collectives that compute waits for, waiting for the last rank included
  double overlapped_us = 0;  ///< collectives beside compute
  double matrix_flops = 0;   ///< of products and fused attention
  double launches = 0;

  double gpu_us() const { return compute_us + comm_us; }
  WorkTimes& operator+=(const WorkTimes& other);
  WorkTimes operator*(double times) const;
};

WorkTimes work_times(const std::vector<KernelWork>& work, const Cluster& cluster);

}  // namespace lumos
