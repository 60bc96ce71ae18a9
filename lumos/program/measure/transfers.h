// Every communication kernel of the recovered ranks: whom it talks to, how many bytes, and how its duration splits into
// waiting for the others and the transfer itself. Made from a Program and its Job; read by retiming and lowering.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/model/job/job.h"
#include "lumos/program/blocks/catalog.h"
#include "lumos/program/blocks/program.h"

namespace lumos {

/// Which ranks take part, by the axes of the layout along which they differ.
enum class CommScope : uint8_t {
  kTensor,
  kData,
  kPipeline,   ///< point to point between stages
  kEmbedding,  ///< first and last stage: the tied embedding's gradient
  kModel,      ///< all stages, perhaps all ranks: gradient norm, overflow flags
};
inline constexpr int kNumScopes = 5;

enum class CommKind : uint8_t { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kPointToPoint };

struct Transfer {
  uint32_t row = 0;
  CommScope scope = CommScope::kTensor;
  CommKind kind = CommKind::kAllReduce;
  bool matched = false;         ///< several members were traced
  bool complete = false;        ///< all were: the split into waiting and transfer is measured
  uint32_t meeting = kNoIndex;  ///< of a matched one: the same number for all of its members
  bool sends = false;           ///< of point-to-point kernels, where the trace tells
  bool receives = false;
  bool between_nodes = false;  ///< of point-to-point kernels: some peer is on another node
  bool added = false;          ///< not traced: a changed job has it, and only the network model tells how long it takes
  int64_t bytes = -1;          ///< by NCCL's definition of size; -1: the trace does not tell
  int64_t transfer_ns = 0;
  int64_t wait_ns =
      0;  ///< duration less transfer; less host_wait_ns once program/measure/host_lags has told that apart
  int64_t steady_wait_ns = 0;  ///< of wait_ns what does not vary, so that it is not known to grow with the kernels
  int64_t host_wait_ns = 0;    ///< waiting that began before the host of the last member had launched
};

/// Whether a collective among replicas moves parameters or their gradients, and no loss or flag.
inline bool moves_parameters(const Transfer& transfer) {
  return transfer.scope == CommScope::kData && (transfer.kind != CommKind::kAllReduce || transfer.bytes > (1 << 20));
}

struct RankTransfers {
  std::vector<Transfer> transfers;  ///< by start
  std::vector<uint32_t> of_row;     ///< per table row, or kNoIndex
};

/// Per rank of the program. The transfer of a collective is the shortest duration among its members if all were traced,
/// for whoever arrives last does not wait; if only some were, no more than a low quantile of those of equal
/// collectives; with one, a low quantile of equal collectives. `catalogs`, one per rank, tell what point-to-point
/// kernels carry.
std::vector<RankTransfers> find_transfers(const Program& program, const std::vector<RankCatalog>& catalogs,
                                          const Job& job);

}  // namespace lumos
