#include "lumos/graph/host/runtime_calls.h"

#include <gtest/gtest.h>

#include <utility>

namespace lumos {
namespace {

void expect_kind(CallKind kind, std::initializer_list<const char*> names) {
  for (const char* name : names) EXPECT_EQ(call_kind(name), kind) << name;
}

TEST(RuntimeCalls, LaunchesOfEveryApi) {
  expect_kind(CallKind::kLaunch, {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchKernel_v7000", "cuLaunchKernel",
                                  "cuLaunchKernelEx", "hipLaunchKernel", "hipExtLaunchKernel", "hipModuleLaunchKernel",
                                  "hipExtModuleLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchHostFunc",
                                  "cudaMemcpyAsync", "cudaMemsetAsync", "cudaMemset", "cudaMemcpy2DAsync",
                                  "hipMemcpyAsync", "hipMemsetAsync", "cuMemcpyHtoDAsync_v2", "cuMemsetD8Async"});
  expect_kind(CallKind::kGraphLaunch, {"cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch", "cudaGraphLaunch_ptsz"});
}

TEST(RuntimeCalls, EventsAndPolls) {
  expect_kind(CallKind::kRecord, {"cudaEventRecord", "cudaEventRecordWithFlags", "cuEventRecord", "hipEventRecord"});
  expect_kind(CallKind::kWait, {"cudaStreamWaitEvent", "cuStreamWaitEvent", "hipStreamWaitEvent"});
  expect_kind(CallKind::kPoll, {"cudaEventQuery", "cudaStreamQuery", "hipEventQuery", "cuEventQuery"});
}

TEST(RuntimeCalls, WhatTheHostWaitsFor) {
  expect_kind(CallKind::kStreamSync, {"cudaStreamSynchronize", "cuStreamSynchronize", "hipStreamSynchronize"});
  expect_kind(CallKind::kEventSync, {"cudaEventSynchronize", "hipEventSynchronize"});
  expect_kind(CallKind::kDeviceSync, {"cudaDeviceSynchronize", "cuCtxSynchronize", "hipDeviceSynchronize"});
  expect_kind(CallKind::kBlockingCopy, {"cudaMemcpy", "cudaMemcpy2D", "hipMemcpy", "hipMemcpyWithStream"});
  expect_kind(CallKind::kMayBlock, {"cudaFree", "cudaMalloc", "cudaFreeHost", "cudaHostAlloc", "hipFree", "hipMalloc",
                                    "cudaHostRegister", "cuMemAlloc_v2", "cuModuleLoadData"});
}

TEST(RuntimeCalls, AscendSpeaksOfTheSameThings) {
  expect_kind(CallKind::kStreamSync,
              {"AscendCL@aclrtSynchronizeStream", "aclrtSynchronizeStreamWithTimeout", "Runtime@StreamSynchronize"});
  expect_kind(CallKind::kDeviceSync, {"AscendCL@aclrtSynchronizeDevice", "aclrtSynchronizeDeviceWithTimeout"});
  expect_kind(CallKind::kEventSync, {"AscendCL@aclrtSynchronizeEvent", "aclrtSynchronizeEventWithTimeout"});
  expect_kind(CallKind::kRecord, {"AscendCL@aclrtRecordEvent"});
  expect_kind(CallKind::kWait, {"AscendCL@aclrtStreamWaitEvent", "aclrtStreamWaitEventWithTimeout"});
  expect_kind(CallKind::kPoll, {"AscendCL@aclrtQueryEvent", "aclrtQueryEventStatus", "aclrtStreamQuery"});
  expect_kind(CallKind::kBlockingCopy, {"AscendCL@aclrtMemcpy"});
  expect_kind(CallKind::kLaunch, {"AscendCL@aclrtMemcpyAsync", "AscendCL@aclrtLaunchKernel"});
  expect_kind(CallKind::kMayBlock, {"AscendCL@aclrtMalloc", "AscendCL@aclrtFree"});
}

TEST(RuntimeCalls, IntelsRuntimesSpeakOfTheSameThings) {
  expect_kind(CallKind::kLaunch,
              {"urEnqueueKernelLaunch", "urEnqueueKernelLaunchWithArgsExp", "urEnqueueCooperativeKernelLaunchExp",
               "urEnqueueUSMMemcpy", "urEnqueueUSMFill", "urEnqueueMemBufferRead", "piEnqueueKernelLaunch",
               "zeCommandListAppendLaunchKernel", "zeCommandListAppendMemoryCopy"});
  expect_kind(CallKind::kGraphLaunch, {"urEnqueueCommandBufferExp", "urEnqueueGraphExp"});
  expect_kind(CallKind::kStreamSync,
              {"urQueueFinish", "piQueueFinish", "zeCommandQueueSynchronize", "zeCommandListHostSynchronize"});
  expect_kind(CallKind::kEventSync,
              {"urEventWait", "piEventsWait", "zeEventHostSynchronize", "zeFenceHostSynchronize"});
  expect_kind(CallKind::kMayBlock, {"urUSMDeviceAlloc", "urUSMHostAlloc", "urUSMFree"});
  // A barrier records or waits; the name is the same.
  expect_kind(CallKind::kOther, {"urEnqueueEventsWait", "urEnqueueEventsWaitWithBarrier", "urQueueFlush",
                                 "urEventGetInfo", "urKernelSetArgPointer"});
}

TEST(RuntimeCalls, UnknownNamesAreOrdinaryCalls) {
  expect_kind(CallKind::kOther, {"", "cudaGetDevice", "cudaEventCreateWithFlags", "cudaEventDestroy",
                                 "cudaStreamIsCapturing", "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"});
}

TEST(RuntimeCalls, StreamOrderedMemoryCallsWaitForNobody) {
  // cudaMallocAsync and cudaFreeAsync are enqueued on a stream; the host goes on.
  expect_kind(CallKind::kOther, {"cudaMallocAsync", "cudaFreeAsync", "cuMemAllocAsync", "cuMemFreeAsync"});
}

}  // namespace
}  // namespace lumos
