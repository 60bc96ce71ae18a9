// A small training trace made by hand, for tests of recovery and lowering: a rank that runs micro-batches forward on
// its main thread and backward on the autograd thread, then an optimizer; every kernel is launched by a call inside of
// an operator, and backward operators carry the numbers of their forwards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

struct TestTraceShape {
  int steps = 2;
  int microbatches = 3;
  int layers = 4;
  bool annotations = true;
  bool sequence_numbers = true;
  bool recompute = false;  ///< every layer is checkpointed
  /// Every layer is a unit of fully sharded data parallelism, what is outside of them another; units are gathered one
  /// ahead in the backward. `recompute` then runs a layer again inside of the first node of its backward.
  bool sharded = false;
  /// Kernels of a layer's forward; products ("gemm" and more than one letter after it) have two kernels backward.
  std::vector<std::string> layer = {"norm", "gemm_a", "attend", "gemm_b"};
  std::vector<std::string> optimizer = {"adam", "adam"};
  int unmarked_step = -1;   ///< that has no ProfilerStep: the one before it runs on
  int evaluated_step = -1;  ///< that ends with a forward of its own
};

class TestTrace {
 public:
  explicit TestTrace(const TestTraceShape& shape) : shape_(shape) {
    table_.lanes.resize(kLanes);
    table_.lanes[0].tid = 100;
    table_.lanes[1].tid = 101;
    for (uint32_t lane = 2; lane < kLanes; ++lane) {
      table_.lanes[lane].is_gpu = true;
      table_.lanes[lane].pid = 0;
      table_.lanes[lane].tid = 7 + 10 * (int64_t{lane} - 2);
    }
    table_.info.rank = 0;
    for (int step = 0; step < shape.steps; ++step) add_step(step);
    table_.names = names_;
  }

  std::shared_ptr<const EventTable> table() const { return std::make_shared<const EventTable>(table_); }

 private:
  uint32_t row(EventKind kind, const std::string& name, uint32_t lane, int64_t ts_ns, int64_t dur_ns) {
    table_.ts_ns.push_back(ts_ns);
    table_.dur_ns.push_back(dur_ns);
    table_.name.push_back(names_->intern(name));
    table_.lane.push_back(lane);
    table_.kind.push_back(kind);
    table_.correlation.push_back(-1);
    table_.external_id.push_back(0);
    table_.detail.push_back(kNoIndex);
    return static_cast<uint32_t>(table_.size() - 1);
  }

