#include "lumos/whatif/times/other_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "lumos/model/cluster/known_gpus.h"
#include "lumos/model/kernels/collective.h"
#include "lumos/sim/overlap.h"
#include "lumos/trace/table/kernel_family.h"
#include "lumos/whatif/times/group_members.h"
#include "lumos/whatif/times/kernel_floor.h"
#include "lumos/whatif/times/kernel_shape.h"
#include "lumos/whatif/times/launching_operator.h"

namespace lumos {

namespace {

/// Families whose time is arithmetic on the matrix units, once they are long.
bool is_matrix(KernelFamily family) {
  return family == KernelFamily::kGemm || family == KernelFamily::kConvolution || family == KernelFamily::kAttention;
}

double memory_rate(const Gpu& gpu) { return gpu.memory_gb_per_s * gpu.memory_peak_fraction; }

double matrix_rate(const Gpu& gpu, KernelFamily family) {
  return gpu.matrix_tflops *
         (family == KernelFamily::kAttention ? gpu.attention_peak_fraction : gpu.gemm_peak_fraction);
}

/// Ratios of one family: what people see of the spread.
struct FamilyRatios {
  double before_ms = 0, after_ms = 0;
  double least = 0, most = 0;

  void add(double ms, double ratio) {
    least = before_ms > 0 ? std::min(least, ratio) : ratio;
    most = std::max(most, ratio);
    before_ms += ms;
    after_ms += ms * ratio;
  }
};

class ClusterChange {
 public:
  ClusterChange(const LinkedJob& job, const Cluster* from, const Cluster& to)
      : job_(job), graph_(job.linked.graph), from_(from), to_(to), out_(graph_.size()) {}

  Result<Retiming> run() {
    for (const RankTasks& rank : graph_.ranks) TRY_STATUS(change_rank(rank));
    change_transfers();
    add_notes();
    return std::move(out_);
  }

 private:
  Result<Gpu> gpu_of(const EventTable& table) const {
    if (from_ != nullptr) return from_->gpu;
    const DeviceProperties device = table.info.devices.empty() ? DeviceProperties{} : table.info.devices.front();
    if (const std::optional<Gpu> known = known_gpu(device)) {
      // The same model as in the file is the GPU of the file.
      const std::optional<Gpu> target = known_gpu(to_.gpu.name);
      if (target && target->name == known->name) return to_.gpu;
      return *known;
    }
    return fail(
        ErrorKind::kUsage, "--cluster: the traced GPU is {}; describe it with --from-cluster FILE",
        device.name.empty() ? "not named in the trace" : fmt::format("called '{}', which is not known", device.name));
  }

  Status change_rank(const RankTasks& rank) {
    const EventTable& table = *rank.table;
    const Gpu from = TRY(gpu_of(table));
    source_ = from.name;
    const Nesting nested = nesting(table);
    const ShapeTable shapes(table);
    const std::vector<uint32_t> launched_by = launching_rows(graph_, rank);
    const KernelFloors floors(graph_, rank);
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      if (!is_compute_task(graph_.kind[task]) || graph_.event[task] == kNoIndex) continue;
      if (graph_.duration_ns[task] <= 0) continue;
      const KernelFamily family = row_family(table, graph_.event[task]);
      std::optional<ProductShape> product;
      if (is_matrix(family)) product = product_around(table, nested, shapes, launched_by[task - rank.first_task]);
      const double ratio =
          product ? product_us(*product, to_.gpu) / product_us(*product, from)
                  : rate_ratio(graph_.duration_ns[task], floors.of_row(table, graph_.event[task]), family, from);
      out_.touch(task, ratio);
      families_[family].add(static_cast<double>(graph_.duration_ns[task]) / 1e6, ratio);
    }
    return {};
  }

  /// What an empty kernel takes goes with what it takes there; the rest with the rate that limits the family.
  double rate_ratio(int64_t duration_ns, int64_t floor_ns, KernelFamily family, const Gpu& from) const {
    const double whole = static_cast<double>(duration_ns);
    const double fixed = static_cast<double>(std::min(duration_ns, floor_ns));
    const double floors = from.kernel_floor_us > 0 ? to_.gpu.kernel_floor_us / from.kernel_floor_us : 1;
    const double rates = is_matrix(family) ? matrix_rate(from, family) / matrix_rate(to_.gpu, family)
                                           : memory_rate(from) / memory_rate(to_.gpu);
    return (fixed * floors + (whole - fixed) * rates) / whole;
  }

  void change_transfers() {
    const JobMatches& matches = job_.matches;
    for (uint32_t k = 0; k < matches.kernels.size(); ++k) {
      const CommKernel& kernel = matches.kernels[k];
      const uint32_t task = job_.linked.transfer_task[k];
      if (task == kNoIndex || kernel.group == kNoIndex || kernel.bytes <= 0) continue;
      if (from_ == nullptr) {
        ++transfers_kept_;
        continue;
      }
      const double before_us = transfer_us(kernel, *from_), after_us = transfer_us(kernel, to_);
      if (before_us <= 0 || after_us <= 0 || graph_.duration_ns[task] <= 0) continue;
      const double whole = static_cast<double>(graph_.duration_ns[task]);
      const double settling = std::min(whole, static_cast<double>(job_.transfers.settling_of(k)));
      const double ratio = (settling + (whole - settling) * after_us / before_us) / whole;
      out_.touch(task, ratio);
      families_[KernelFamily::kCommunication].add(whole / 1e6, ratio);
    }
  }

  double transfer_us(const CommKernel& kernel, const Cluster& cluster) const {
    const GroupShape group = transfer_shape(job_, kernel, cluster.gpus_per_node);
    return collective_us({kernel.kind, static_cast<double>(kernel.bytes), group}, cluster);
  }

  void add_notes() {
    out_.notes.push_back(fmt::format("from {} to {}", source_, to_.gpu.name));
    for (const auto& [family, ratios] : families_) {
      out_.notes.push_back(fmt::format("{}: x{:.2f} in the mean, from x{:.2f} to x{:.2f}", family_name(family),
                                       ratios.after_ms / ratios.before_ms, ratios.least, ratios.most));
    }
    if (transfers_kept_ > 0) {
      out_.notes.push_back(fmt::format(
          "{} transfers stay as they are: --from-cluster FILE tells the network they ran on", transfers_kept_));
    }
  }

  const LinkedJob& job_;
  const ExecGraph& graph_;
  const Cluster* from_;
  const Cluster& to_;
  Retiming out_;
  std::string source_;
  std::map<KernelFamily, FamilyRatios> families_;
  uint64_t transfers_kept_ = 0;
};

}  // namespace

Result<Retiming> on_other_cluster(const LinkedJob& job, const Cluster* from, const Cluster& to) {
  return ClusterChange(job, from, to).run();
}

}  // namespace lumos
