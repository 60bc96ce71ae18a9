#include "lumos/program/measure/fitted_kernels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "lumos/base/parallel.h"
#include "lumos/model/cluster/known_gpus.h"

namespace lumos {
namespace {

/// Where the trace has no device properties.
constexpr int64_t kUsualMultiprocessors = 132;
constexpr double kUsualMemoryGbPerS = 3000;
/// Where no traced product tells.
constexpr double kUsualMatrixTflops = 500;
/// Of the matrix units' rate in products, reached in fused attention: the constants that known GPUs usually have.
constexpr double kUsualAttentionShare = 0.76;
/// Less and more than any GPU has; 32-bit products of old ones are the least.
constexpr double kLeastTflops = 4, kMostTflops = 3000;
/// Of 16-bit to 32-bit products, where no data sheet tells.
constexpr double kUsualFp32Ratio = 16;

struct TracedGemm {
  GemmShape shape;
  GemmPart part;
  double us = 0;
  int count = 0;
};

/// Products that add to a gradient of 32 bits are slower than others: each part of a linear layer may be off by a
/// factor of its own, which counts little. Ratios of times are what is wanted.
double fit_error(const std::vector<TracedGemm>& seen, const Gpu& gpu) {
  constexpr double kFactorWeight = 0.1;
  double sum[3] = {0, 0, 0}, count[3] = {0, 0, 0}, error = 0;
  std::vector<double> off;
  for (const TracedGemm& one : seen) {
    off.push_back(std::log(gemm_us(one.shape, gpu) / one.us));
    sum[static_cast<int>(one.part)] += off.back();
    ++count[static_cast<int>(one.part)];
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    const int part = static_cast<int>(seen[i].part);
    error += std::abs(off[i] - sum[part] / count[part]) + kFactorWeight * std::abs(off[i]);
  }
  return error;
}

std::vector<TracedGemm> traced_gemms(const RankProgram& rank, const std::vector<RoleOf>& roles, const Job& job) {
  std::vector<TracedGemm> seen;
  for (const BlockTask& task : rank.tasks) {
    if (task.kind != TaskKind::kKernel || task.event == kNoIndex) continue;
    const uint32_t launch = rank.recovered.list.launch_of_row[task.event];
    if (launch == kNoIndex || roles[launch].role > KernelRole::kLogits || !roles[launch].whole) continue;
    const GemmShape shape = gemm_shape(job, roles[launch]);
    auto found = std::find_if(seen.begin(), seen.end(), [&](const TracedGemm& one) {
      return one.shape == shape && one.part == roles[launch].part;
    });
    if (found == seen.end()) found = seen.insert(seen.end(), {shape, roles[launch].part});
    found->us += static_cast<double>(task.duration_ns) / 1e3;
    ++found->count;
  }
  for (TracedGemm& one : seen) one.us /= one.count;
  return seen;
}

double shortest_kernel_us(const RankProgram& rank) {
  std::vector<int64_t> durations;
  for (const BlockTask& task : rank.tasks)
    if (task.kind == TaskKind::kKernel) durations.push_back(task.duration_ns);
  if (durations.empty()) return 0;
  auto low = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 50);
  std::nth_element(durations.begin(), low, durations.end());
  return static_cast<double>(*low) / 1e3;
}

/// What the shortest kernels take; an empty one takes no longer than kMostFloorUs on any GPU of the last ten years, so
/// that a trace of large kernels only does not tell.
double floor_of(const RankProgram& rank) {
  constexpr double kMostFloorUs = 5;
  return std::min(shortest_kernel_us(rank), kMostFloorUs);
}

std::string_view device_name(const RankProgram& rank) {
  const auto& devices = rank.table->info.devices;
  return devices.empty() ? std::string_view() : devices[0].name;
}

/// Of two the smaller: one GPU may be slower than the others.
double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The same products on several ranks as one.
std::vector<TracedGemm> merged(const std::vector<std::vector<TracedGemm>>& ranks) {
  std::vector<TracedGemm> out;
  std::vector<std::vector<double>> times_us;
  for (const std::vector<TracedGemm>& rank : ranks) {
    for (const TracedGemm& one : rank) {
      const auto same = std::find_if(out.begin(), out.end(), [&](const TracedGemm& other) {
        return other.shape == one.shape && other.part == one.part;
      });
      times_us.resize(std::max(times_us.size(), out.size() + 1));
      times_us[static_cast<size_t>(same - out.begin())].push_back(one.us);
      if (same == out.end()) out.push_back(one);
    }
  }
  for (size_t i = 0; i < out.size(); ++i) out[i].us = median_of(times_us[i]);
  return out;
}

/// A GPU whose constants reproduce the traced GEMMs: only ratios of its times are used.
Gpu fitted_gpu(const RankProgram& like, const std::vector<TracedGemm>& seen, double floor_us, const Job& job) {
  Gpu gpu;
  const auto& devices = like.table->info.devices;
  gpu.sm_count = devices.empty() || devices[0].num_sms <= 0 ? kUsualMultiprocessors : devices[0].num_sms;
  gpu.gemm_peak_fraction = 1;
  gpu.memory_peak_fraction = 1;
  const std::optional<Gpu> known = devices.empty() ? std::nullopt : known_gpu(devices[0].name);
  gpu.memory_gb_per_s = known && known->memory_gb_per_s > 0 ? known->memory_gb_per_s : kUsualMemoryGbPerS;
  gpu.kernel_floor_us = floor_us;
  gpu.attention_peak_fraction =
      known ? known->attention_peak_fraction / known->gemm_peak_fraction : kUsualAttentionShare;
  // No GPU beats its data sheet with 16-bit numbers; with 32-bit ones it has several peaks, by how they are multiplied.
  const bool fp32 = element_bytes(job) >= 4;
  const bool has_peak = known && known->matrix_tflops > 0;
  const double fp32_share = has_peak ? known->fp32_tflops / known->matrix_tflops : 0;
  const double most_tflops = has_peak ? known->matrix_tflops : kMostTflops;
  const auto set_peak = [&](double tflops) {
    gpu.matrix_tflops = tflops;
    gpu.fp32_tflops = fp32_share * tflops;
    if (!fp32) return;
    gpu.fp32_tflops = tflops;
    gpu.matrix_tflops = std::min(most_tflops, fp32_share > 0 ? tflops / fp32_share : kUsualFp32Ratio * tflops);
  };
  set_peak(fp32 ? kUsualMatrixTflops / kUsualFp32Ratio : kUsualMatrixTflops);
  Gpu best = gpu;
  if (seen.empty()) return best;
  double best_error = INFINITY;
  for (double start_us : {0.0, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0}) {
    gpu.gemm_tile_start_us = start_us;
    for (double tflops = kLeastTflops; tflops < most_tflops; tflops *= 1.02) {
      set_peak(tflops);
      const double error = fit_error(seen, gpu);
      if (error >= best_error) continue;
      best_error = error;
      best = gpu;
    }
  }
  return best;
}

}  // namespace

