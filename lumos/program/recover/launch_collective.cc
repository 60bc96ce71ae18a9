#include "lumos/program/recover/launch_collective.h"

namespace lumos {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// How PyTorch's communication rows begin; ROCm's are named like NCCL's.
constexpr std::string_view kPrefixes[] = {"nccl:", "c10d::", "c10d_functional::", "_c10d_functional::"};

}  // namespace

CollectiveHint hint_of_metadata(std::string_view collective_name) {
  CollectiveHint hint;
  hint.kind = kind_of_metadata(collective_name);
  // "allgather_into_tensor_coalesced" is one collective over several tensors, "coalesced" whatever was asked for.
  hint.coalesced = collective_name == "coalesced";
  if (hint.kind == CollectiveKind::kSendRecv) {
    hint.sends = contains(collective_name, "send");
    hint.receives = contains(collective_name, "recv");
  }
  return hint;
}

CollectiveHint hint_of_name(std::string_view row_name) {
  for (std::string_view prefix : kPrefixes)
    if (row_name.starts_with(prefix)) return hint_of_metadata(row_name.substr(prefix.size()));
  return {};
}

CollectiveHint collective_of(const CollectiveContext& context) {
  if (context.metadata.kind != CollectiveKind::kUnknown) return context.metadata;
  const CollectiveKind by_kernel = kind_of_kernel_name(context.kernel_name);
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
