#include "lumos/trace/table/occupancy.h"

#include <gtest/gtest.h>

namespace lumos {
namespace {

DeviceProperties device() {
  DeviceProperties out;
  out.num_sms = 100;
  out.max_threads_per_sm = 2048;
  out.registers_per_sm = 65'536;
  out.shared_memory_per_sm_bytes = 200'000;
  return out;
}

GpuDetail kernel(int32_t blocks, int32_t threads, int32_t registers = 0, int32_t shared_memory_bytes = 0) {
  GpuDetail out;
  out.grid[0] = blocks, out.grid[1] = out.grid[2] = 1;
  out.block[0] = threads, out.block[1] = out.block[2] = 1;
  out.registers_per_thread = registers;
  out.shared_memory_bytes = shared_memory_bytes;
  return out;
}

TEST(Occupancy, TheScarcestResourceDecides) {
  EXPECT_EQ(blocks_per_sm(kernel(1, 256), device()), 8);
  EXPECT_EQ(blocks_per_sm(kernel(1, 256, 128), device()), 2);
  EXPECT_EQ(blocks_per_sm(kernel(1, 256, 128, 150'000), device()), 1);
  EXPECT_EQ(blocks_per_sm(kernel(1, 1024, 255), device()), 1);  // does not fit at all: it ran nevertheless
}

TEST(Occupancy, NoMultiprocessorHoldsMoreThan32Blocks) {
  EXPECT_EQ(blocks_per_sm(kernel(1, 32), device()), 32);
  EXPECT_EQ(waves(kernel(3200, 32), device()), 1);
  EXPECT_EQ(waves(kernel(3201, 32), device()), 2);
}

TEST(Occupancy, WhatTheTraceDoesNotTellIsNoLimit) {
  EXPECT_EQ(blocks_per_sm(kernel(1, 0), device()), 1);
  EXPECT_EQ(blocks_per_sm(kernel(1, 256), DeviceProperties{}), 1);
  EXPECT_EQ(waves(kernel(10, 256), DeviceProperties{}), 0);
  EXPECT_EQ(blocks_of(GpuDetail{}), 0);
  EXPECT_EQ(waves(GpuDetail{}, device()), 0);
}

}  // namespace
}  // namespace lumos
