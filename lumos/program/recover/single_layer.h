// Where the only layer of a pass is. Nothing repeats then, so what its kernels do tells: the layer begins with the norm
// before the first matrix product and ends with the pass, or before the norm of the model's head. Read by
// program/layers.
#pragma once

#include <cstdint>
#include <vector>

#include "lumos/program/recover/period.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// Attentions of a pass, by its GPU rows in order: stretches of fused attention or of softmax with products before and
/// after. A softmax that no two products follow belongs to a loss.
uint32_t count_attentions(const EventTable& table, const std::vector<uint32_t>& rows);

/// The layer of a forward pass; count 0 where it has no matrix product. `is_last`: the head and the loss follow it.
Repetition single_forward_layer(const EventTable& table, const std::vector<uint32_t>& rows, bool is_last);

/// The same of a backward pass, which begins with the head where `is_last` and ends with the embedding where
/// `is_first`.
Repetition single_backward_layer(const EventTable& table, const std::vector<uint32_t>& rows, bool is_first,
                                 bool is_last);

}  // namespace lumos
