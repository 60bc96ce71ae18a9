#include "lumos/graph/host/collective.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace lumos {

namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  out.erase(std::remove(out.begin(), out.end(), '_'), out.end());
  return out;
}

// Longer names first where one contains another. Underscores are removed before the comparison.
constexpr std::array<std::pair<std::string_view, CollectiveKind>, 15> kKindWords = {{
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
}};

CollectiveKind kind_of_words(std::string_view text) {
  const std::string plain = lower(text);
  for (const auto& [word, kind] : kKindWords) {
    if (contains(plain, word)) return kind;
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

int64_t element_bytes(std::string_view dtype) {
  static constexpr std::array<std::pair<std::string_view, int64_t>, 20> kSizes = {{
      {"Float", 4},
      {"Double", 8},
      {"Half", 2},
      {"BFloat16", 2},
      {"Int", 4},
      {"Long", 8},
      {"Short", 2},
      {"Byte", 1},
      {"Char", 1},
      {"Bool", 1},
      {"ComplexFloat", 8},
      {"ComplexDouble", 16},
      {"Float8_e4m3fn", 1},
      {"Float8_e5m2", 1},
      {"Float8_e4m3fnuz", 1},
      {"Float8_e5m2fnuz", 1},
      {"QInt8", 1},
      {"UInt16", 2},
      {"UInt32", 4},
      {"UInt64", 8},
  }};
  for (const auto& [name, bytes] : kSizes) {
    if (dtype == name) return bytes;
  }
  return 0;
}

int64_t collective_bytes(CollectiveKind kind, const CollectiveDetail& detail, std::string_view dtype) {
  const int64_t size = element_bytes(dtype);
  if (size == 0) return -1;
  int64_t elements = std::max(detail.in_elements, detail.out_elements);
  if (kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kAllToAll) elements = detail.in_elements;
  return elements < 0 ? -1 : elements * size;
}

int64_t collective_bytes(const EventTable& table, const CollectiveDetail& detail) {
  const CollectiveKind kind = kind_of_metadata(table.text(detail.collective));
  return std::max<int64_t>(0, collective_bytes(kind, detail, table.text(detail.dtype)));
}

double bus_factor(CollectiveKind kind, int32_t ranks) {
  // https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
  if (ranks < 2) return 1.0;
  const double share = double(ranks - 1) / ranks;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2.0 * share;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return share;
    default:
      return 1.0;
  }
}

}  // namespace lumos