  /// An operator with one launch inside, and its kernel right after the previous one.
  void launch(uint32_t thread, const std::string& op, const std::string& kernel, int64_t sequence,
              uint32_t stream = 2) {
    const uint32_t op_row = row(EventKind::kCpuOp, op, thread, host_ns_, 10'000);
    if (sequence >= 0 && shape_.sequence_numbers) {
      OpDetail detail;
      detail.sequence = sequence;
      table_.detail[op_row] = static_cast<uint32_t>(table_.ops.size());
      table_.ops.push_back(detail);
    }
    const uint32_t call = row(EventKind::kRuntime, "cudaLaunchKernel", thread, host_ns_ + 3'000, 4'000);
    gpu_ns_ = std::max(gpu_ns_ + 1'000, host_ns_ + 8'000);
    const uint32_t work = row(EventKind::kKernel, kernel, stream, gpu_ns_, 50'000);
    table_.detail[work] = static_cast<uint32_t>(table_.gpu.size());
    table_.gpu.emplace_back();
    table_.correlation[call] = table_.correlation[work] = ++correlation_;
    gpu_ns_ += 50'000;
    host_ns_ += 12'000;
  }

  void add_step(int step) {
    const int64_t begin_ns = host_ns_;
    const bool marked = shape_.annotations && step != shape_.unmarked_step;
    const uint32_t window =
        marked ? row(EventKind::kAnnotation, "ProfilerStep#" + std::to_string(step), 0, begin_ns, 0) : 0;
    for (int m = 0; m < shape_.microbatches; ++m) {
      if (shape_.sharded) {
        add_sharded_microbatch();
        continue;
      }
      if (shape_.recompute) {
        add_checkpointed_microbatch();
        continue;
      }
      const int64_t first = sequence_;
      launch(0, "aten::embedding", "embedding", sequence_++);
      for (int layer = 0; layer < shape_.layers; ++layer)
        for (const std::string& kernel : shape_.layer) launch(0, "op_" + kernel, kernel, sequence_++);
      launch(0, "aten::loss", "loss", sequence_++);
      for (int64_t s = sequence_ - 1; s >= first; --s) {
        const std::string kernel = backward_name(s - first);
        launch(1, kEngine, kernel, s);
        if (kernel.starts_with("gemm") && kernel.size() > std::string("gemm_a_bwd").size())
          launch(1, kEngine, kernel + "_w", s);
      }
    }
    for (const std::string& kernel : shape_.optimizer) launch(0, "multi_tensor_adam", kernel, -1);
    if (step == shape_.evaluated_step) add_evaluation();
    host_ns_ = std::max(host_ns_, gpu_ns_) + 20'000;
    if (marked) table_.dur_ns[window] = host_ns_ - begin_ns;
    host_ns_ += 1'000;
  }

  /// What a model is judged by: a forward that nothing is differentiated after.
  void add_evaluation() {
    launch(0, "aten::embedding", "embedding", sequence_++);
    for (int layer = 0; layer < shape_.layers; ++layer)
      for (const std::string& kernel : shape_.layer) launch(0, "op_" + kernel, kernel, sequence_++);
    launch(0, "aten::loss", "loss", sequence_++);
  }

  /// An operator around whatever `inside` launches.
  template <class Inside>
  void around(uint32_t thread, const std::string& op, int64_t sequence, const Inside& inside) {
    const uint32_t row_of_op = row(EventKind::kCpuOp, op, thread, host_ns_, 0);
    if (sequence >= 0) {
      OpDetail detail;
      detail.sequence = sequence;
      table_.detail[row_of_op] = static_cast<uint32_t>(table_.ops.size());
      table_.ops.push_back(detail);
    }
    const int64_t begin_ns = host_ns_;
    host_ns_ += 1'000;
    inside();
    table_.dur_ns[row_of_op] = host_ns_ - begin_ns;
    host_ns_ += 1'000;
  }

  /// Forward without numbers inside of each checkpoint; backward runs the forward again, numbered on the autograd
  /// thread, and then its gradients.
  void add_checkpointed_microbatch() {
    constexpr const char* kKernels[] = {"norm", "gemm_a", "attend", "gemm_b"};
    const int64_t first = sequence_;
    launch(0, "aten::embedding", "embedding", sequence_++);
    for (int layer = 0; layer < shape_.layers; ++layer) {
      around(0, "CheckpointFunction", sequence_++, [&] {
        for (const char* kernel : kKernels) launch(0, std::string("op_") + kernel, kernel, -1);
      });
    }
    launch(0, "aten::loss", "loss", sequence_++);
    launch(1, "autograd::engine::evaluate_function: Backward", "loss_bwd", sequence_ - 1);
    for (int layer = shape_.layers - 1; layer >= 0; --layer) {
      const int64_t own = first + 1 + layer;
      around(1, "autograd::engine::evaluate_function: CheckpointFunctionBackward", own, [&] {
        around(1, "CheckpointFunctionBackward", own, [&] {
          const int64_t inner = inner_sequence_;
          for (const char* kernel : kKernels) launch(1, std::string("op_") + kernel, kernel, inner_sequence_++);
          for (int k = 3; k >= 0; --k)
            launch(1, "autograd::engine::evaluate_function: Backward", std::string(kKernels[k]) + "_bwd", inner + k);
        });
      });
    }
    launch(1, "autograd::engine::evaluate_function: Backward", "embedding_bwd", first);
  }

  void gather(uint32_t thread) {
    launch(thread, "aten::_foreach_copy_", "copy_in", -1, 3);
    launch(thread, "fsdp::all_gather_copy_in", "copy_in", -1, 3);
    launch(thread, "c10d::_allgather_base_", "ncclDevKernel_AllGather_RING_LL", -1, 4);
  }

  void copy_out(uint32_t thread) { launch(thread, "fsdp::split_with_sizes_copy", "copy_out", -1); }

  void reduce(uint32_t thread) {
    launch(thread, "fsdp::chunk_cat", "chunk_cat", -1);
    launch(thread, "c10d::_reduce_scatter_base_", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", -1, 5);
  }

  /// Hooks of the autograd engine run outside of its nodes.
  void add_sharded_microbatch() {
    gather(0);
    copy_out(0);
    const int64_t first = sequence_;
    launch(0, "aten::embedding", "embedding", sequence_++);
    for (int layer = 0; layer < shape_.layers; ++layer) {
      gather(0);
      copy_out(0);
      for (const std::string& kernel : shape_.layer) launch(0, "op_" + kernel, kernel, sequence_++);
    }
    launch(0, "aten::loss", "loss", sequence_++);
    launch(1, kEngine, "loss_bwd", sequence_ - 1);
    gather(1);
    const auto size = static_cast<int64_t>(shape_.layer.size());
    for (int layer = shape_.layers - 1; layer >= 0; --layer) {
      copy_out(1);
      if (layer > 0) gather(1);
      for (int64_t k = size - 1; k >= 0; --k) {
        const int64_t own = first + 1 + layer * size + k;
        around(1, kEngine, own, [&] {
          around(1, "NodeOfNoName", own, [&] {
            for (size_t again = 0; shape_.recompute && k == size - 1 && again < shape_.layer.size(); ++again)
              launch(1, "op_" + shape_.layer[again], shape_.layer[again], inner_sequence_++);
            launch(1, "aten::op", shape_.layer[static_cast<size_t>(k)] + "_bwd", -1);
          });
        });
      }
      reduce(1);
    }
    launch(1, kEngine, "embedding_bwd", first);
    reduce(1);
  }

  std::string backward_name(int64_t index) const {
    if (index == 0) return "embedding_bwd";
    const auto size = static_cast<int64_t>(shape_.layer.size());
    if (index == size * shape_.layers + 1) return "loss_bwd";
    return shape_.layer[static_cast<size_t>((index - 1) % size)] + "_bwd";
  }

  static constexpr uint32_t kLanes = 6;
  static constexpr const char* kEngine = "autograd::engine::evaluate_function: Backward";

  TestTraceShape shape_;
  EventTable table_;
  std::shared_ptr<NamePool> names_ = std::make_shared<NamePool>();
  int64_t host_ns_ = 1'000'000;
  int64_t gpu_ns_ = 0;
  int64_t correlation_ = 0;
  int64_t sequence_ = 10;
  int64_t inner_sequence_ = 10;  ///< of the autograd thread, which counts for itself
};

}  // namespace lumos
