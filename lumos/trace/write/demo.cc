#include "lumos/trace/write/demo.h"

#include <fmt/format.h>

#include "lumos/trace/write/demo_machine.h"

namespace lumos {

namespace {

using Thread = DemoMachine::Thread;
using Stream = DemoMachine::Stream;
using Kernel = DemoMachine::Kernel;

// The network: blocks of a layer norm, a square linear layer and a GELU; bf16, 4096 wide, 2048 tokens a step.
constexpr int kLayers = 6;
constexpr int kLayersPerBucket = 2;  // gradients are reduced two layers at a time
constexpr int64_t kWidth = 4096;
constexpr int64_t kTokens = 2048;
constexpr int64_t kBucketElements = kLayersPerBucket * kWidth * kWidth;
constexpr int kFirstStep = 3;  // a profiler's schedule skips the first steps

// Durations of a GPU of about 300 TFLOP/s and 2 TB/s with a 150 GB/s link to the other rank.
constexpr int64_t kGemmNs = 232'000;
constexpr int64_t kGeluNs = 21'000;
constexpr int64_t kNormNs = 18'500;
constexpr int64_t kLossNs = 9'000;
constexpr int64_t kAllReduceNs = 30'000 + kBucketElements * 2 / 150;
constexpr int64_t kOptimizerNs = 150'000;
constexpr int64_t kZeroNs = 12'000;

// Times that PyTorch's own code takes on the host around the CUDA calls.
constexpr int64_t kOperatorNs = 9'000;
constexpr int64_t kPythonNs = 14'000;
constexpr int64_t kLoaderNs = 160'000;

/// The training loop, written against the emulated machine.
class Training {
 public:
  explicit Training(DemoMachine& machine) : machine_(machine) {}

  void step(int number) {
    machine_.open(Thread::kMain, "user_annotation", fmt::format("ProfilerStep#{}", number));
    load_batch();
    forward();
    backward();
    optimizer();
    read_loss();
    machine_.close(Thread::kMain);
  }

 private:
  /// An operator that launches one kernel on the compute stream.
  void op(Thread thread, std::string_view name, const Kernel& kernel, std::string args = "") {
    machine_.open(thread, "cpu_op", name, std::move(args));
    machine_.work(thread, kOperatorNs);
    machine_.launch(thread, Stream::kCompute, kernel);
    machine_.work(thread, kOperatorNs / 3);
    machine_.close(thread);
  }

  static std::string shapes(int64_t rows, int64_t columns, int64_t sequence) {
    return fmt::format(
        R"("Sequence number":{},"Fwd thread id":0,"Input Dims":[[{},{}]],"Input type":["c10::BFloat16"])", sequence,
        rows, columns);
  }
  static std::string backward_of(int64_t sequence) {
    return fmt::format(R"("Sequence number":{},"Fwd thread id":1)", sequence);
  }

  static Kernel gemm(std::string_view layout) {
    return {fmt::format("ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_{}", layout), kGemmNs,
            static_cast<int32_t>(kTokens / 128 * kWidth / 256), 256, ""};
  }
  static Kernel elementwise(std::string_view what, int64_t duration_ns) {
    return {fmt::format("void at::native::vectorized_elementwise_kernel<4, {}>(int, {}, std::array<char*, 2ul>)", what,
                        what),
            duration_ns, static_cast<int32_t>(kTokens * kWidth / 512), 128, ""};
  }

