#include "lumos/program/recover/passes.h"

#include <algorithm>
#include <map>

#include "lumos/trace/table/row_meaning.h"

namespace lumos {
namespace {

/// A stretch of host work shorter than this share of the longest one is not a forward pass of its own.
constexpr double kShortestForwardShare = 0.05;

std::vector<int64_t> annotated_step_starts(const EventTable& table) {
  std::vector<int64_t> starts;
  int64_t last_end = 0;
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] != EventKind::kAnnotation || !is_step_mark(table, row)) continue;
    starts.push_back(table.ts_ns[row]);
    last_end = std::max(last_end, table.end_ns(row));
  }
  std::sort(starts.begin(), starts.end());
  if (!starts.empty()) starts.push_back(last_end);
  return starts;
}

/// A phase before the steps are known; main-thread work that is neither is decided by what surrounds it.
enum class Rough : uint8_t { kMain, kBackward, kRecompute, kP2p, kOrphan };

Rough rough_phase(const Launch& launch) {
  if (launch.call == kNoIndex) return Rough::kOrphan;
  if (launch.is_p2p()) return Rough::kP2p;
  if (launch.in_recompute) return Rough::kRecompute;
  if (launch.in_backward) return Rough::kBackward;
  return Rough::kMain;
}

class Cutter {
 public:
  Cutter(const EventTable& table, RecoveredRank& rank) : table_(table), rank_(rank), launches_(rank.list.launches) {
    starts_ = annotated_step_starts(table);
    annotated_ = !starts_.empty();
  }

  void run() {
    const auto size = static_cast<uint32_t>(launches_.size());
    phase_.assign(size, Phase::kUnknown);
    for (uint32_t begin = 0; begin < size;) {
      const Rough rough = rough_phase(launches_[begin]);
      uint32_t end = begin + 1;
      while (end < size && rough_phase(launches_[end]) == rough && (rough != Rough::kMain || !crosses_step(end))) ++end;
      place(rough, begin, end);
      begin = end;
    }
    absorb_fragments();
    emit_passes();
  }

 private:
  bool crosses_step(uint32_t launch) const {
    if (!annotated_ || launch == 0) return false;
    auto step_of = [&](uint32_t i) { return std::upper_bound(starts_.begin(), starts_.end(), launches_[i].ts_ns); };
    return step_of(launch) != step_of(launch - 1);
  }

  void fill(uint32_t begin, uint32_t end, Phase phase) {
    std::fill(phase_.begin() + begin, phase_.begin() + end, phase);
  }

  void place(Rough rough, uint32_t begin, uint32_t end) {
    switch (rough) {
      case Rough::kBackward:
        fill(begin, end, Phase::kBackward);
        after_backward_ = true;
        break;
      case Rough::kRecompute:
        fill(begin, end, Phase::kRecompute);
        break;
      case Rough::kP2p:
        fill(begin, end, Phase::kP2p);
        break;
      case Rough::kOrphan:
        break;
      case Rough::kMain:
        place_main(begin, end);
        break;
    }
  }

  /// Main-thread work between two passes: a forward, or the end of one step and the beginning of the next.
  void place_main(uint32_t begin, uint32_t end) {
    uint32_t first = end, last = begin;
    for (uint32_t i = begin; i < end; ++i) {
      if (!launches_[i].in_optimizer) continue;
      first = std::min(first, i);
      last = i;
    }
    if (first == end) {
      place_start(begin, end);
      return;
    }
    fill(begin, first, after_backward_ ? Phase::kGradSync : Phase::kForward);
    const uint32_t cut = next_step_start(last + 1, end);
    uint32_t optimizer_end = last + 1;
    for (uint32_t i = last + 1; i < cut; ++i)
      if (gathers_parameters(launches_[i])) optimizer_end = i + 1;
    fill(first, optimizer_end, Phase::kOptimizer);
    fill(optimizer_end, cut, Phase::kLog);
    after_backward_ = false;
    place_start(cut, end);
  }

  void place_start(uint32_t begin, uint32_t end) {
    uint32_t i = begin;
    if (!after_backward_)
      while (i < end && launches_[i].is_zeroing) ++i;
    fill(begin, i, Phase::kInit);
    fill(i, end, Phase::kForward);
  }

  /// After the optimizer: the first launch that can only belong to another step.
  uint32_t next_step_start(uint32_t begin, uint32_t end) const {
    for (uint32_t i = begin; i < end; ++i) {
      const Launch& launch = launches_[i];
      const bool upload = table_.kind[launch.gpu_row] == EventKind::kMemcpy &&
                          table_.kernel_meaning(launch.gpu_row).is(KernelTrait::kHostToDevice);
      if (launch.is_zeroing || upload || launch.sequence_op != kNoIndex || is_gathering(launch.unit_work)) return i;
    }
    return end;
  }

  /// The gradient of one that a backward of a loss begins with is made by whoever asks for the backward.
  bool starts_backward(uint32_t launch) const {
    const uint32_t op = launches_[launch].outer_op;
    return op != kNoIndex && table_.operator_meaning(op).is(OperatorTrait::kFirstGradient);
  }

  bool gathers_parameters(const Launch& launch) const {
    return launch.is_communication &&
           (launch.collective == CollectiveKind::kAllGather || launch.collective == CollectiveKind::kBroadcast);
  }

