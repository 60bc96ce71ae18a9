// A job as what every rank runs, without times and without a trace: the model's ops as the job's strategies have cut
// them, what replicas exchange around the passes, and what a GPU holds of all that. Made by plan_of; times, memory,
// FLOPs, parameters, estimates and synthesized traces are read off it.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "lumos/model/job/job.h"
#include "lumos/plan/ops/op.h"

namespace lumos {

/// What of the forward ops a layer's backward pass begins by running again.
enum class Repeats : uint8_t { kNothing, kAttentionCore, kLayer };

/// When parameters or their gradients move between ranks.
enum class ExchangeMoment : uint8_t {
  kBesideBackward,  ///< of the last micro-batch, bucket by bucket as gradients are complete
  kAfterBackward,
  kAfterUpdate,
  kBesideForward,  ///< of the first micro-batch, bucket by bucket before they are read
};

/// A collective that carries a number per parameter, bucket by bucket.
struct ParameterExchange {
  std::string_view role;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  DimensionSet along;
  NumberType type = NumberType::kGradient;
  ExchangeMoment when = ExchangeMoment::kAfterBackward;
};

/// Over how many GPUs it is spread what belongs to the parameters of a stage.
struct Residency {
  double parameters = 1;
  double gradients = 1;
  double optimizer = 1;
};

struct Plan {
  Layout layout;
  PlanSizes sizes;
  std::array<double, kNumNumberTypes> type_bytes = {};

  ModelPart layer, embedding, head;
  Repeats repeats = Repeats::kNothing;
  double repeated_layers = 0;  ///< the share of a chunk's layers that repeat

  Term message;                      ///< between stages; of nothing where there is one
  bool gathers_messages = false;     ///< the parts that tensor-parallel ranks received, to a whole each
  bool sums_tied_embedding = false;  ///< gradients of the first and the last stage

  ParameterExchange reduction;
  std::vector<ParameterExchange> gathers;
  DimensionSet agreement;  ///< with whom norms of gradients and overflows are agreed on
  Residency resident;

  double bytes(NumberType type) const { return type_bytes[static_cast<size_t>(type)]; }
  /// The ops at the beginning of a backward pass of a layer that repeats.
  std::vector<Op> repeated() const;
};

/// Bytes that a term moves or keeps.
double term_bytes(const Plan& plan, const Term& term);

}  // namespace lumos
