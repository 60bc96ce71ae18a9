#include "lumos/plan/least_squares.h"

#include <algorithm>
#include <cmath>

#include "lumos/base/parallel.h"
#include "lumos/base/result.h"

namespace lumos {
namespace {

constexpr int kMaxRounds = 60;
constexpr double kLogStep = 0.02;  // of the numerical derivative: wide, for the models have corners (floors, waves)
constexpr double kAbsoluteFrom = 0.02;  // residuals beyond this count by magnitude, smaller ones squared
constexpr double kAxisSteps[] = {0.5, 0.2, 0.08, 0.03, 0.01};
constexpr double kWideSteps[] = {-2.2, -1.1, -0.5, 0.5, 1.1, 1.7, 2.2};  // up to a factor of nine
constexpr double kGainWorthAWideStep = 0.01;
constexpr double kGainWorthARound = 1e-5;

double robust_cost(std::span<const double> residuals) {
  double cost = 0;
  for (double r : residuals) {
    const double a = std::abs(r);
    cost += a < kAbsoluteFrom ? 0.5 * a * a / kAbsoluteFrom : a - 0.5 * kAbsoluteFrom;
  }
  return cost;
}

/// Solves A x = b for a small symmetric positive matrix by Gaussian elimination with pivoting.
std::vector<double> solve(std::vector<std::vector<double>> a, std::vector<double> b) {
  const size_t n = b.size();
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < n; ++row) {
      if (std::abs(a[row][column]) > std::abs(a[pivot][column])) pivot = row;
    }
    std::swap(a[column], a[pivot]);
    std::swap(b[column], b[pivot]);
    if (a[column][column] == 0) continue;
    for (size_t row = column + 1; row < n; ++row) {
      const double factor = a[row][column] / a[column][column];
      for (size_t k = column; k < n; ++k) a[row][k] -= factor * a[column][k];
      b[row] -= factor * b[column];
    }
  }
  std::vector<double> x(n, 0);
  for (size_t row = n; row-- > 0;) {
    double sum = b[row];
    for (size_t k = row + 1; k < n; ++k) sum -= a[row][k] * x[k];
    x[row] = a[row][row] == 0 ? 0 : sum / a[row][row];
  }
  return x;
}

/// The state of one fit, in log parameters.
class Fitter {
 public:
  explicit Fitter(const FitProblem& problem) : problem_(problem), log_(problem.initial.size()) {
    for (size_t i = 0; i < log_.size(); ++i) log_[i] = clamp(i, std::log(problem.initial[i]));
    initial_ = log_;
    residuals_ = evaluate(log_);
    cost_ = cost(log_, residuals_);
  }

  FitResult run() {
    // A start that is off by a factor sits in a region where some terms do not show (a floor that never binds).
    take_best_axes();
    double damping = 1e-2;
    for (int round = 0; round < kMaxRounds; ++round) {
      const double before = cost_;
      const bool stepped = newton_round(damping);
      damping = stepped ? std::max(damping / 5, 1e-6) : std::min(damping * 10, 1e6);
      if (stepped && before - cost_ > kGainWorthARound * before) continue;
      if (!stepped && damping < 1e3) continue;
      // At a corner the gradient misleads; tries along each axis decide whether there is anything left.
      if (!search_axes()) break;
      damping = 1e-2;
    }
    FitResult result;
    for (double l : log_) result.parameters.push_back(std::exp(l));
    for (double r : residuals_) result.mean_abs_residual += std::abs(r) / static_cast<double>(residuals_.size());
    return result;
  }

