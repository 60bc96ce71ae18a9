#include "lumos/model/known_gpus.h"

namespace lumos {

namespace {

/// What kernels usually reach, by the maker of the libraries. Where from: configs/clusters/dgx-h100.toml and
/// mi300x.toml, whose constants these are; the same on all of a maker's GPUs, for want of measurements of each.
enum class Maker : uint8_t { kNvidia, kAmd };

void add_usual_constants(Maker maker, Gpu& gpu) {
  gpu.gemm_peak_fraction = maker == Maker::kNvidia ? 0.72 : 0.5;
  gpu.attention_peak_fraction = maker == Maker::kNvidia ? 0.55 : 0.3;
  gpu.memory_peak_fraction = maker == Maker::kNvidia ? 0.85 : 0.8;
  gpu.kernel_floor_us = maker == Maker::kNvidia ? 5 : 7;
  gpu.gemm_tile_start_us = 2.5;
}

/// Of the makers' data sheets: multiprocessors, dense 16-bit matrix peak, memory and its bandwidth. Of the MI200s one
/// of the two dies, which is a device of its own.
struct Sheet {
  std::string_view part;  ///< of the device's name; what says more comes first
  int64_t sm_count;
  double matrix_tflops, memory_gib, memory_gb_per_s;
  Maker maker = Maker::kNvidia;
  std::string_view cluster = "";  ///< of configs/clusters, whose GPU this is
};

constexpr Sheet kSheets[] = {
    {"H100 PCIe", 114, 756, 80, 2000, Maker::kNvidia, "dgx-h100"},
    {"H100 NVL", 132, 835, 94, 3900, Maker::kNvidia, "dgx-h100"},
    {"H100", 132, 989, 80, 3350, Maker::kNvidia, "dgx-h100"},
    {"GH200", 132, 989, 96, 4000, Maker::kNvidia, "dgx-h200"},
    {"H200", 132, 989, 141, 4800, Maker::kNvidia, "dgx-h200"},
    {"H800", 132, 989, 80, 3350},
    {"B200", 148, 2250, 180, 8000, Maker::kNvidia, "dgx-b200"},
    {"A100-SXM4-40GB", 108, 312, 40, 1555, Maker::kNvidia, "dgx-a100"},
    {"A100-PCIE-40GB", 108, 312, 40, 1555, Maker::kNvidia, "dgx-a100"},
    {"A100", 108, 312, 80, 2039, Maker::kNvidia, "dgx-a100"},
    {"A800", 108, 312, 80, 2039},
    {"V100", 80, 125, 32, 900},
    {"RTX 4090", 128, 165, 24, 1008},
    {"L40S", 142, 362, 48, 864},
    {"T4", 40, 65, 16, 320},
    {"MI300X", 304, 1307, 192, 5300, Maker::kAmd, "mi300x"},
    {"MI250", 104, 181, 64, 1638, Maker::kAmd},
    {"MI210", 104, 181, 64, 1638, Maker::kAmd},
};

const Sheet* find_sheet(std::string_view device) {
  for (const Sheet& sheet : kSheets) {
    if (device.find(sheet.part) != std::string_view::npos) return &sheet;
  }
  return nullptr;
}

}  // namespace

std::optional<Gpu> known_gpu(std::string_view device) {
  const Sheet* sheet = find_sheet(device);
  if (sheet == nullptr) return std::nullopt;
  Gpu gpu;
  gpu.name = sheet->part;
  gpu.sm_count = sheet->sm_count;
  gpu.matrix_tflops = sheet->matrix_tflops;
  gpu.memory_gib = sheet->memory_gib;
  gpu.memory_gb_per_s = sheet->memory_gb_per_s;
  add_usual_constants(sheet->maker, gpu);
  return gpu;
}

std::string_view known_cluster(std::string_view device) {
  const Sheet* sheet = find_sheet(device);
  return sheet == nullptr ? std::string_view() : sheet->cluster;
}

}  // namespace lumos
