#include "lumos/program/recover/launch_collective.h"

namespace lumos {

CollectiveHint collective_of(const CollectiveContext& context) {
  if (context.metadata.kind != CollectiveKind::kUnknown) return context.metadata;
  const CollectiveKind by_kernel = context.by_kernel;
  const bool shared_kernel = by_kernel == CollectiveKind::kSendRecv || by_kernel == CollectiveKind::kUnknown;
  CollectiveHint hint;
  hint.kind = by_kernel;
  if (!shared_kernel) return hint;
  if (context.has_metadata && !context.metadata.coalesced) {
    hint.kind = CollectiveKind::kUnknown;
    return hint;
  }
  if (context.metadata.coalesced || context.around.coalesced) {
    // The kernel of point-to-point transfers is told by its name; what the name leaves open, by what was asked for.
    if (by_kernel == CollectiveKind::kSendRecv || !context.asked.tells())
      hint.kind = CollectiveKind::kSendRecv;
    else
      hint.kind = context.asked.kind;
    return hint;
  }
  if (context.around.kind != CollectiveKind::kUnknown) return context.around;
  if (context.in_all_to_all) hint.kind = CollectiveKind::kAllToAll;
  return hint;
}

}  // namespace lumos
