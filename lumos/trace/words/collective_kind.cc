#include "lumos/trace/words/collective_kind.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace lumos {

namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

struct KindRow {
  std::string_view word;  ///< lower case, without underscores
  CollectiveKind kind;
};

// Longer words first where one contains another.
constexpr KindRow kKindWords[] = {
    {"reducescatter", CollectiveKind::kReduceScatter},
    {"allreduce", CollectiveKind::kAllReduce},
    {"crossdevicereduce", CollectiveKind::kAllReduce},
    {"allgather", CollectiveKind::kAllGather},
    {"alltoall", CollectiveKind::kAllToAll},
    {"all2all", CollectiveKind::kAllToAll},
    {"dispatch", CollectiveKind::kAllToAll},
    {"combine", CollectiveKind::kAllToAll},
    {"broadcast", CollectiveKind::kBroadcast},
    {"barrier", CollectiveKind::kBarrier},
    {"sendrecv", CollectiveKind::kSendRecv},
    {"send", CollectiveKind::kSendRecv},
    {"recv", CollectiveKind::kSendRecv},
    {"gather", CollectiveKind::kAllGather},
    {"reduce", CollectiveKind::kReduce},
};

/// How PyTorch's communication rows begin; ROCm's are named like NCCL's.
constexpr std::string_view kPrefixes[] = {"nccl:", "gloo:", "c10d::", "c10d_functional::", "_c10d_functional::"};

CollectiveKind kind_of_words(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (char c : text) {
    if (c != '_') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const KindRow& row : kKindWords) {
    if (contains(plain, row.word)) return row.kind;
  }
  return CollectiveKind::kUnknown;
}

}  // namespace

std::string_view text_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kUnknown:
      return "unknown";
    case CollectiveKind::kAllReduce:
      return "allreduce";
    case CollectiveKind::kAllGather:
      return "allgather";
    case CollectiveKind::kReduceScatter:
      return "reducescatter";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kReduce:
      return "reduce";
    case CollectiveKind::kAllToAll:
      return "alltoall";
    case CollectiveKind::kSendRecv:
      return "sendrecv";
    case CollectiveKind::kBarrier:
      return "barrier";
  }
  return "unknown";
}

CollectiveKind kind_of_kernel_name(std::string_view name) {
  // The argument list repeats words ("ncclDevKernelArgs"), and template arguments hold types: neither tells the kind.
  return kind_of_words(name.substr(0, name.find('(')));
}

CollectiveKind kind_of_metadata(std::string_view collective_name) { return kind_of_words(collective_name); }

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
  for (std::string_view prefix : kPrefixes) {
    if (row_name.starts_with(prefix)) return hint_of_metadata(row_name.substr(prefix.size()));
  }
  return {};
}

bool only_waits(std::string_view collective_name) { return collective_name == "wait"; }

}  // namespace lumos
