// The phases of a training step and the label that recovery gives to each piece of GPU work. Made by
// program/recover/recover; read by program/lower/cut_blocks, by predictions and by whoever prints a recovered program.
#pragma once

#include <cstdint>
#include <string_view>

namespace lumos {

/// What the launching code was doing. Order is the order within a step.
enum class Phase : uint8_t {
  kInit,  ///< before the first micro-batch: gradients set to zero
  kForward,
  kBackward,
  kRecompute,  ///< a forward run again inside the backward
  kP2p,        ///< sends and receives between pipeline stages
  kGradSync,   ///< after the last backward, before the optimizer
  kOptimizer,  ///< gradient norm, update, parameter gathering
  kLog,        ///< what follows the optimizer: loss averaging
  kUnknown,    ///< could not be placed
};
inline constexpr int kNumPhases = 9;

constexpr std::string_view phase_name(Phase phase) {
  constexpr std::string_view names[] = {"init", "fwd", "bwd", "recompute", "p2p", "grad_sync", "opt", "log", "?"};
  return names[static_cast<int>(phase)];
}

/// Where a piece of GPU work belongs. Micro-batch, chunk and layer count from 0 within the step; -1: outside of any.
struct Label {
  Phase phase = Phase::kUnknown;
  int16_t step = -1;  ///< index of the step in the trace, -1 before the first whole one
  int16_t microbatch = -1;
  int16_t chunk = -1;  ///< model chunk of the stage (virtual pipeline)
  int16_t layer = -1;  ///< over the whole model

  bool operator==(const Label&) const = default;
};

}  // namespace lumos
