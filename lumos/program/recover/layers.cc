#include "lumos/program/recover/layers.h"

#include <algorithm>
#include <map>

#include "lumos/program/recover/passes.h"
#include "lumos/program/recover/period.h"
#include "lumos/program/recover/single_layer.h"
#include "lumos/program/recover/units.h"

namespace lumos {
namespace {

/// Fewer repetitions than these of fewer tokens than those are chance, not layers.
constexpr uint32_t kFewestLayers = 2;
constexpr uint32_t kFewestTokensPerLayer = 3;

class LayerFinder {
 public:
  LayerFinder(const EventTable& table, const RecoverHints& hints, RecoveredRank& rank)
      : table_(table), rank_(rank), launches_(rank.list.launches), ops_(table, rank.list) {
    if (hints.num_layers > 0) known_ = static_cast<uint32_t>(hints.num_layers / (rank.stages * rank.chunks));
  }

  void run() {
    rank_.labels.assign(launches_.size(), Label{});
    for (const Pass& pass : rank_.passes)
      for (uint32_t i = pass.begin; i < pass.end; ++i)
        rank_.labels[i] = {pass.phase, pass.step, pass.microbatch, pass.chunk, -1};
    for (const Pass& pass : rank_.passes)
      if (pass.phase == Phase::kForward) label_forward(pass);
    label_units(table_, rank_);  // what a backward's hooks point at lies beside them
    for (const Pass& pass : rank_.passes)
      if (pass.phase == Phase::kRecompute) label_recompute(pass);
    for (const Pass& pass : rank_.passes)
      if (pass.phase == Phase::kBackward) label_backward(pass);
    label_units(table_, rank_);
    for (const Label& label : rank_.labels) rank_.unplaced += label.phase == Phase::kUnknown;
  }

 private:
  /// What repeats is which kernel runs; communication of data parallelism comes when its bucket is full, not per layer.
  std::vector<uint32_t> tokens(const Pass& pass, std::vector<uint32_t>* launch_of_token) const {
    std::vector<uint32_t> tokens;
    for (uint32_t i = pass.begin; i < pass.end; ++i) {
      if (is_bucket_communication(launches_[i]) || launches_[i].unit_work != UnitWork::kNone) continue;
      tokens.push_back(static_cast<uint32_t>(table_.name[launches_[i].gpu_row]));
      launch_of_token->push_back(i);
    }
    return tokens;
  }

  bool is_bucket_communication(const Launch& launch) const {
    if (!launch.is_communication) return false;
    const CollectiveDetail* collective = table_.collective_detail(launch.gpu_row);
    return collective && table_.text(collective->group_desc).find("DATA_PARALLEL") != std::string_view::npos;
  }

  std::vector<uint32_t> rows_of(const std::vector<uint32_t>& launches) const {
    std::vector<uint32_t> rows;
    rows.reserve(launches.size());
    for (uint32_t launch : launches) rows.push_back(launches_[launch].gpu_row);
    return rows;
  }

  bool is_first(const Pass& pass) const { return rank_.stage == 0 && pass.chunk <= 0; }
  bool is_last(const Pass& pass) const { return rank_.stage + 1 == rank_.stages && pass.chunk + 1 >= rank_.chunks; }

  int16_t model_layer(const Pass& pass, uint32_t layer_of_chunk) const {
    const int before = (std::max<int>(pass.chunk, 0) * rank_.stages + rank_.stage) * rank_.layers_per_chunk;
    return static_cast<int16_t>(before + static_cast<int>(layer_of_chunk));
  }

  const Repetition& repetition_of(const std::vector<uint32_t>& tokens) {
    auto [it, fresh] = known_sequences_.try_emplace(tokens);
    if (fresh) {
      it->second = find_repetition(tokens, known_);
      if (it->second.count < kFewestLayers) it->second = {};
      if (it->second.length < kFewestTokensPerLayer) it->second = {};
    }
    return it->second;
  }

