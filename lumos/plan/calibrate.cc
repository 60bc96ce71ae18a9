#include "lumos/plan/calibrate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "lumos/base/parallel.h"
#include "lumos/model/job/job_fields.h"
#include "lumos/plan/estimate.h"
#include "lumos/plan/least_squares.h"

namespace lumos {
namespace {

/// How strongly a constant is held to the cluster file: a factor of 1.2 off a data sheet costs as much as 1 % on one
/// row, a factor of e off an overhead as much as 10 %.
constexpr double kDataSheetWeight = 0.3;
constexpr double kOverheadWeight = 0.1;

/// What is fitted, without saying whether rows are steps or collectives.
struct Observations {
  std::vector<double> measured;
  std::vector<std::string> family;
  std::function<double(size_t row, const Cluster& cluster)> predict;
};

using Rows = std::vector<size_t>;

Cluster with_constants(const Cluster& cluster, const std::vector<std::string>& names, std::span<const double> values) {
  Cluster changed = cluster;
  for (size_t i = 0; i < names.size(); ++i) find_cluster_field(names[i])->real(changed) = values[i];
  return changed;
}

/// A constant that the file sets to nothing cannot be scaled; it starts from one microsecond.
double start_value(const Cluster& cluster, const std::string& name) {
  Cluster copy = cluster;
  const double value = find_cluster_field(name)->real(copy);
  return value > 0 ? value : 1.0;
}

/// What a constant can be on any machine: no kernel passes the peak, no link exceeds its data sheet by much, no
/// overhead is ten times what others see. A fit that wants more is missing a term, and should not hide it in a
/// constant.
std::pair<double, double> bounds(const std::string& name, double start) {
  if (name.ends_with("_fraction")) return {0.1, 0.95};
  if (name.ends_with("gb_per_s")) return {start / 4, start * 1.1};
  return {start / 10, start * 10};
}

/// What a fraction or a bandwidth can be is known from data sheets and other machines; a latency or an overhead is
/// known to its order. Few rows leave much open, and what they leave open decides how rows unlike them are predicted.
double prior_weight(const std::string& name) {
  return name.ends_with("_fraction") || name.ends_with("gb_per_s") ? kDataSheetWeight : kOverheadWeight;
}

Cluster fit_rows(const Cluster& cluster, const std::vector<std::string>& names, const Observations& data,
                 const Rows& rows) {
  FitProblem problem;
  problem.num_residuals = rows.size();
  problem.residuals = [&](std::span<const double> values, std::span<double> residuals) {
    const Cluster candidate = with_constants(cluster, names, values);
    for (size_t i = 0; i < rows.size(); ++i) {
      residuals[i] = std::log(data.predict(rows[i], candidate) / data.measured[rows[i]]);
    }
  };
  for (const std::string& name : names) {
    const double start = start_value(cluster, name);
    const auto [lower, upper] = bounds(name, start);
    problem.initial.push_back(start);
    problem.lower.push_back(lower);
    problem.upper.push_back(upper);
    problem.prior_weight.push_back(prior_weight(name));
  }
  return with_constants(cluster, names, fit(problem).parameters);
}

double error_pct(const Observations& data, size_t row, const Cluster& cluster) {
  return 100 * (data.predict(row, cluster) / data.measured[row] - 1);
}

/// Errors of each family's rows under a fit on all others.
std::vector<LeftOut> leave_out(const Cluster& cluster, const std::vector<std::string>& names, const Observations& data,
                               std::vector<double>& all_errors) {
  std::map<std::string, Rows> families;
  for (size_t row = 0; row < data.measured.size(); ++row) families[data.family[row]].push_back(row);
  std::vector<LeftOut> result;
  if (families.size() < 2) return result;
  for (const auto& [family, members] : families) {
    Rows others;
    for (size_t row = 0; row < data.measured.size(); ++row) {
      if (data.family[row] != family) others.push_back(row);
    }
    const Cluster fitted = fit_rows(cluster, names, data, others);
    std::vector<double> errors;
    for (size_t row : members) errors.push_back(error_pct(data, row, fitted));
    all_errors.insert(all_errors.end(), errors.begin(), errors.end());
    result.push_back({family, summarise(errors)});
  }
  return result;
}

Status check_constants(const std::vector<std::string>& names) {
  if (names.size() > kMaxFittedConstants) {
    return fail(ErrorKind::kUsage, "{} constants to fit, at most {} are allowed", names.size(), kMaxFittedConstants);
  }
  for (const std::string& name : names) {
    const ClusterField* field = find_cluster_field(name);
    if (field == nullptr || !field->constant)
      return fail(ErrorKind::kUsage, "'{}' is not a constant of a cluster", name);
  }
  return {};
}

Result<Calibration> calibrate(const Cluster& cluster, const std::vector<std::string>& names, const Observations& data) {
  TRY_STATUS(check_constants(names));
  if (data.measured.empty()) return fail(ErrorKind::kUsage, "nothing measured to fit: no row has a time");
  Rows rows(data.measured.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  Calibration result;
  result.cluster = fit_rows(cluster, names, data, rows);
  Cluster before = cluster;
  for (const std::string& name : names) {
    const ClusterField& field = *find_cluster_field(name);
    result.constants.push_back({name, field.real(before), field.real(result.cluster)});
  }
  for (size_t row : rows) result.errors_pct.push_back(error_pct(data, row, result.cluster));
  result.in_sample = summarise(result.errors_pct);
  std::vector<double> left_out_errors;
  result.left_out = leave_out(cluster, names, data, left_out_errors);
  result.left_out_total = summarise(left_out_errors);
  return result;
}

bool leaves_node(const MeasuredRun& run, const Cluster& cluster) { return run.job.world_size > cluster.gpus_per_node; }

}  // namespace

ErrorSummary summarise(const std::vector<double>& errors_pct) {
  ErrorSummary summary;
  summary.rows = errors_pct.size();
  for (double error : errors_pct) {
    summary.mean_pct += std::abs(error) / static_cast<double>(errors_pct.size());
    summary.bias_pct += error / static_cast<double>(errors_pct.size());
    summary.worst_pct = std::max(summary.worst_pct, std::abs(error));
  }
  return summary;
}

std::vector<std::string> constants_of_runs(const std::vector<MeasuredRun>& runs, const Cluster& cluster) {
  const auto any = [&](const std::function<bool(const MeasuredRun&)>& holds) {
    return std::any_of(runs.begin(), runs.end(), holds);
  };
  const bool across = any([&](const MeasuredRun& run) { return leaves_node(run, cluster); });
  const bool tensor = any([](const MeasuredRun& run) { return run.job.tensor_model_parallel_size > 1; });
  const bool fused = any([](const MeasuredRun& run) { return run.job.use_flash_attn; });
  // Eight 16-bit elements are the 16 bytes that wide loads want.
  const bool unaligned = any(
      [](const MeasuredRun& run) { return padded_vocab_size(run.job) / run.job.tensor_model_parallel_size % 8 != 0; });
  std::vector<std::string> names;
  if (tensor) names.push_back("arrival_spread_us");
  names.insert(names.end(), {"gpu.gemm_peak_fraction", "gpu.gemm_tile_start_us"});
  if (unaligned) names.push_back("gpu.gemm_unaligned_fraction");
  if (fused) names.push_back("gpu.attention_peak_fraction");
  names.insert(names.end(), {"gpu.memory_peak_fraction", "gpu.kernel_floor_us", "host.launch_us", "host.step_us"});
  if (tensor) names.insert(names.end(), {"node.gb_per_s", "node.latency_us"});
  if (across) names.insert(names.end(), {"fabric.gb_per_s", "fabric.latency_us"});
  if (names.size() > kMaxFittedConstants) std::erase(names, "node.latency_us");
  return names;
}

Result<Calibration> calibrate_runs(const Cluster& cluster, const std::vector<MeasuredRun>& runs,
                                   std::vector<std::string> constants, const std::string& family) {
  Observations data;
  const JobField* field = family.empty() ? nullptr : find_job_field(family);
  if (!family.empty() && field == nullptr)
    return fail(ErrorKind::kUsage, "'{}' is not a job field to leave out by", family);
  std::vector<MeasuredRun> timed;
  for (const MeasuredRun& run : runs) {
    if (!run.step_ms) continue;
    TRY(estimate(run.job, cluster));  // a run that the cluster cannot hold is refused before fitting
    timed.push_back(run);
    data.measured.push_back(*run.step_ms);
    data.family.push_back(field != nullptr ? job_field_text(run.job, *field) : "");
  }
  if (constants.empty()) constants = constants_of_runs(timed, cluster);
  data.predict = [&timed](size_t row, const Cluster& candidate) {
    const auto result = estimate(timed[row].job, candidate);
    CHECK(result.has_value());
    return result->step_ms;
  };
  return calibrate(cluster, constants, data);
}

Result<Calibration> calibrate_collectives(const Cluster& cluster, const std::vector<MeasuredCollective>& collectives,
                                          double least_bytes) {
  Observations data;
  std::vector<MeasuredCollective> used;
  for (const MeasuredCollective& row : collectives) {
    if (row.size_bytes < least_bytes) continue;
    if (row.num_gpus > cluster.gpus_per_node) {
      return fail(ErrorKind::kUsage, "a collective of {} GPUs does not fit a node of {}", row.num_gpus,
                  cluster.gpus_per_node);
    }
    used.push_back(row);
    data.measured.push_back(row.time_us);
    data.family.push_back(fmt::format("{} GPUs", row.num_gpus));
  }
  data.predict = [&used](size_t row, const Cluster& candidate) {
    const MeasuredCollective& seen = used[row];
    return collective_us({CollectiveKind::kAllReduce, seen.size_bytes, {seen.num_gpus, seen.num_gpus}}, candidate);
  };
  return calibrate(cluster,
                   {"reduce_gb_per_s", "node.gb_per_s", "node.latency_us", "node.low_latency_us",
                    "node.low_latency_fraction", "node.hop_us"},
                   data);
}

}  // namespace lumos
