// What an operator or annotation does for a unit of fully sharded data parallelism: parameters that are gathered before
// they are used, dropped after it, and whose gradients are reduced together. The words of PyTorch's fully_shard and of
// its older FSDP; read by graph/waits and program/recover.
#pragma once

#include <cstdint>
#include <string_view>

namespace lumos {

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

/// Of operators alone, those that other code may call too included.
UnitWork unit_work_of_operator(std::string_view name);

/// Annotations of fully_shard, as their names begin.
inline constexpr std::string_view kShardedAnnotation = "FSDP::";
inline constexpr std::string_view kGatherAnnotation = "FSDP::all_gather";
inline constexpr std::string_view kCopyOutAnnotation = "FSDP::all_gather_copy_out";
inline constexpr std::string_view kReduceAnnotation = "FSDP::post_backward_reduce";
inline constexpr std::string_view kBackwardEndAnnotation = "FSDP::root_post_backward_callback";

}  // namespace lumos
