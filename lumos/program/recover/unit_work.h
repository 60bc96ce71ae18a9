// What a launch does for a unit of fully sharded data parallelism: parameters that are gathered before they are used,
// dropped after it, and whose gradients are reduced together. Told from the operators of PyTorch's fully_shard and from
// the annotations of its older FSDP; read by program/recover.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

struct Launch;

/// In the order in which they follow each other.
enum class UnitWork : uint8_t {
  kNone,
  kCopyIn,         ///< this rank's shards into the buffer that is gathered, cast on the way
  kGather,         ///< all-gather of the parameters
  kCopyOut,        ///< gathered parameters into the places where the model uses them
  kReduceIn,       ///< gradients into the buffer that is reduced
  kReduce,         ///< reduce-scatter of the gradients
  kReplicaReduce,  ///< all-reduce of the reduced shards over the replicas of a hybrid
  kAccumulate,     ///< reduced shards cast or added to what earlier micro-batches left
};

/// What the name of an enclosing operator or annotation says about the launches inside it that are no communication.
UnitWork unit_work_of_name(std::string_view name);

/// Completes what the names around the launches told of each: collectives by what precedes them on their thread, and
/// what runs on the streams beside the computing one. `launches` are in order.
void mark_unit_work(const EventTable& table, std::vector<Launch>& launches);

/// True for all that happens around the gathering of parameters; false for what follows a backward.
constexpr bool is_gathering(UnitWork work) { return work >= UnitWork::kCopyIn && work <= UnitWork::kCopyOut; }
constexpr bool is_reducing(UnitWork work) { return work >= UnitWork::kReduceIn; }

}  // namespace lumos