  /// Short pieces of main-thread work between passes (a gradient of one for the loss) go with what they precede.
  void absorb_fragments() {
    const auto size = static_cast<uint32_t>(launches_.size());
    std::vector<std::pair<uint32_t, uint32_t>> forwards;
    uint32_t longest = 0;
    for (uint32_t begin = 0; begin < size;) {
      uint32_t end = begin + 1;
      while (end < size && phase_[end] == phase_[begin]) ++end;
      if (phase_[begin] == Phase::kForward) {
        forwards.emplace_back(begin, end);
        longest = std::max(longest, end - begin);
      }
      begin = end;
    }
    for (auto [begin, end] : forwards) {
      if (end < size && phase_[end] == Phase::kBackward && starts_backward(end - 1))
        fill(--end, end + 1, Phase::kBackward);
      if (end - begin >= kShortestForwardShare * longest) continue;
      if (end < size && phase_[end] == Phase::kBackward)
        fill(begin, end, Phase::kBackward);
      else if (begin > 0 && phase_[begin - 1] == Phase::kBackward)
        fill(begin, end, Phase::kBackward);
    }
  }

  void emit_passes() {
    const auto size = static_cast<uint32_t>(launches_.size());
    Phase previous = Phase::kUnknown;
    std::vector<int64_t> found_starts;
    for (uint32_t begin = 0; begin < size;) {
      const Phase phase = phase_[begin];
      uint32_t end = begin + 1;
      while (end < size && phase_[end] == phase && !(phase != Phase::kBackward && crosses_step(end))) ++end;
      const bool opens_step = (phase == Phase::kInit || phase == Phase::kForward || phase == Phase::kP2p) &&
                              (previous == Phase::kOptimizer || previous == Phase::kLog || previous == Phase::kUnknown);
      if (!annotated_ && opens_step) found_starts.push_back(launches_[begin].ts_ns);
      Pass pass;
      pass.phase = phase;
      pass.begin = begin;
      pass.end = end;
      rank_.passes.push_back(pass);
      if (phase != Phase::kUnknown) previous = phase;
      begin = end;
    }
    if (!annotated_) {
      starts_ = found_starts;
      if (size > 0) starts_.push_back(launches_.back().ts_ns + 1);
    }
    for (Pass& pass : rank_.passes) {
      auto after = std::upper_bound(starts_.begin(), starts_.end(), launches_[pass.begin].ts_ns);
      const auto index = after - starts_.begin() - 1;
      const bool whole = index >= 0 && index + 1 < static_cast<std::ptrdiff_t>(starts_.size()) && index <= INT16_MAX;
      pass.step = whole ? static_cast<int16_t>(index) : int16_t{-1};
    }
    rank_.step_start_ns = starts_;
  }

  const EventTable& table_;
  RecoveredRank& rank_;
  const std::vector<Launch>& launches_;
  std::vector<int64_t> starts_;
  bool annotated_ = false;
  bool after_backward_ = false;
  std::vector<Phase> phase_;
};

}  // namespace

void cut_passes(const EventTable& table, RecoveredRank& rank) { Cutter(table, rank).run(); }

ForwardOps::ForwardOps(const EventTable& table, const LaunchList& list) : table_(table), list_(list) {
  for (const NumberedOp& op : list.numbered)
    if (!op.is_backward) by_sequence_.push_back(op);
  std::stable_sort(by_sequence_.begin(), by_sequence_.end(), [](auto& a, auto& b) { return a.sequence < b.sequence; });
}

uint32_t ForwardOps::forward_row(uint32_t backward_row, bool same_lane) const {
  const OpDetail* detail = table_.op_detail(backward_row);
  if (!detail || detail->sequence < 0) return kNoIndex;
  auto [begin, end] =
      std::equal_range(by_sequence_.begin(), by_sequence_.end(), NumberedOp{detail->sequence, 0, 0, false},
                       [](auto& a, auto& b) { return a.sequence < b.sequence; });
  uint32_t best = kNoIndex;
  for (auto op = begin; op != end; ++op) {
    if (table_.ts_ns[op->row] >= table_.ts_ns[backward_row]) continue;
    if ((op->lane == table_.lane[backward_row]) != same_lane) continue;
    // Several operators carry a number when they nest; the last to start is the innermost and the latest.
    if (best == kNoIndex || table_.ts_ns[op->row] >= table_.ts_ns[best]) best = op->row;
  }
  return best;
}

uint32_t ForwardOps::first_launch_in(uint32_t row) const {
  const auto& launches = list_.launches;
  auto it = std::lower_bound(launches.begin(), launches.end(), table_.ts_ns[row],
                             [](auto& l, int64_t ts) { return l.ts_ns < ts; });
  for (; it != launches.end() && it->ts_ns < table_.end_ns(row); ++it)
    if (it->lane == table_.lane[row]) return static_cast<uint32_t>(it - launches.begin());
  return kNoIndex;
}

uint32_t ForwardOps::forward_of(const Launch& launch) const {
  if (launch.sequence_op == kNoIndex) return kNoIndex;
  const bool in_checkpoint = launch.checkpoint_op != kNoIndex;
  uint32_t row = forward_row(launch.sequence_op, in_checkpoint);
  if (row == kNoIndex) row = forward_row(launch.sequence_op, !in_checkpoint);
  if (row == kNoIndex) return kNoIndex;
  if (uint32_t inside = first_launch_in(row); inside != kNoIndex) return inside;
  const auto& launches = list_.launches;
  auto it = std::lower_bound(launches.begin(), launches.end(), table_.ts_ns[row],
                             [](auto& l, int64_t ts) { return l.ts_ns < ts; });
  while (it != launches.begin())
    if ((--it)->lane == table_.lane[row]) return static_cast<uint32_t>(it - launches.begin());
  return kNoIndex;
}

}  // namespace lumos
