// Robust non-linear least squares for a handful of positive constants: Levenberg-Marquardt on their logarithms, with
// weights that make it a sum of absolute errors in the end. Used by calibration; knows nothing of clusters.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace lumos {

/// Fills one residual per observation for the given parameters. Must be deterministic and may be called concurrently.
using ResidualFunction = std::function<void(std::span<const double> parameters, std::span<double> residuals)>;

struct FitProblem {
  ResidualFunction residuals;
  size_t num_residuals = 0;
  std::vector<double> initial;  ///< positive
  std::vector<double> lower;    ///< positive bounds, kept
  std::vector<double> upper;
  std::vector<double>
      prior_weight;  ///< pull of each log parameter to its initial value; decides what the data leave open
};

struct FitResult {
  std::vector<double> parameters;
  double mean_abs_residual = 0;
};

/// Runs until a round gains nothing, at most a fixed number of rounds.
FitResult fit(const FitProblem& problem);

}  // namespace lumos
