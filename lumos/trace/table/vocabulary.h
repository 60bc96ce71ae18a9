// The words of trace producers: categories of every Kineto schema and of its relatives to EventKind, argument names to
// ArgKey. Read by trace/kineto/event_parser only; beyond it there is one vocabulary.
#pragma once

#include <cstdint>
#include <string_view>

#include "lumos/trace/table/event_table.h"

namespace lumos {

/// What becomes of a complete event, by its category.
enum class Category : uint8_t {
  kKept,    ///< a row; `kind` says which
  kPython,  ///< python_function: kept only for an nn.Module call
  kOther,   ///< nothing that a graph is made of
};

struct CategoryMeaning {
  Category category = Category::kOther;
  EventKind kind = EventKind::kCpuOp;
};

/// The meaning of a category: CUDA, HIP, XPU, MTIA and PrivateUse1 names, and the capitalised ones of 2021.
CategoryMeaning category_meaning(std::string_view category);

/// What a flow event means, by its category.
enum class FlowMeaning : uint8_t {
  kFwdBwd,  ///< from a forward operator to its backward one
  kNone,    ///< from a launch to its work where their correlation says the same, or nothing that a graph is made of
  kLaunch,  ///< any other: may be the only thing that ties a call to what it launched
};
FlowMeaning flow_meaning(std::string_view category);

/// The arguments that somebody reads.
enum class ArgKey : uint8_t {
  kExternalId,
  kExternalIdOld,
  kCorrelation,
  kConnection,
  kStream,
  kStreamId,
  kTaskType,
  kMode,
  kGrid,
  kBlock,
  kRegisters,
  kSharedMemory,
  kBytes,
  kGraphNode,
  kOccupancy,
  kInputDims,
  kInputTypes,
  kConcreteInputs,
  kFwdThread,
  kSequence,
  kCollective,
  kDtype,
  kGroupName,
  kGroupDescription,
  kGroupRanks,
  kInSplit,
  kOutSplit,
  kInElements,
  kOutElements,
  kCollectiveSequence,
  kGroupSize,
  kSrcRank,
  kDstRank,
  kWaitOnStream,
  kWaitOnCorrelation,
  kWaitOnEvent,
  kName,
  kCount,  ///< and whatever nobody reads
};
inline constexpr size_t kArgKeys = static_cast<size_t>(ArgKey::kCount);

/// The key that `text` spells, or kCount.
ArgKey arg_key(std::string_view text);

/// The keys of an event itself.
enum class FieldKey : uint8_t { kPhase, kCategory, kName, kPid, kTid, kTs, kDur, kId, kArgs, kOther };
FieldKey field_key(std::string_view text);

}  // namespace lumos
