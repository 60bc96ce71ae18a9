// Floating-point operations of a step. Model FLOPs are what the mathematics needs, as Korthikanti et al. (2022) count
// them: every product once forward and twice backward, the whole attention matrix (no causal half), the padded
// vocabulary. Hardware FLOPs add what recomputation repeats. MFU = model FLOPs / (step time x GPUs x peak), the dense
// matrix peak for 16-bit jobs, that of fp32 products for others.
#pragma once

#include "lumos/model/cluster/cluster.h"
#include "lumos/model/job/job.h"

namespace lumos {

/// Of the global batch; the number may need more than 64 bits.
double tokens_per_step(const Job& job);

/// Of one step of the whole job.
double model_flops(const Job& job);
double hardware_flops(const Job& job);

/// Model FLOPs per second and GPU, in 1e12.
double tflops_per_gpu(const Job& job, double step_ms);

/// The same as a part of the peak that the job's numbers have, in percent.
double mfu_pct(const Job& job, double step_ms, const Gpu& gpu);

}  // namespace lumos