/// Products of one linear layer or the head on one rank.
GemmShape gemm_shape(const Job& job, RoleOf role) {
  const int64_t tokens = job.micro_batch_size * job.seq_length;
  const int64_t tensor = job.tensor_model_parallel_size;
  const int64_t queries = job.num_attention_heads * job.kv_channels / tensor;
  const int64_t keys = job.num_query_groups * job.kv_channels / tensor;
  int64_t in = job.hidden_size, out = job.hidden_size;
  switch (role.role) {
    case KernelRole::kQkv:
      out = queries + 2 * keys;
      break;
    case KernelRole::kProjection:
      in = queries;
      break;
    case KernelRole::kFc1:
      out = job.ffn_hidden_size / tensor * (job.swiglu ? 2 : 1);
      break;
    case KernelRole::kFc2:
      in = job.ffn_hidden_size / tensor;
      break;
    case KernelRole::kLogits:
      out = padded_vocab_size(job) / tensor;
      break;
    default:
      break;
  }
  switch (role.part) {
    case GemmPart::kForward:
      return {tokens, out, in, 1, element_bytes(job)};
    case GemmPart::kInputGradient:
      return {tokens, in, out, 1, element_bytes(job)};
    case GemmPart::kWeightGradient:
      break;
  }
  return {out, in, tokens, 1, element_bytes(job), true};
}

std::vector<Gpu> fit_kernels(const std::vector<RankProgram>& ranks, const std::vector<std::vector<RoleOf>>& roles,
                             const Job& job, int threads) {
  std::vector<std::vector<TracedGemm>> seen(ranks.size());
  std::vector<double> floors_us(ranks.size());
  parallel_for(ranks.size(), threads, [&](size_t r) {
    seen[r] = traced_gemms(ranks[r], roles[r], job);
    floors_us[r] = floor_of(ranks[r]);
  });
  std::map<std::string_view, std::vector<size_t>> by_device;
  for (size_t r = 0; r < ranks.size(); ++r) by_device[device_name(ranks[r])].push_back(r);
  std::vector<Gpu> out(ranks.size());
  for (const auto& [name, members] : by_device) {
    std::vector<std::vector<TracedGemm>> seen_there;
    std::vector<double> floors_there_us;
    for (const size_t r : members) {
      seen_there.push_back(std::move(seen[r]));
      floors_there_us.push_back(floors_us[r]);
    }
    const Gpu shared = fitted_gpu(ranks[members[0]], merged(seen_there), median_of(floors_there_us), job);
    for (const size_t r : members) {
      out[r] = shared;
      out[r].kernel_floor_us = floors_us[r];
    }
  }
  return out;
}

}  // namespace lumos