  void load_batch() {
    machine_.open(Thread::kMain, "user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
    machine_.work(Thread::kMain, kLoaderNs);
    machine_.close(Thread::kMain);
    machine_.open(Thread::kMain, "cpu_op", "aten::to");
    machine_.open(Thread::kMain, "cpu_op", "aten::_to_copy");
    machine_.open(Thread::kMain, "cpu_op", "aten::copy_");
    machine_.work(Thread::kMain, kOperatorNs);
    machine_.copy(Thread::kMain, Stream::kCompute, DemoMachine::Copy::kHostToDevice, kTokens * 128);
    for (int depth = 0; depth < 3; ++depth) machine_.close(Thread::kMain);
    machine_.work(Thread::kMain, kPythonNs);
  }

  void forward() {
    for (int layer = 0; layer < kLayers; ++layer) {
      forward_op("aten::layer_norm",
                 {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16>", kNormNs,
                  static_cast<int32_t>(kTokens), 128, ""});
      forward_op("aten::linear", gemm("tn"));
      forward_op("aten::gelu", elementwise("at::native::GeluCUDAKernelImpl", kGeluNs));
    }
    forward_op("aten::cross_entropy_loss", elementwise("at::native::nll_loss_forward", kLossNs));
  }

  void forward_op(std::string_view name, const Kernel& kernel) {
    const int64_t sequence = next_sequence_++;
    machine_.open(Thread::kMain, "cpu_op", name, shapes(kTokens, kWidth, sequence));
    machine_.flow(Thread::kMain, sequence, true);
    machine_.work(Thread::kMain, kOperatorNs / 3);
    op(Thread::kMain, fmt::format("{}_", name), kernel);
    machine_.close(Thread::kMain);
    machine_.work(Thread::kMain, kPythonNs);
  }

  /// loss.backward(): the main thread sleeps while the autograd thread walks the graph back.
  void backward() {
    machine_.hand_over(Thread::kMain, Thread::kAutograd);
    int64_t sequence = next_sequence_ - 1;
    backward_op("NllLossBackward0", sequence--, {elementwise("at::native::nll_loss_backward", kLossNs)});
    for (int layer = kLayers - 1; layer >= 0; --layer) {
      backward_op("GeluBackward0", sequence--, {elementwise("at::native::GeluBackwardCUDAKernelImpl", 2 * kGeluNs)});
      backward_op("AddmmBackward0", sequence--, {gemm("nn"), gemm("nt")});
      backward_op("NativeLayerNormBackward0", sequence--,
                  {{"void at::native::(anonymous namespace)::layer_norm_grad_input_kernel<c10::BFloat16>", 2 * kNormNs,
                    static_cast<int32_t>(kTokens), 128, ""}});
      if (layer % kLayersPerBucket == 0) all_reduce();
    }
    machine_.wait(Thread::kAutograd, Stream::kCompute, last_reduction_);
    machine_.work(Thread::kAutograd, kOperatorNs);
    machine_.hand_over(Thread::kAutograd, Thread::kMain);
    machine_.work(Thread::kMain, kPythonNs);
  }

  void backward_op(std::string_view name, int64_t sequence, const std::vector<Kernel>& kernels) {
    machine_.open(Thread::kAutograd, "cpu_op", fmt::format("autograd::engine::evaluate_function: {}", name),
                  backward_of(sequence));
    machine_.work(Thread::kAutograd, kOperatorNs / 3);
    machine_.open(Thread::kAutograd, "cpu_op", name, backward_of(sequence));
    machine_.flow(Thread::kAutograd, sequence, false);
    for (const Kernel& kernel : kernels)
      op(Thread::kAutograd, kernels.size() > 1 ? "aten::mm" : "aten::backward", kernel);
    machine_.close(Thread::kAutograd);
    machine_.work(Thread::kAutograd, kOperatorNs / 3);
    machine_.close(Thread::kAutograd);
  }

  /// PyTorch's NCCL pattern: record on the compute stream, wait and launch on NCCL's, record there for a later wait.
  void all_reduce() {
    const std::string metadata = fmt::format(
        R"("Collective name":"allreduce","dtype":"BFloat16","In msg nelems":{0},"Out msg nelems":{0},"Group size":2,)"
        R"("In split size":"[]","Out split size":"[]","Process Group Name":"0",)"
        R"("Process Group Description":"default_pg","Process Group Ranks":"[0, 1]","Seq":{1})",
        kBucketElements, next_collective_++);
    machine_.open(Thread::kAutograd, "cpu_op", "c10d::allreduce_");
    machine_.open(Thread::kAutograd, "cpu_op", "record_param_comms", metadata);
    machine_.open(Thread::kAutograd, "user_annotation", "nccl:all_reduce");
    machine_.work(Thread::kAutograd, kOperatorNs);
    machine_.wait(Thread::kAutograd, Stream::kCommunication, machine_.record(Thread::kAutograd, Stream::kCompute));
    machine_.launch(Thread::kAutograd, Stream::kCommunication,
                    {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", kAllReduceNs,
                     24, 512, metadata});
    last_reduction_ = machine_.record(Thread::kAutograd, Stream::kCommunication);
    machine_.work(Thread::kAutograd, kOperatorNs / 2);
    for (int depth = 0; depth < 3; ++depth) machine_.close(Thread::kAutograd);
  }

  void optimizer() {
    machine_.open(Thread::kMain, "user_annotation", "Optimizer.step#AdamW.step");
    machine_.work(Thread::kMain, kPythonNs);
    for (int bucket = 0; bucket < kLayers / kLayersPerBucket; ++bucket) {
      op(Thread::kMain, "aten::_fused_adamw_",
         {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::FusedAdamMathFunctor<float>>",
          kOptimizerNs, 320, 512, ""});
      machine_.work(Thread::kMain, kPythonNs);
    }
    machine_.close(Thread::kMain);
    machine_.open(Thread::kMain, "user_annotation", "Optimizer.zero_grad#AdamW.zero_grad");
    for (int bucket = 0; bucket < kLayers / kLayersPerBucket; ++bucket) {
      op(Thread::kMain, "aten::zero_", elementwise("at::native::FillFunctor<c10::BFloat16>", kZeroNs));
    }
    machine_.close(Thread::kMain);
  }

  /// loss.item(): the host waits for the GPU once a step.
  void read_loss() {
    machine_.open(Thread::kMain, "cpu_op", "aten::item");
    machine_.open(Thread::kMain, "cpu_op", "aten::_local_scalar_dense");
    machine_.work(Thread::kMain, kOperatorNs);
    machine_.copy(Thread::kMain, Stream::kCompute, DemoMachine::Copy::kDeviceToHost, 4);
    machine_.synchronize_stream(Thread::kMain, Stream::kCompute);
    machine_.work(Thread::kMain, kOperatorNs);
    machine_.close(Thread::kMain);
    machine_.close(Thread::kMain);
    machine_.work(Thread::kMain, kPythonNs);
  }

  DemoMachine& machine_;
  int64_t next_sequence_ = 1000;
  int64_t next_collective_ = 1;
  uint32_t last_reduction_ = 0;
};

void write_header(JsonWriter& json) {
  json.member("schemaVersion", 1);
  json.key("deviceProperties").begin_array();
  json.begin_object(JsonWriter::Layout::kInline);
  json.member("id", 0).member("name", "Lumos demo GPU").member("totalGlobalMem", int64_t{85'899'345'920});
  json.member("computeMajor", 8).member("computeMinor", 0).member("maxThreadsPerBlock", 1024);
  json.member("maxThreadsPerMultiprocessor", 2048).member("regsPerBlock", 65536).member("warpSize", 32);
  json.member("sharedMemPerBlock", 49152).member("numSms", 108).member("regsPerMultiprocessor", 65536);
  json.member("sharedMemPerMultiprocessor", 167936).end_object().end_array();
  json.key("distributedInfo").begin_object(JsonWriter::Layout::kInline);
  json.member("backend", "nccl").member("rank", 0).member("world_size", 2).member("pg_count", 1);
  json.key("pg_config").begin_array().begin_object();
  json.member("pg_name", "0").member("pg_desc", "default_pg").member("backend_config", "cuda:nccl");
  json.member("pg_size", 2).key("ranks").begin_array().value(0).value(1).end_array().end_object().end_array();
  json.member("nccl_version", "2.21.5").end_object();
  json.member("record_shapes", 1).member("displayTimeUnit", "ms");
  json.member("baseTimeNanoseconds", int64_t{1'700'000'000'000'000'000});
}

}  // namespace

std::string demo_trace(const DemoOptions& options) {
  DemoMachine machine(options.sync_events);
  machine.work(Thread::kMain, kPythonNs);
  Training training(machine);
  for (int step = 0; step < options.steps; ++step) training.step(kFirstStep + step);
  machine.synchronize_device(Thread::kMain);  // as the profiler does when it stops

  JsonWriter json(JsonWriter::Style::kPretty);
  json.begin_object();
  write_header(json);
  json.key("traceEvents").begin_array();
  machine.write_events(json);
  json.end_array().member("traceName", "demo.json").end_object();
  return json.text() + "\n";
}

}  // namespace lumos
