// Which collective a name means: of a communication kernel, of "Collective name" in the metadata, of the operators and
// annotations that PyTorch writes around launches. The one table of these words; read by graph/, program/ and report/.
#pragma once

#include <cstdint>
#include <string_view>

namespace lumos {

enum class CollectiveKind : uint8_t {
  kUnknown,  ///< communication, but neither the metadata nor the name tell which
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kSendRecv,  ///< point to point; by name alone it may also be an all-to-all, which NCCL runs with the same kernel
  kBarrier,
};

/// "allreduce", "allgather" ...: what selectors match and tables print.
std::string_view text_of(CollectiveKind kind);

/// The kind that a kernel's name tells.
CollectiveKind kind_of_kernel_name(std::string_view kernel_name);

/// The kind that "Collective name" of the metadata tells ("_allgather_base", "send" ...).
CollectiveKind kind_of_metadata(std::string_view collective_name);

/// What PyTorch writes around and before a communication kernel's launch.
struct CollectiveHint {
  CollectiveKind kind = CollectiveKind::kUnknown;
  bool coalesced = false;  ///< launches together what the calls before it asked for
  bool sends = false;
  bool receives = false;

  bool tells() const { return coalesced || kind != CollectiveKind::kUnknown; }
};

/// Of a row's name ("nccl:all_reduce", "c10d::send"); tells nothing for names of other things.
CollectiveHint hint_of_name(std::string_view row_name);

/// Of "Collective name", on a kernel or on record_param_comms.
CollectiveHint hint_of_metadata(std::string_view collective_name);

/// True for the metadata of calls that wait for a collective and run none: no kernel is theirs.
bool only_waits(std::string_view collective_name);

}  // namespace lumos
