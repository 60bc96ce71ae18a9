// The machine: its GPUs, its hosts and its network, with the few constants that kernel and collective times are
// computed from. Made from a cluster file by read_cluster; read by every model. Constants can be replaced by calibrated
// ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/base/value.h"

namespace lumos {

/// One GPU as its data sheet has it, and what kernels reach of it.
struct Gpu {
  std::string name;
  double memory_gib = 0;
  double reserved_gib = 0;   ///< held by the CUDA context, NCCL and fragmentation; not available to tensors
  int64_t sm_count = 0;      ///< multiprocessors, or compute units
  double matrix_tflops = 0;  ///< dense 16-bit matrix peak
  double fp32_tflops = 0;    ///< of products of 32-bit numbers; 0: not known, and taken as matrix_tflops / 16
  double memory_gb_per_s = 0;

  double gemm_peak_fraction = 0;  ///< of matrix_tflops in a long, full GEMM
  /// Left of a GEMM's speed when the lines of its memory are odd numbers of 16-bit elements, see gemm.cc. Fitted on the
  /// head of an unpadded vocabulary on A100, docs/accuracy-models.md; no other GPU is known to differ.
  double gemm_unaligned_fraction = 0.3;
  double gemm_tile_start_us = 0;       ///< filling and draining of one wave of tiles
  double attention_peak_fraction = 0;  ///< of matrix_tflops in fused attention, forward, causal, 4096 keys
  double memory_peak_fraction = 0;     ///< of memory_gb_per_s in element-wise kernels
  double kernel_floor_us = 0;          ///< what the smallest kernel takes on its stream, gap to the next one included
};

/// The CPU side of a training step.
struct Host {
  double launch_us = 0;  ///< CPU time per modelled kernel, in Python's forward or autograd's backward, with all that
                         ///< surrounds its launch
  double step_us = 0;    ///< once per step: data, gradient scaling, logging, synchronisation
  /// 0: it waits for the GPU after each layer, embedding and head, as where each was measured by itself; 1: it never
  /// does but for a reason of the job's.
  int64_t runs_ahead = 1;
};

/// One level of the network, seen from one GPU.
struct NetworkTier {
  double gb_per_s = 0;              ///< per GPU and direction
  double latency_us = 0;            ///< once per collective
  double low_latency_us = 0;        ///< the same of the protocol for small messages
  double low_latency_fraction = 0;  ///< of the bandwidth that this protocol reaches
  double hop_us = 0;                ///< per step of a ring or level of a tree
};

struct Cluster {
  std::string name;
  int64_t gpus_per_node = 8;
  int64_t num_nodes = 0;          ///< 0: as many as the job needs
  double price_per_gpu_hour = 0;  ///< in any currency; 0: not known
  Gpu gpu;
  Host host;
  NetworkTier node;              ///< between the GPUs of a node
  NetworkTier fabric;            ///< between nodes
  double reduce_gb_per_s = 0;    ///< at which a collective's own copies and sums pass through a GPU's memory
  double arrival_spread_us = 0;  ///< standard deviation of the ranks' arrivals at a collective inside a layer
};

/// The peak of products of such elements. Frameworks do not round 32-bit operands to TF32 unless told to (PyTorch since
/// 1.12), so that these run on the vector units of NVIDIA's GPUs.
double peak_tflops(const Gpu& gpu, int64_t element_bytes);

/// One number of a cluster by its name in files: "gpu.memory_gib". Exactly one of the members is set.
struct ClusterField {
  std::string_view name;
  double& (*real)(Cluster&) = nullptr;
  int64_t& (*whole)(Cluster&) = nullptr;
  bool constant = false;  ///< can be calibrated
};

/// All numbers of a cluster in the order of files.
const std::vector<ClusterField>& cluster_fields();

/// The field called `name`, or nullptr.
const ClusterField* find_cluster_field(std::string_view name);

/// The cluster of a parsed file. Every number is required but num_nodes, the price, gpu.fp32_tflops
/// and host.runs_ahead; unknown keys are errors, so that
/// a misspelt constant cannot keep its default unseen.
Result<Cluster> cluster_from_value(const ValueView& file);
Result<Cluster> read_cluster_file(const std::string& path);

/// Sets one number: `--set gpu.memory_gib=40`.
Status set_cluster_field(Cluster& cluster, std::string_view name, std::string_view text);

/// The cluster as TOML text that reads back as the same cluster; `heading` goes first as comment lines.
std::string cluster_to_toml(const Cluster& cluster, std::string_view heading = {});

}  // namespace lumos
