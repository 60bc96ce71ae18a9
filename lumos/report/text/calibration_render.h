// Fits of a cluster's constants as text, as JSON, and as the heading of the fitted cluster file.
#pragma once

#include <string>
#include <vector>

#include "lumos/plan/calibrate.h"

namespace lumos {

struct NamedCalibration {
  std::string name;  ///< "runs" or "collectives"
  Calibration calibration;
};

/// Constants before and after, errors in sample and of families left out.
std::string calibration_text(const std::vector<NamedCalibration>& fits);

/// One object, schema lumos.calibrate.v1.
std::string calibration_json(const std::vector<NamedCalibration>& fits);

/// Lines for the head of a cluster file: what was fitted to what, with which error.
std::string calibration_heading(const std::vector<NamedCalibration>& fits);

}  // namespace lumos
