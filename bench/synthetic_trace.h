// A trace of any size, written as it is made: training steps of two host threads and two streams in the form and with
// the mix of events that Kineto gives them (operators with shapes, launches, kernels, collectives, flows, Python
// frames). For benchmarks only; what it computes means nothing.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>

#include "lumos/trace/write/output_file.h"

namespace lumos {

class SyntheticTrace {
 public:
  /// Writes at least `size_bytes` of JSON to `path` (.gz: compressed). Returns the rows of traceEvents.
  static Result<uint64_t> write(const std::string& path, uint64_t size_bytes) {
    SyntheticTrace trace(TRY(OutputFile::open(path)));
    trace.begin();
    while (trace.bytes_ < size_bytes) trace.step();
    trace.end();
    TRY_STATUS(trace.file_.close());
    return trace.events_;
  }

 private:
  explicit SyntheticTrace(OutputFile file) : file_(std::move(file)) {}

  static constexpr int kLayers = 24;
  static constexpr int kOpsPerLayer = 12;
  static constexpr int64_t kBaseNs = 1751410836000000000;

  void begin() {
    add("{{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {{\n      \"id\": 0, \"name\": \"Synthetic\", "
        "\"totalGlobalMem\": 85028765696, \"numSms\": 132\n    }}\n  ],\n  \"distributedInfo\": {{\"backend\": "
        "\"nccl\", "
        "\"rank\": 0, \"world_size\": 8}},\n  \"baseTimeNanoseconds\": {},\n  \"traceEvents\": [\n",
        kBaseNs);
  }

  void end() {
    add("  {{\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", \"tid\": \"\", "
        "\"ts\": "
        "{}\n  }}\n  ],\n  \"traceName\": \"synthetic.json\"\n}}\n",
        us(now_ns_));
    ++events_;
    flush();
  }

  /// Microseconds with three places, as Kineto prints them.
  static std::string us(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() > 1 << 20) flush();
  }

  void flush() {
    file_.write({buffer_.data(), buffer_.size()});
    bytes_ += buffer_.size();
    buffer_.clear();
  }

  template <class... Args>
  void complete(const char* category, const std::string& name, int64_t pid, int64_t tid, int64_t start_ns,
                int64_t dur_ns, fmt::format_string<Args...> args_format, Args&&... args) {
    add("  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, \"tid\": {},\n    \"ts\": {}, "
        "\"dur\": "
        "{},\n    \"args\": {{\n      ",
        category, name, pid, tid, us(start_ns), us(dur_ns));
    fmt::format_to(std::back_inserter(buffer_), args_format, std::forward<Args>(args)...);
    add("\n    }}\n  }},\n");
    ++events_;
  }

  void flow(char phase, int64_t id, int64_t pid, int64_t tid, int64_t at_ns) {
    add("  {{\n    \"ph\": \"{}\", \"id\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {},\n    \"cat\": \"ac2g\", \"name\": "
        "\"ac2g\"{}\n  }},\n",
        phase, id, pid, tid, us(at_ns), phase == 'f' ? ", \"bp\": \"e\"" : "");
    ++events_;
  }

  void step() {
    int64_t begin_ns = now_ns_;
    for (int pass = 0; pass < 2; ++pass) {
      for (int layer = 0; layer < kLayers; ++layer) {
        for (int op = 0; op < kOpsPerLayer; ++op) operation(pass, op);
      }
    }
    complete("user_annotation", fmt::format("ProfilerStep#{}", step_++), kProcess, kProcess, begin_ns,
             now_ns_ - begin_ns, "\"External id\": {}", ++id_);
  }

