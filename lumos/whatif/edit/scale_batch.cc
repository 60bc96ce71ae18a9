#include "lumos/whatif/edit/scale_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lumos/model/cluster/known_gpus.h"
#include "lumos/model/kernels/grown_kernel.h"
#include "lumos/sim/overlap.h"
#include "lumos/trace/table/kernel_family.h"
#include "lumos/whatif/edit/link_speed.h"
#include "lumos/whatif/times/batch_dimension.h"
#include "lumos/whatif/times/kernel_floor.h"
#include "lumos/whatif/times/kernel_shape.h"
#include "lumos/whatif/times/launching_operator.h"

namespace lumos {

namespace {

/// Families whose blocks are tiles of equal, long work.
bool is_tiled(KernelFamily family) {
  return family == KernelFamily::kGemm || family == KernelFamily::kConvolution || family == KernelFamily::kAttention;
}

/// A reduction's blocks are as many as the GPU likes, or as its output: they do not say how much it reads.
bool blocks_tell(KernelFamily family) { return family != KernelFamily::kReduction && family != KernelFamily::kSort; }

/// The product with `factor` times the batch.
ProductShape grown(ProductShape shape, double factor, bool sums) {
  const auto grow = [&](int64_t& extent) {
    extent = std::max<int64_t>(1, std::llround(static_cast<double>(extent) * factor));
  };
  if (auto* gemm = std::get_if<GemmShape>(&shape)) {
    grow(sums ? gemm->k : gemm->batch > 1 ? gemm->batch : gemm->m);
  } else {
    grow(std::get<AttentionShape>(shape).batch);
  }
  return shape;
}

class BatchScaler {
 public:
  BatchScaler(const LinkedJob& job, const BatchScale& scale)
      : job_(job), graph_(job.linked.graph), scale_(scale), out_(graph_.size()) {}

  Result<Retiming> run() {
    for (const RankTasks& rank : graph_.ranks) views_.push_back(std::make_unique<RankView>(graph_, rank));
    for (const auto& view : views_) evidence_.add(view->table, view->nested, view->shapes, view->launches);
    size_ = scale_.batch_size > 0 ? scale_.batch_size : evidence_.batch_size();
    if (size_ <= 0) {
      return fail(ErrorKind::kUsage,
                  "--scale-batch {}: no batch was found in the operators' shapes; record_shapes=True records them, or "
                  "say --batch-size N",
                  scale_.factor);
    }
    for (size_t r = 0; r < graph_.ranks.size(); ++r) scale_rank(r);
    add_notes();
    return std::move(out_);
  }

 private:
  /// What is looked up in a rank's table.
  struct RankView {
    RankView(const ExecGraph& graph, const RankTasks& rank)
        : table(*rank.table), nested(nesting(table)), shapes(table), launched_by(launching_rows(graph, rank)) {
      for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
        const uint32_t row = launched_by[task - rank.first_task];
        if (row != kNoIndex && is_compute_task(graph.kind[task])) launches.push_back({row, graph.duration_ns[task]});
      }
    }

    const EventTable& table;
    const Nesting nested;
    const ShapeTable shapes;
    const std::vector<uint32_t> launched_by;
    std::vector<LaunchWeight> launches;
  };

  void scale_rank(size_t r) {
    const RankTasks& rank = graph_.ranks[r];
    const RankView& view = *views_[r];
    const BatchDimension batch(view.table, view.nested, view.shapes, view.launches, evidence_, size_);
    const KernelFloors floors(graph_, rank);
    floors_ns_ += floors.usual_ns();
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      if (!is_compute_task(graph_.kind[task]) || graph_.event[task] == kNoIndex) continue;
      const uint32_t launch = view.launched_by[task - rank.first_task];
      const auto product = [&] { return product_around(view.table, view.nested, view.shapes, launch); };
      scale_task(view.table, task, batch.use_of(launch), floors, product);
    }
    scale_transfers(r, batch);
  }

