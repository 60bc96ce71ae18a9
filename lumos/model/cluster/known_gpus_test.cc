#include "lumos/model/cluster/known_gpus.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

struct Named {
  const char* device;  ///< as drivers spell it
  int64_t sm_count;
  double matrix_tflops, memory_gib;
};

constexpr Named kDevices[] = {
    {"NVIDIA GB200", 148, 2500, 186},
    {"NVIDIA B200", 148, 2250, 180},
    {"NVIDIA H100 80GB HBM3", 132, 989, 80},
    {"NVIDIA H100 PCIe", 114, 756, 80},
    {"NVIDIA H100 NVL", 132, 835, 94},
    {"NVIDIA GH200 480GB", 132, 989, 96},
    {"NVIDIA H200", 132, 989, 141},
    {"NVIDIA A100-SXM4-80GB", 108, 312, 80},
    {"NVIDIA A100-SXM4-40GB", 108, 312, 40},
    {"A100-PCIE-40GB", 108, 312, 40},
    {"NVIDIA A100 80GB PCIe", 108, 312, 80},
    {"NVIDIA A40", 84, 149.7, 48},
    {"Tesla V100-SXM2-16GB", 80, 125, 16},
    {"Tesla V100-SXM2-32GB", 80, 125, 32},
    {"Tesla V100-PCIE-16GB", 80, 112, 16},
    {"Tesla V100S-PCIE-32GB", 80, 130, 32},
    {"NVIDIA GeForce RTX 4090", 128, 165, 24},
    {"NVIDIA L40S", 142, 362, 48},
    {"NVIDIA L40", 142, 181, 48},
    {"NVIDIA L4", 58, 121, 24},
    {"Tesla T4", 40, 65, 16},
    {"AMD Instinct MI325X", 304, 1307, 256},
    {"AMD Instinct MI300X", 304, 1307, 192},
    {"AMD Instinct MI250X", 110, 191.5, 64},
    {"AMD Instinct MI250", 104, 181, 64},
    {"AMD Instinct MI210", 104, 181, 64},
};

TEST(KnownGpus, EachNameHasItsOwnDataSheet) {
  for (const Named& named : kDevices) {
    const auto gpu = known_gpu(named.device);
    ASSERT_TRUE(gpu) << named.device;
    EXPECT_EQ(gpu->sm_count, named.sm_count) << named.device;
    EXPECT_EQ(gpu->matrix_tflops, named.matrix_tflops) << named.device;
    EXPECT_EQ(gpu->memory_gib, named.memory_gib) << named.device;
    EXPECT_GT(gpu->fp32_tflops, 0) << named.device;
    EXPECT_LT(gpu->fp32_tflops, gpu->matrix_tflops) << named.device;
  }
}

TEST(KnownGpus, ALongerWordIsAnotherDevice) {
  for (const Named& named : kDevices) {
    const std::string part = known_gpu(named.device)->name;
    for (const std::string& other : {part + "0", part + "00 4GB", part + "Q", "G" + part, "1" + part}) {
      const auto gpu = known_gpu("NVIDIA " + other);
      EXPECT_TRUE(!gpu || gpu->name != part) << other;
    }
  }
  EXPECT_FALSE(known_gpu("NVIDIA T400 4GB"));
  EXPECT_FALSE(known_gpu(""));
}

TEST(KnownGpus, PartsOfAGpuAndLaptopsAreNotTheCard) {
  for (const Named& named : kDevices) {
    for (const char* what : {" Laptop GPU", " MIG 1g.10gb", " with Max-Q Design", " D", " Ti", " SUPER"}) {
      EXPECT_FALSE(known_gpu(named.device + std::string(what))) << named.device << what;
      EXPECT_EQ(known_cluster(named.device + std::string(what)), "") << named.device << what;
    }
    EXPECT_FALSE(known_gpu("GRID " + std::string(named.device)));
  }
}

TEST(KnownGpus, WhatTheTraceTellsOfTheDeviceWins) {
  for (const Named& named : kDevices) {
    DeviceProperties device;
    device.name = named.device;
    EXPECT_EQ(known_gpu(device)->sm_count, named.sm_count);
    EXPECT_EQ(known_gpu(device)->memory_gib, named.memory_gib);
    device.num_sms = 17;
    device.memory_bytes = int64_t{5} << 29;
    EXPECT_EQ(known_gpu(device)->sm_count, 17);
    EXPECT_EQ(known_gpu(device)->memory_gib, 2.5);
    EXPECT_EQ(known_gpu(device)->matrix_tflops, named.matrix_tflops);
  }
}

}  // namespace
}  // namespace lumos
