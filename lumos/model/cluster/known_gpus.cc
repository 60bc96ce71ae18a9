#include "lumos/model/cluster/known_gpus.h"

#include <cctype>

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

/// Of the makers' data sheets: multiprocessors, dense 16-bit matrix peak with sums in fp32, peak of fp32 products (the
/// vector units' on NVIDIA, the matrix units' on AMD), memory and its bandwidth. Of the MI200s one of the two dies,
/// which is a device of its own.
struct Sheet {
  std::string_view part;  ///< whole words of the device's name; what says more comes first
  int64_t sm_count;
  double matrix_tflops, fp32_tflops, memory_gib, memory_gb_per_s;
  Maker maker = Maker::kNvidia;
  std::string_view cluster = "";  ///< of configs/clusters, whose GPU this is
};

constexpr Sheet kSheets[] = {
    // GB200 NVL72 and HGX B200 data sheets, a 72nd and an eighth of them.
    {"GB200", 148, 2500, 80, 186, 8000},
    {"B200", 148, 2250, 75, 180, 8000, Maker::kNvidia, "dgx-b200"},
    // H100, H200, GH200 Grace Hopper data sheets; half of what they say with sparsity.
    {"H100 PCIe", 114, 756, 51, 80, 2000, Maker::kNvidia, "dgx-h100"},
    {"H100 NVL", 132, 835, 60, 94, 3900, Maker::kNvidia, "dgx-h100"},
    {"H100", 132, 989, 67, 80, 3350, Maker::kNvidia, "dgx-h100"},
    {"GH200", 132, 989, 67, 96, 4000, Maker::kNvidia, "dgx-h200"},
    {"H200", 132, 989, 67, 141, 4800, Maker::kNvidia, "dgx-h200"},
    {"H800 PCIe", 114, 756, 51, 80, 2000},
    {"H800", 132, 989, 67, 80, 3350},
    // A100, A800, A30 and A40 data sheets.
    {"A100-SXM4-40GB", 108, 312, 19.5, 40, 1555, Maker::kNvidia, "dgx-a100"},
    {"A100-PCIE-40GB", 108, 312, 19.5, 40, 1555, Maker::kNvidia, "dgx-a100"},
    {"A100 80GB PCIe", 108, 312, 19.5, 80, 1935, Maker::kNvidia, "dgx-a100"},
    {"A100", 108, 312, 19.5, 80, 2039, Maker::kNvidia, "dgx-a100"},
    {"A800", 108, 312, 19.5, 80, 2039},
    {"A30", 56, 165, 10.3, 24, 933},
    {"A40", 84, 149.7, 37.4, 48, 696},
    // V100 and V100S data sheets; 16 and 32 GB of each but the V100S.
    {"V100S-PCIE-32GB", 80, 130, 16.4, 32, 1134},
    {"V100-PCIE-16GB", 80, 112, 14, 16, 900},
    {"V100-PCIE-32GB", 80, 112, 14, 32, 900},
    {"V100-SXM2-16GB", 80, 125, 15.7, 16, 900},
    {"V100", 80, 125, 15.7, 32, 900},
    // Ada architecture papers; L4, L40 and L40S data sheets; T4 data sheet.
    {"RTX 4090", 128, 165, 82.6, 24, 1008},
    {"L40S", 142, 362, 91.6, 48, 864},
    {"L40", 142, 181, 90.5, 48, 864},
    {"L4", 58, 121, 30.3, 24, 300},
    {"T4", 40, 65, 8.1, 16, 320},
    // AMD Instinct data sheets.
    {"MI325X", 304, 1307, 163.4, 256, 6000, Maker::kAmd},
    {"MI300X", 304, 1307, 163.4, 192, 5300, Maker::kAmd, "mi300x"},
    {"MI250X", 110, 191.5, 47.9, 64, 1638, Maker::kAmd},
    {"MI250", 104, 181, 45.3, 64, 1638, Maker::kAmd},
    {"MI210", 104, 181, 45.3, 64, 1638, Maker::kAmd},
};

/// A part of a GPU, or another die that is sold under the same number.
constexpr std::string_view kOtherParts[] = {"Laptop", "Max-Q", "Mobile", "MIG", "GRID", "D", "Ti", "SUPER"};

/// Whether `part` stands in `name` with neither a letter nor a digit on either side.
bool has_words(std::string_view name, std::string_view part) {
  const auto joins = [&](size_t at) { return at < name.size() && std::isalnum(static_cast<unsigned char>(name[at])); };
  for (size_t at = name.find(part); at != std::string_view::npos; at = name.find(part, at + 1)) {
    if ((at == 0 || !joins(at - 1)) && !joins(at + part.size())) return true;
  }
  return false;
}

const Sheet* find_sheet(std::string_view device) {
  for (std::string_view other : kOtherParts) {
    if (has_words(device, other)) return nullptr;
  }
  for (const Sheet& sheet : kSheets) {
    if (has_words(device, sheet.part)) return &sheet;
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
  gpu.fp32_tflops = sheet->fp32_tflops;
  gpu.memory_gib = sheet->memory_gib;
  gpu.memory_gb_per_s = sheet->memory_gb_per_s;
  add_usual_constants(sheet->maker, gpu);
  return gpu;
}

std::optional<Gpu> known_gpu(const DeviceProperties& device) {
  std::optional<Gpu> gpu = known_gpu(device.name);
  if (!gpu) return gpu;
  if (device.num_sms > 0) gpu->sm_count = device.num_sms;
  constexpr double kGib = 1 << 30;
  if (device.memory_bytes > 0) gpu->memory_gib = static_cast<double>(device.memory_bytes) / kGib;
  return gpu;
}

std::string_view known_cluster(std::string_view device) {
  const Sheet* sheet = find_sheet(device);
  return sheet == nullptr ? std::string_view() : sheet->cluster;
}

}  // namespace lumos
