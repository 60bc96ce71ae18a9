// Fits the few constants of a cluster to measured step times or measured collectives. Rows differ in many ways,
// constants are at most twelve, and each comes out with the error the fit leaves and the error on families that it has
// not seen.
#pragma once

#include <string>
#include <vector>

#include "lumos/model/cluster/cluster.h"
#include "lumos/model/job/measured_runs.h"

namespace lumos {

/// At most this many constants are fitted, whatever there is to choose from: more would learn rows, not machines.
inline constexpr size_t kMaxFittedConstants = 12;

struct FittedConstant {
  std::string name;  ///< ClusterField::name
  double before = 0;
  double after = 0;
};

/// Mean and worst absolute error in percent of the measured value.
struct ErrorSummary {
  double mean_pct = 0;
  double worst_pct = 0;
  double bias_pct = 0;  ///< mean signed error
  size_t rows = 0;
};

/// One family left out of the fit and predicted by it.
struct LeftOut {
  std::string family;
  ErrorSummary error;
};

struct Calibration {
  Cluster cluster;
  std::vector<FittedConstant> constants;
  std::vector<double> errors_pct;  ///< signed, by row, in sample
  ErrorSummary in_sample;
  std::vector<LeftOut> left_out;
  ErrorSummary left_out_total;  ///< over all rows, each predicted without its family
};

/// The constants that step times of these runs depend on, in the order of cluster files; fabric constants only when a
/// run leaves a node.
std::vector<std::string> constants_of_runs(const std::vector<MeasuredRun>& runs, const Cluster& cluster);

/// Fits `constants` (empty: constants_of_runs) on runs with a step time. With `family`, a job field's name, the runs of
/// each of its values are left out in turn. Errors: no rows, an unknown constant, too many of them.
Result<Calibration> calibrate_runs(const Cluster& cluster, const std::vector<MeasuredRun>& runs,
                                   std::vector<std::string> constants, const std::string& family);

/// Fits the collective constants of the node on collectives of at least `least_bytes`; families are GPU counts.
Result<Calibration> calibrate_collectives(const Cluster& cluster, const std::vector<MeasuredCollective>& collectives,
                                          double least_bytes);

/// Errors of predictions against measurements.
ErrorSummary summarise(const std::vector<double>& errors_pct);

}  // namespace lumos