  void label_forward(const Pass& pass) {
    std::vector<uint32_t> launch_of_token;
    const std::vector<uint32_t> sequence = tokens(pass, &launch_of_token);
    const std::vector<uint32_t> rows = rows_of(launch_of_token);
    // What seems to repeat inside a single layer are its two halves.
    const bool single = known_ > 0 ? known_ == 1 : count_attentions(table_, rows) == 1;
    const Repetition found = single ? single_forward_layer(table_, rows, is_last(pass)) : repetition_of(sequence);
    if (found.count == 0) return;
    if (rank_.layers_per_chunk == 0) {
      rank_.layers_per_chunk = static_cast<int>(found.count);
      rank_.layer_match = found.match;
    }
    label_range(pass, launch_of_token, found, false);
  }

  /// Launches between two layers' tokens (buckets) go with the layer before them.
  void label_range(const Pass& pass, const std::vector<uint32_t>& launch_of_token, const Repetition& found,
                   bool reversed) {
    const uint32_t tokens_end = found.begin + found.count * found.length;
    for (uint32_t t = found.begin; t < tokens_end; ++t) {
      const uint32_t index = (t - found.begin) / found.length;
      const int16_t layer = model_layer(pass, reversed ? found.count - 1 - index : index);
      const uint32_t next = t + 1 < launch_of_token.size() ? launch_of_token[t + 1] : launch_of_token[t] + 1;
      for (uint32_t i = launch_of_token[t]; i < (t + 1 == tokens_end ? launch_of_token[t] + 1 : next); ++i)
        rank_.labels[i].layer = layer;
    }
  }

  void label_backward(const Pass& pass) {
    uint32_t numbered = 0;
    int16_t layer = -1;
    for (uint32_t i = pass.begin; i < pass.end; ++i) {
      const uint32_t forward = ops_.forward_of(launches_[i]);
      if (forward != kNoIndex) {
        layer = rank_.labels[forward].layer;
        ++numbered;
      }
      rank_.labels[i].layer = layer;
    }
    if (numbered > 0) return;
    std::vector<uint32_t> launch_of_token;
    std::vector<uint32_t> sequence = tokens(pass, &launch_of_token);
    if (rank_.layers_per_chunk == 1) {
      const Repetition only = single_backward_layer(table_, rows_of(launch_of_token), is_first(pass), is_last(pass));
      if (only.count > 0) label_range(pass, launch_of_token, only, true);
      return;
    }
    std::reverse(sequence.begin(), sequence.end());  // extra tokens that happen to match belong to the head
    Repetition found = repetition_of(sequence);
    if (found.count == 0) return;
    found.begin = static_cast<uint32_t>(sequence.size()) - found.begin - found.count * found.length;
    label_range(pass, launch_of_token, found, true);
  }

  /// What the first node of a layer's backward runs again is the layer's.
  void label_run_again(uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i)
      if (const uint32_t forward = ops_.forward_of(launches_[i]); forward != kNoIndex)
        rank_.labels[i].layer = rank_.labels[forward].layer;
  }

  /// A checkpoint runs the launches of its forward again, in their order.
  void label_recompute(const Pass& pass) {
    for (uint32_t begin = pass.begin; begin < pass.end;) {
      const uint32_t checkpoint = launches_[begin].checkpoint_op;
      uint32_t end = begin + 1;
      while (end < pass.end && launches_[end].checkpoint_op == checkpoint) ++end;
      if (checkpoint == kNoIndex) {
        label_run_again(begin, end);
        begin = end;
        continue;
      }
      const uint32_t row = ops_.forward_row(checkpoint, false);
      const uint32_t first = row == kNoIndex ? kNoIndex : ops_.first_launch_in(row);
      for (uint32_t i = begin; i < end && first != kNoIndex; ++i) {
        const auto source = std::min<uint32_t>(first + (i - begin), static_cast<uint32_t>(launches_.size()) - 1);
        rank_.labels[i].layer = rank_.labels[source].layer;
      }
      begin = end;
    }
  }

  const EventTable& table_;
  RecoveredRank& rank_;
  const std::vector<Launch>& launches_;
  ForwardOps ops_;
  uint32_t known_ = 0;
  std::map<std::vector<uint32_t>, Repetition> known_sequences_;
};

}  // namespace

void label_layers(const EventTable& table, const RecoverHints& hints, RecoveredRank& rank) {
  LayerFinder(table, hints, rank).run();
}

}  // namespace lumos
