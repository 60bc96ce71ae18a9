// What a GPU is asked to do, without saying when: products, attention, moving bytes, collectives. Lists of these are
// what a layer, a head or an optimizer step consists of (layer_work.h); a time comes from the cluster's constants. Read
// by estimates and by whoever builds a program without a trace.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "lumos/model/kernels/attention.h"
#include "lumos/model/kernels/collective.h"
#include "lumos/model/kernels/gemm.h"
#include "lumos/parallel/dimension.h"

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
  DimensionSet along = {};      ///< of a collective: whom it is with
};

inline bool is_collective(const KernelWork& work) { return std::holds_alternative<Collective>(work.shape); }

/// Microseconds of all its kernels one after the other; a collective's transfer without waiting for other ranks.
double kernel_us(const KernelWork& work, const Cluster& cluster);

/// What a host launches kernel by kernel and a GPU runs in that order, as what it does to the two clocks:
///   host' = host + host_us,  GPU' = max(GPU + gpu_us, host + idle_us).
/// Two pieces after each other are again such a piece, and so are any number of equal ones.
struct LaunchedWork {
  double host_us = 0;  ///< to launch all of it
  double gpu_us = 0;   ///< to run it when all has been launched in time
  double idle_us = 0;  ///< from the host's first launch to the GPU's end, when the GPU has waited for it

  LaunchedWork& operator+=(const LaunchedWork& next);
  /// That many in a row; a part of one when `times` is below 1.
  LaunchedWork operator*(double times) const;
};

/// From a launch to an idle GPU's first instruction; see also program/rank_recorder.
inline constexpr double kLaunchLatencyUs = 5;
/// One thread waking another.
inline constexpr double kThreadWakeUs = 4;
/// From the GPU's end to the return of the call with which the host waits for it.
inline constexpr double kSyncReturnUs = 5;

/// Totals of a list that runs on one GPU.
struct WorkTimes {
  double compute_us = 0;
  double comm_us = 0;        ///< collectives that compute waits for, waiting for the last rank included
  double overlapped_us = 0;  ///< collectives beside compute
  double matrix_flops = 0;   ///< of products and fused attention
  double launches = 0;
  LaunchedWork launched;  ///< the same list in its order, on both clocks

  double gpu_us() const { return compute_us + comm_us; }
  WorkTimes& operator+=(const WorkTimes& next);
  WorkTimes operator*(double times) const;
};

/// Factors on what the models say.
struct WorkScale {
  double compute = 1;  ///< of the GPU's kernels, without collectives
  double host = 1;     ///< of the host that launches them
};

WorkTimes work_times(const std::vector<KernelWork>& work, const Cluster& cluster, const WorkScale& scale = {});

}  // namespace lumos
