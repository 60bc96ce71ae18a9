// What each kernel of a layer, of the embedding or of the head computes: which projection a GEMM belongs to, and which
// size of the model a memory-bound kernel's bytes grow with. Made from a block of the program; read by program/retime.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lumos/program/blocks/program.h"

namespace lumos {

enum class KernelRole : uint8_t {
  kQkv,  ///< GEMMs, forward or backward
  kProjection,
  kFc1,
  kFc2,
  kLogits,
  kOtherGemm,
  kAttention,         ///< fused into one kernel
  kAttentionProduct,  ///< else: queries with keys, scores with values
  kScores,            ///< else, between the two: bytes grow with tokens x tokens of each head
  kHidden,            ///< memory-bound, bytes grow with tokens x hidden size
  kHeads,             ///< tokens x attention width of this rank
  kFfn,               ///< tokens x ffn width of this rank
  kVocabulary,        ///< tokens x vocabulary of this rank
  kWeights,           ///< parameters of this rank: gradient scaling of a bucket
  kEmbedding,         ///< the embedding's weight
  kOptimizer,         ///< parameters that this rank optimizes
  kShardCopy,         ///< this rank's part of a sharded unit: copies in, sums of reduced gradients
  kUnitCopy,          ///< a whole sharded unit: gathered parameters out, gradients in
  kCommunication,
  kOther,  ///< constant
};

std::string_view role_name(KernelRole role);

/// True for what runs between queries, keys and values and what they give, in one kernel or in several.
constexpr bool is_attention_core(KernelRole role) {
  return role == KernelRole::kAttention || role == KernelRole::kAttentionProduct || role == KernelRole::kScores;
}

/// Which product of a linear layer a GEMM is.
enum class GemmPart : uint8_t { kForward, kInputGradient, kWeightGradient };

struct RoleOf {
  KernelRole role = KernelRole::kOther;
  GemmPart part = GemmPart::kForward;
  bool whole = true;  ///< false: one of several launches that make the product (q, k and v apart, a split sum over K)
};

/// One role per launch of the rank, parallel to LaunchList::launches.
std::vector<RoleOf> find_roles(const RankProgram& rank);

}  // namespace lumos
