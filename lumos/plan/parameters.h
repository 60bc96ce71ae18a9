// How many parameters a model has and where they are: per layer, per pipeline stage, on one tensor-parallel rank.
// Memory, FLOPs, gradient reduction and the optimizer all count with these.
#pragma once

#include <cstdint>

#include "lumos/model/job/job.h"
#include "lumos/plan/ops/plan.h"

namespace lumos {

/// Parameters that one GPU of a stage holds.
struct StageParameters {
  int64_t layers = 0;
  int64_t embedding = 0;  ///< words and positions, first stage
  int64_t head = 0;       ///< final norm and output matrix, last stage; a tied matrix is held twice when PP > 1

  int64_t total() const { return layers + embedding + head; }
};

/// One transformer layer on one tensor-parallel rank.
int64_t layer_parameters(const Plan& plan);
int64_t layer_parameters(const Job& job);

/// The word embedding's part on one tensor-parallel rank.
int64_t word_embedding_parameters(const Plan& plan);
int64_t word_embedding_parameters(const Job& job);

/// Layers of one chunk: the pieces are equal.
int64_t layers_per_chunk(const Job& job);

StageParameters stage_parameters(const Job& job, const Plan& plan, int64_t stage);
StageParameters stage_parameters(const Job& job, int64_t stage);

/// Parameters of the whole model, each once.
int64_t model_parameters(const Job& job);

}  // namespace lumos