 private:
  double clamp(size_t i, double value) const {
    return std::clamp(value, std::log(problem_.lower[i]), std::log(problem_.upper[i]));
  }
  std::vector<double> evaluate(const std::vector<double>& log) const {
    std::vector<double> parameters;
    for (double l : log) parameters.push_back(std::exp(l));
    std::vector<double> residuals(problem_.num_residuals);
    problem_.residuals(parameters, residuals);
    return residuals;
  }
  double cost(const std::vector<double>& log, const std::vector<double>& residuals) const {
    double sum = robust_cost(residuals);
    for (size_t i = 0; i < log.size(); ++i) {
      sum += problem_.prior_weight[i] * (log[i] - initial_[i]) * (log[i] - initial_[i]);
    }
    return sum;
  }
  /// Takes `candidate` if it is better than what there is.
  bool accept(const std::vector<double>& candidate) {
    std::vector<double> residuals = evaluate(candidate);
    const double candidate_cost = cost(candidate, residuals);
    if (!(candidate_cost < cost_)) return false;
    log_ = candidate;
    residuals_ = std::move(residuals);
    cost_ = candidate_cost;
    return true;
  }
  std::vector<std::vector<double>> derivatives() const {
    std::vector<std::vector<double>> columns(log_.size());
    parallel_for(log_.size(), 0, [&](size_t i) {
      std::vector<double> up = log_, down = log_;
      up[i] = clamp(i, log_[i] + kLogStep);
      down[i] = clamp(i, log_[i] - kLogStep);
      const double width = up[i] - down[i];
      const std::vector<double> above = evaluate(up), below = evaluate(down);
      columns[i].resize(above.size());
      for (size_t k = 0; k < above.size(); ++k) columns[i][k] = width == 0 ? 0 : (above[k] - below[k]) / width;
    });
    return columns;
  }
  bool newton_round(double damping) {
    const std::vector<std::vector<double>> columns = derivatives();
    const size_t n = log_.size();
    std::vector<std::vector<double>> normal(n, std::vector<double>(n, 0));
    std::vector<double> right(n, 0);
    for (size_t k = 0; k < residuals_.size(); ++k) {
      const double weight = 1 / std::max(std::abs(residuals_[k]), kAbsoluteFrom);
      for (size_t i = 0; i < n; ++i) {
        right[i] -= weight * columns[i][k] * residuals_[k];
        for (size_t j = 0; j < n; ++j) normal[i][j] += weight * columns[i][k] * columns[j][k];
      }
    }
    for (size_t i = 0; i < n; ++i) {
      right[i] -= 2 * problem_.prior_weight[i] * (log_[i] - initial_[i]);
      normal[i][i] = normal[i][i] * (1 + damping) + 2 * problem_.prior_weight[i] + 1e-12;
    }
    const std::vector<double> step = solve(std::move(normal), std::move(right));
    std::vector<double> candidate = log_;
    for (size_t i = 0; i < n; ++i) candidate[i] = clamp(i, log_[i] + std::clamp(step[i], -1.0, 1.0));
    return accept(candidate);
  }
  /// Takes the best wide step along any axis while there is one. Taking the best, not the first, keeps one constant
  /// from standing in for another that explains more.
  void take_best_axes() {
    const size_t per_axis = std::size(kWideSteps);
    while (true) {
      std::vector<std::vector<double>> candidates(log_.size() * per_axis, log_);
      std::vector<double> costs(candidates.size());
      parallel_for(candidates.size(), 0, [&](size_t c) {
        const size_t axis = c / per_axis;
        candidates[c][axis] = clamp(axis, log_[axis] + kWideSteps[c % per_axis]);
        costs[c] = cost(candidates[c], evaluate(candidates[c]));
      });
      const size_t best = static_cast<size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
      if (!(costs[best] < (1 - kGainWorthAWideStep) * cost_) || !accept(candidates[best])) return;
    }
  }
  bool search_axes() {
    const double before = cost_;
    for (size_t i = 0; i < log_.size(); ++i) {
      for (double step : kAxisSteps) {
        for (double sign : {1.0, -1.0}) {
          std::vector<double> candidate = log_;
          candidate[i] = clamp(i, log_[i] + sign * step);
          accept(candidate);
        }
      }
    }
    return before - cost_ > kGainWorthARound * before;
  }

  const FitProblem& problem_;
  std::vector<double> log_, initial_, residuals_;
  double cost_ = 0;
};

}  // namespace

FitResult fit(const FitProblem& problem) {
  CHECK(problem.lower.size() == problem.initial.size() && problem.upper.size() == problem.initial.size());
  CHECK(problem.prior_weight.size() == problem.initial.size());
  return Fitter(problem).run();
}

}  // namespace lumos