  template <class Product>
  void scale_task(const EventTable& table, uint32_t task, BatchUse use, const KernelFloors& floors, Product product) {
    const uint32_t row = graph_.event[task];
    const KernelFamily family = row_family(table, row);
    const int64_t duration_ns = graph_.duration_ns[task];
    if (use == BatchUse::kUnknown) {
      ++unknown_;
      unknown_ns_ += duration_ns;
      // What fills the GPU works on data; what does not would not change anyway. A copy of its own may be anything.
      use = family == KernelFamily::kOptimizer || graph_.kind[task] != TaskKind::kKernel ? BatchUse::kNone
                                                                                         : BatchUse::kHolds;
    }
    if (use == BatchUse::kNone || family == KernelFamily::kOptimizer || duration_ns <= 0) return;
    MeasuredKernel kernel;
    kernel.us = static_cast<double>(duration_ns) / 1e3;
    kernel.in_rounds = is_tiled(family);
    kernel.floor_us = static_cast<double>(kernel.in_rounds ? floors.usual_ns() : floors.of_row(table, row)) / 1e3;
    kernel.full_waves = kernel.in_rounds ? 1 : kSmallWaves;
    const bool tell = graph_.kind[task] == TaskKind::kKernel && blocks_tell(family);
    kernel.waves = tell ? kernel_waves(table, row, kernel.in_rounds) : 0;
    const bool sums = use == BatchUse::kSums && kernel.in_rounds;
    double work = scale_.factor;
    // Where blocks do not tell, as of a crew that shares the tiles, the model of the product does.
    if (kernel.in_rounds && kernel.waves <= 0) work = work_ratio(table, product(), sums);
    out_.touch(task, grown_us(kernel, work, sums ? 1 : scale_.factor) / kernel.us);
  }

  /// By the model without what is fixed; in proportion where shape or GPU are not known.
  double work_ratio(const EventTable& table, const std::optional<ProductShape>& shape, bool sums) const {
    if (!shape || table.info.devices.empty()) return scale_.factor;
    const DeviceProperties& device = table.info.devices.front();
    std::optional<Gpu> gpu = known_gpu(device);
    if (!gpu) return scale_.factor;
    gpu->kernel_floor_us = 0;
    return product_us(grown(*shape, scale_.factor, sums), *gpu) / product_us(*shape, *gpu);
  }

  /// Gradients are as large as before; activations grow. Latency and settling stay.
  void scale_transfers(size_t r, const BatchDimension& batch) {
    const JobMatches& matches = job_.matches;
    if (latency_ns_.empty()) latency_ns_ = transfer_latency_ns(job_);
    for (uint32_t k = matches.rank_begin[r]; k < matches.rank_begin[r + 1]; ++k) {
      const uint32_t task = job_.linked.transfer_task[k];
      if (task == kNoIndex || graph_.duration_ns[task] <= 0) continue;
      const CollectiveDetail* detail = graph_.ranks[r].table->collective_detail(matches.kernels[k].row);
      if (detail == nullptr) continue;
      if (!batch.moves_activations(detail->in_elements) && !batch.moves_activations(detail->out_elements)) continue;
      const int64_t stays_ns = latency_ns_[k] + job_.transfers.settling_of(k);
      const double duration = static_cast<double>(graph_.duration_ns[task]);
      const double fixed = std::min(duration, static_cast<double>(stays_ns));
      out_.touch(task, (fixed + (duration - fixed) * scale_.factor) / duration);
    }
  }

  void add_notes() {
    const double floor_us = static_cast<double>(floors_ns_) / static_cast<double>(graph_.ranks.size()) / 1e3;
    out_.notes.push_back(fmt::format("batch {}{}; of each kernel {:.1f} us are fixed", size_,
                                     scale_.batch_size > 0 ? " as said" : "", floor_us));
    if (unknown_ > 0) {
      out_.notes.push_back(
          fmt::format("{} kernels, {:.3g} ms, have no shapes: those that fill the GPU are taken to "
                      "hold the batch",
                      unknown_, static_cast<double>(unknown_ns_) / 1e6));
    }
  }

  const LinkedJob& job_;
  const ExecGraph& graph_;
  const BatchScale& scale_;
  Retiming out_;
  std::vector<std::unique_ptr<RankView>> views_;
  BatchEvidence evidence_;
  int64_t size_ = 0;
  std::vector<int64_t> latency_ns_;
  int64_t floors_ns_ = 0;
  uint64_t unknown_ = 0;
  int64_t unknown_ns_ = 0;
};

}  // namespace

Result<Retiming> scale_batch(const LinkedJob& job, const BatchScale& scale) { return BatchScaler(job, scale).run(); }

}  // namespace lumos