  /// A Python frame, two nested operators, the launch, its flow and its kernel.
  void operation(int pass, int op) {
    int64_t thread = kProcess + pass;
    int64_t width = 256 << (op % 4);
    int64_t t = now_ns_;
    complete("python_function", fmt::format("site-packages/torch/nn/modules/module.py({}): _call_impl", 1500 + op),
             kProcess, thread, t, 40'000, "\"Python parent id\": {}, \"Python id\": {}, \"Ev Idx\": {}", id_, id_ + 1,
             events_);
    ++id_;
    complete(
        "cpu_op", pass == 0 ? "aten::linear" : "autograd::engine::evaluate_function: AddmmBackward0", kProcess, thread,
        t + 2'000, 30'000,
        "\"External id\": {}, \"Sequence number\": {}, \"Fwd thread id\": {}, \"Record function id\": 0, \"Concrete "
        "Inputs\": [\"\", \"\", \"\"], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\"], "
        "\"Input "
        "Strides\": [[{}, {}, 1], [{}, 1], [1]], \"Input Dims\": [[4, 2048, {}], [{}, {}], [{}]], \"Ev Idx\": {}",
        id_, id_ / 2, pass, 2048 * width, width, width, width, 4 * width, width, 4 * width, events_);
    complete("cpu_op", "aten::addmm", kProcess, thread, t + 4'000, 24'000,
             "\"External id\": {}, \"Record function id\": 0, \"Concrete Inputs\": [\"\", \"\", \"\", \"1\", \"1\"], "
             "\"Input "
             "type\": [\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\", \"Scalar\"], \"Input "
             "Strides\": [[1], "
             "[{}, 1], [1, {}], [], []], \"Input Dims\": [[{}], [8192, {}], [{}, {}], [], []], \"Ev Idx\": {}",
             id_, width, width, 4 * width, width, width, 4 * width, events_);
    complete("cuda_runtime", "cudaLaunchKernel", kProcess, thread, t + 12'000, 6'000,
             "\"External id\": {}, \"cbid\": 211, \"correlation\": {}", id_, id_);
    flow('s', id_, kProcess, thread, t + 12'000);
    bool is_collective = op == kOpsPerLayer - 1;
    int64_t stream = is_collective ? 20 : 7;
    flow('f', id_, 0, stream, t + 20'000);
    if (is_collective) {
      complete(
          "kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 0, stream, t + 20'000,
          35'000,
          "\"External id\": {}, \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": {}, \"correlation\": {}, "
          "\"registers per thread\": 96, \"shared memory\": 82240, \"grid\": [24, 1, 1], \"block\": [544, 1, 1], "
          "\"Collective name\": \"allreduce\", \"In msg nelems\": {}, \"Out msg nelems\": {}, \"Group size\": 8, "
          "\"dtype\": "
          "\"BFloat16\", \"Process Group Name\": \"0\", \"Process Group Ranks\": \"[0, 1, 2, 3, 4, 5, 6, 7]\", "
          "\"Seq\": {}",
          id_, stream, id_, 8192 * width, 8192 * width, id_);
    } else {
      complete(
          "kernel",
          fmt::format("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_{}x128_32x5_tn_align8>"
                      "(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_{}x128_32x5_tn_align8::Params)",
                      64 << (op % 3), 64 << (op % 3)),
          0, stream, t + 20'000, 18'000 + op * 731,
          "\"External id\": {}, \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": {}, \"correlation\": {}, "
          "\"registers per thread\": 230, \"shared memory\": 81920, \"blocks per SM\": {}.0, \"warps per SM\": {}.0, "
          "\"grid\": [{}, 2, 1], \"block\": [128, 1, 1], \"est. achieved occupancy %\": {}",
          id_, stream, id_, op + 1, 4 * op + 4, width, 5 * op);
    }
    now_ns_ += 42'137;
  }

  static constexpr int64_t kProcess = 26835;

  OutputFile file_;
  fmt::memory_buffer buffer_;
  uint64_t bytes_ = 0;
  uint64_t events_ = 0;
  int64_t now_ns_ = 1072861153754097;
  int64_t id_ = 1;
  int64_t step_ = 0;
};

}  // namespace lumos
