// Which backward belongs to which forward, and the micro-batch and chunk of each pass.
#include <algorithm>
#include <map>

#include "lumos/program/recover/passes.h"

namespace lumos {
namespace {

bool is_backward(const Pass& pass) { return pass.phase == Phase::kBackward || pass.phase == Phase::kRecompute; }

std::vector<uint32_t> pass_of_launches(const RecoveredRank& rank) {
  std::vector<uint32_t> owner(rank.list.launches.size(), kNoIndex);
  for (uint32_t p = 0; p < rank.passes.size(); ++p)
    for (uint32_t i = rank.passes[p].begin; i < rank.passes[p].end; ++i) owner[i] = p;
  return owner;
}

/// The forward launch that each backward launch points at, or kNoIndex.
std::vector<uint32_t> forward_launch_of_launches(const EventTable& table, const RecoveredRank& rank) {
  const ForwardOps ops(table, rank.list);
  const std::vector<uint32_t> owner = pass_of_launches(rank);
  std::vector<uint32_t> forward(rank.list.launches.size(), kNoIndex);
  for (const Pass& pass : rank.passes) {
    if (!is_backward(pass)) continue;
    for (uint32_t i = pass.begin; i < pass.end; ++i) {
      const Launch& launch = rank.list.launches[i];
      uint32_t source = kNoIndex;
      if (launch.checkpoint_op != kNoIndex) {
        // What a checkpoint recomputes carries numbers of its own; the checkpoint itself points at the forward.
        const uint32_t row = ops.forward_row(launch.checkpoint_op, false);
        if (row != kNoIndex) source = ops.first_launch_in(row);
      } else {
        source = ops.forward_of(launch);
      }
      if (source == kNoIndex || owner[source] == kNoIndex) continue;
      if (rank.passes[owner[source]].phase == Phase::kForward) forward[i] = source;
    }
  }
  return forward;
}

/// Launches [begin, end) of a forward pass that one run of the autograd engine went back over.
struct WentBack {
  uint32_t first = 0;
  uint32_t last = 0;
};

/// Runs of one step go over as many launches each, give or take: micro-batches are alike.
bool are_alike(const std::vector<WentBack>& runs) {
  uint32_t shortest = UINT32_MAX, longest = 0;
  for (size_t r = 0; r < runs.size(); ++r) {
    if (r > 0 && runs[r].first <= runs[r - 1].last) return false;
    shortest = std::min(shortest, runs[r].last - runs[r].first);
    longest = std::max(longest, runs[r].last - runs[r].first);
  }
  return longest <= 2 * shortest;
}

/// The engine goes back through a micro-batch from its end. Where it jumps forwards, past all it has seen, by more than
/// half of what it has been over, another micro-batch begins. One run where that does not explain it.
std::vector<WentBack> runs_of_engine(const std::vector<uint32_t>& sources) {
  constexpr uint32_t kFewestLaunches = 8;  // a loss may jump about in less
  std::vector<WentBack> runs;
  for (uint32_t source : sources) {
    const uint32_t over = runs.empty() ? 0 : runs.back().last - runs.back().first;
    if (runs.empty() ||
        (over >= kFewestLaunches && source > runs.back().last && source - runs.back().last > over / 2)) {
      runs.push_back({source, source});
    } else {
      runs.back().first = std::min(runs.back().first, source);
      runs.back().last = std::max(runs.back().last, source);
    }
  }
  if (!are_alike(runs)) runs.resize(1);
  return runs;
}

/// Where the second of two micro-batches begins, between what the engine went over of both: where its input is
/// uploaded, else as far from the beginning of the first one as their ends are apart.
uint32_t border_between(const EventTable& table, const RecoveredRank& rank, uint32_t begin, const WentBack& one,
                        const WentBack& next) {
  for (uint32_t i = one.last + 1; i <= next.first; ++i) {
    const uint32_t row = rank.list.launches[i].gpu_row;
    if (table.kind[row] == EventKind::kMemcpy && table.name_of(row).find("HtoD") != std::string_view::npos) return i;
  }
  return std::clamp(begin + next.last - one.last, one.last + 1, next.first);
}

/// Without a pipeline all forwards of a step may run in a row, before the first backward: nothing but their backwards
/// tells them apart.
void split_forwards(const EventTable& table, RecoveredRank& rank) {
  const std::vector<uint32_t> forward = forward_launch_of_launches(table, rank);
  const std::vector<uint32_t> owner = pass_of_launches(rank);
  std::vector<std::vector<uint32_t>> sources(rank.passes.size());
  for (uint32_t source : forward)
    if (source != kNoIndex) sources[owner[source]].push_back(source);
  std::vector<Pass> passes;
  for (uint32_t p = 0; p < rank.passes.size(); ++p) {
    passes.push_back(rank.passes[p]);
    const std::vector<WentBack> runs = runs_of_engine(sources[p]);
    for (size_t r = 1; r < runs.size(); ++r) {
      const uint32_t border = border_between(table, rank, passes.back().begin, runs[r - 1], runs[r]);
      Pass rest = passes.back();
      passes.back().end = border;
      rest.begin = border;
      passes.push_back(rest);
    }
  }
  rank.passes = std::move(passes);
}

/// Cuts backward passes where they turn to another forward pass, and notes which one each belongs to.
void split_backwards(const EventTable& table, RecoveredRank& rank) {
  const std::vector<uint32_t> owner = pass_of_launches(rank);
  std::vector<uint32_t> forward = forward_launch_of_launches(table, rank);
  for (uint32_t& source : forward)
    if (source != kNoIndex) source = owner[source];
  std::vector<Pass> passes;
  std::vector<uint32_t> renumbered(rank.passes.size());
  for (uint32_t p = 0; p < rank.passes.size(); ++p) {
    const Pass& pass = rank.passes[p];
    renumbered[p] = static_cast<uint32_t>(passes.size());
    passes.push_back(pass);
    if (!is_backward(pass)) continue;
    uint32_t current = kNoIndex;
    for (uint32_t i = pass.begin; i < pass.end; ++i) {
      if (forward[i] == kNoIndex || forward[i] == current) continue;
      if (current != kNoIndex) {
        passes.back().end = i;
        Pass rest = pass;
        rest.begin = i;
        passes.push_back(rest);
      }
      current = forward[i];
      passes.back().forward = renumbered[current];
    }
  }
  rank.passes = std::move(passes);
}

/// Backward passes without a partner take the oldest forward pass of their step that has none.
void pair_the_rest(RecoveredRank& rank) {
  std::vector<bool> taken(rank.passes.size(), false);
  for (const Pass& pass : rank.passes)
    if (pass.forward != kNoIndex) taken[pass.forward] = true;
  for (uint32_t p = 0; p < rank.passes.size(); ++p) {
    Pass& pass = rank.passes[p];
    if (pass.phase != Phase::kBackward || pass.forward != kNoIndex) continue;
    if (p > 0 && is_backward(rank.passes[p - 1]) && rank.passes[p - 1].forward != kNoIndex) {
      pass.forward = rank.passes[p - 1].forward;  // the rest of a pass that recomputation interrupted
      continue;
    }
    for (uint32_t f = 0; f < p; ++f) {
      if (rank.passes[f].phase != Phase::kForward || rank.passes[f].step != pass.step || taken[f]) continue;
      pass.forward = f;
      taken[f] = true;
      break;
    }
  }
}

/// Order of the forward passes within their steps.
struct ForwardOrder {
  std::map<int16_t, std::vector<uint32_t>> by_step;
  std::vector<int> position;  ///< per pass, within its step; -1: not a forward
};

ForwardOrder order_forwards(const RecoveredRank& rank) {
  ForwardOrder order;
  order.position.assign(rank.passes.size(), -1);
  for (uint32_t p = 0; p < rank.passes.size(); ++p) {
    if (rank.passes[p].phase != Phase::kForward) continue;
    auto& list = order.by_step[rank.passes[p].step];
    order.position[p] = static_cast<int>(list.size());
    list.push_back(p);
  }
  return order;
}

/// An interleaved schedule shows in the order of the backwards: they begin with the last chunk, whose first forward
/// comes after a whole group (one per stage) of each earlier chunk.
void infer_chunks(const ForwardOrder& order, RecoveredRank& rank, int& stages, int& chunks) {
  std::map<int16_t, std::vector<int>> backward;
  for (const Pass& pass : rank.passes)
    if (pass.phase == Phase::kBackward && pass.forward != kNoIndex && pass.step >= 0 &&
        rank.passes[pass.forward].step == pass.step) {
      auto& list = backward[pass.step];
      const int position = order.position[pass.forward];
      if (list.empty() || list.back() != position) list.push_back(position);
    }
  for (auto& [step, list] : backward) {
    if (list.empty() || list[0] == 0) return;
    int group = 1;
    while (group < static_cast<int>(list.size()) && list[group] == list[group - 1] + 1) ++group;
    if (list[0] % group != 0) return;
    // The last group is followed by the group of the chunk before, which was run one group earlier.
    if (group < static_cast<int>(list.size()) && list[group] != list[0] - group) return;
    if (stages <= 0) stages = group;
    if (chunks <= 0) chunks = 1 + list[0] / group;
    return;
  }
}

}  // namespace

void number_passes(const EventTable& table, const RecoverHints& hints, RecoveredRank& rank) {
  split_forwards(table, rank);
  split_backwards(table, rank);
  pair_the_rest(rank);
  const ForwardOrder order = order_forwards(rank);
  int stages = hints.stages, chunks = hints.chunks;
  // Without exchanges there is no pipeline, whatever the order of the backwards looks like.
  const bool pipelined =
      std::any_of(rank.passes.begin(), rank.passes.end(), [](const Pass& pass) { return pass.phase == Phase::kP2p; });
  if (chunks <= 0 && pipelined) infer_chunks(order, rank, stages, chunks);
  rank.stages = std::max(stages, 1);
  rank.chunks = std::max(chunks, 1);
  rank.stage = std::max(hints.stage, 0);

  const int group = rank.stages * rank.chunks;
  for (auto& [step, list] : order.by_step) {
    // Labels number micro-batches with 16 bits; what comes after is outside of any.
    const size_t numbered = std::min<size_t>(list.size(), INT16_MAX);
    for (size_t k = 0; k < numbered; ++k) {
      Pass& pass = rank.passes[list[k]];
      const int index = static_cast<int>(k);
      if (rank.chunks > 1) {
        pass.chunk = static_cast<int16_t>(index % group / rank.stages);
        pass.microbatch = static_cast<int16_t>(index / group * rank.stages + index % rank.stages);
      } else {
        pass.chunk = 0;
        pass.microbatch = static_cast<int16_t>(index);
      }
    }
    if (step >= 0) rank.microbatches = std::max(rank.microbatches, static_cast<int>(list.size()) / rank.chunks);
  }
  int16_t microbatch = -1, chunk = -1;
  for (Pass& pass : rank.passes) {
    if (is_backward(pass) && pass.forward != kNoIndex) {
      pass.microbatch = rank.passes[pass.forward].microbatch;
      pass.chunk = rank.passes[pass.forward].chunk;
    }
    if (pass.phase == Phase::kP2p) {
      pass.microbatch = std::max<int16_t>(microbatch, 0);
      pass.chunk = std::max<int16_t>(chunk, 0);
    } else if (pass.microbatch >= 0) {
      microbatch = pass.microbatch;
      chunk = pass.chunk;
    } else {
      microbatch = chunk = -1;
    }
  }
}

}  // namespace lumos
