#include "lumos/program/blocks/kernel_roles.h"

#include <algorithm>
#include <array>
#include <map>

namespace lumos {
namespace {

/// Linear layers in the order in which the forward runs them; the backward runs them in reverse.
constexpr std::array<KernelRole, 4> kLinears = {KernelRole::kQkv, KernelRole::kProjection, KernelRole::kFc1,
                                                KernelRole::kFc2};

class RoleFinder {
 public:
  explicit RoleFinder(const RankProgram& rank)
      : rank_(rank), table_(*rank.table), launches_(rank.recovered.list.launches) {
    roles_.resize(launches_.size());
  }

  std::vector<RoleOf> run() {
    find_usual_layers();
    for (const Block& block : rank_.blocks) {
      switch (block.role) {
        case BlockRole::kForwardLayer:
          layer(block, false);
          break;
        case BlockRole::kBackwardLayer:
          layer(block, true);
          break;
        case BlockRole::kForwardEntry:
        case BlockRole::kBackwardExit:
          embedding(block);
          break;
        case BlockRole::kForwardExit:
          head(block, false);
          break;
        case BlockRole::kBackwardEntry:
          head(block, true);
          break;
        case BlockRole::kInit:
          fill(block, KernelRole::kWeights);
          break;
        case BlockRole::kGradSync:
          fill(block, KernelRole::kWeights);
          break;
        case BlockRole::kOptimizer:
          fill(block, KernelRole::kOptimizer);
          break;
        default:
          break;
      }
    }
    for (uint32_t i = 0; i < launches_.size(); ++i) sharded(i);
    return roles_;
  }

 private:
  /// What is done for a sharded unit is as large as the unit, or as this rank's part of it.
  void sharded(uint32_t launch) {
    const UnitWork work = launches_[launch].unit_work;
    if (work == UnitWork::kNone || launches_[launch].is_communication) return;
    const bool whole = work == UnitWork::kCopyOut || work == UnitWork::kReduceIn;
    roles_[launch] = {whole ? KernelRole::kUnitCopy : KernelRole::kShardCopy};
  }

  KernelMeaning meaning(uint32_t launch) const { return table_.kernel_meaning(launches_[launch].gpu_row); }
  bool gemm(uint32_t launch) const { return meaning(launch).is_product(); }
  bool attention(uint32_t launch) const { return meaning(launch).is(KernelTrait::kAttention); }
  bool split_sum(uint32_t launch) const { return meaning(launch).is(KernelTrait::kSplitSum); }
  bool op_is(uint32_t op, OperatorTrait trait) const { return op != kNoIndex && table_.operator_meaning(op).is(trait); }
  /// The operator multiplies many matrices of activations: what attention is without a fused kernel.
  bool batched(uint32_t launch) const {
    return op_is(launches_[launch].inner_op, OperatorTrait::kBatchedProduct) ||
           op_is(launches_[launch].outer_op, OperatorTrait::kBatchedProduct);
  }
  Phase phase(uint32_t launch) const { return rank_.recovered.labels[launch].phase; }

  /// True inside the accumulation of a parameter's gradient: its kernels are as large as the parameter.
  bool accumulates(uint32_t launch) const { return op_is(launches_[launch].outer_op, OperatorTrait::kAccumulates); }

  void fill(const Block& block, KernelRole role) {
    for (uint32_t i = block.launch_begin; i < block.launch_end; ++i)
      roles_[i].role = launches_[i].is_communication ? KernelRole::kCommunication : role;
  }

  /// The kernels that every backward layer launches, by name: what comes on top of them in some are gradient hooks.
  void find_usual_layers() {
    std::map<uint64_t, uint32_t> counts;
    for (const Block& block : rank_.blocks)
      if (block.role == BlockRole::kBackwardLayer) ++counts[block.shape];
    uint32_t most = 0;
    for (const Block& block : rank_.blocks) {
      if (block.role != BlockRole::kBackwardLayer || counts[block.shape] <= most) continue;
      most = counts[block.shape];
      usual_.clear();
      for (uint32_t i = block.launch_begin; i < block.launch_end; ++i)
        if (launches_[i].unit_work == UnitWork::kNone) usual_.push_back(table_.name[launches_[i].gpu_row]);
    }
  }

  void layer(const Block& block, bool backward) {
    LayerProducts products = find_products(block);
    assign_linears(products, backward);
    place_batched(products, backward);
    const std::vector<bool> extra =
        backward ? extra_launches(block) : std::vector<bool>(block.launch_end - block.launch_begin, false);
    uint32_t product = kNoIndex;  // the last one before
    for (uint32_t i = block.launch_begin; i < block.launch_end; ++i) {
      RoleOf& role = roles_[i];
      if (launches_[i].is_communication) {
        role.role = KernelRole::kCommunication;
      } else if (gemm(i)) {
        product = i;
      } else if (split_sum(i) && product != kNoIndex) {
        role = {roles_[product].role, roles_[product].part, false};
      } else if (extra[i - block.launch_begin]) {
        role.role = KernelRole::kWeights;
      } else if (attention(i)) {
        role.role = products.fused_attention ? KernelRole::kAttention : KernelRole::kScores;
      } else if (between_batched(products, i)) {
        role.role = KernelRole::kScores;
      } else {
        role.role = between_linears(products.linears, i);
      }
    }
  }

  /// The products of a layer: of activations with weights, and of activations with each other. In launch order.
  struct LayerProducts {
    std::vector<uint32_t> linears;
    std::vector<uint32_t> batched;
    std::vector<uint32_t> attention;  ///< kernels of attention that are no products
    bool fused_attention = false;
  };

  LayerProducts find_products(const Block& block) const {
    LayerProducts found;
    for (uint32_t i = block.launch_begin; i < block.launch_end; ++i) {
      if (launches_[i].is_communication) continue;
      if (gemm(i)) (batched(i) ? found.batched : found.linears).push_back(i);
      if (attention(i)) found.attention.push_back(i);
      found.fused_attention |= meaning(i).is_fused_attention();
    }
    return found;
  }

  /// A forward has one product per linear layer, a backward two (after those of its recomputation, if any). Where a
  /// model has others, their place around attention tells.
  void assign_linears(const LayerProducts& products, bool backward) {
    const std::vector<uint32_t>& linears = products.linears;
    std::vector<RoleOf> expected;
    auto forward = [&] {
      for (KernelRole role : kLinears) expected.push_back({role, GemmPart::kForward});
    };
    if (!backward) {
      forward();
    } else {
      if (linears.size() == 12) forward();
      for (auto role = kLinears.rbegin(); role != kLinears.rend(); ++role) {
        expected.push_back({*role, GemmPart::kInputGradient});
        expected.push_back({*role, GemmPart::kWeightGradient});
      }
    }
    if (linears.size() == expected.size()) {
      for (size_t i = 0; i < linears.size(); ++i) roles_[linears[i]] = expected[i];
      return;
    }
    for (uint32_t i : linears) roles_[i].role = KernelRole::kOtherGemm;
    // What is recomputed runs as a forward does, whether or not it is part of a backward.
    for (bool again : {false, true}) {
      const auto chosen = [&](const std::vector<uint32_t>& from) {
        std::vector<uint32_t> out;
        for (uint32_t i : from)
          if ((phase(i) == Phase::kRecompute) == again) out.push_back(i);
        return out;
      };
      std::vector<uint32_t> core = chosen(products.attention);
      if (!products.fused_attention) {
        const std::vector<uint32_t> batched = chosen(products.batched);
        core.insert(core.end(), batched.begin(), batched.end());
      }
      place_around_attention(chosen(linears), core, backward && !again);
    }
  }

  /// Linear layers by their place: before attention what makes queries, keys and values; after it the projection, then
  /// one or more into the wide part of the MLP, and the one out of it. In a backward the other way round, two products
  /// each. Nothing where there are fewer.
  void place_around_attention(const std::vector<uint32_t>& linears, const std::vector<uint32_t>& core, bool backward) {
    if (core.empty()) return;
    const auto [first, last] = std::minmax_element(core.begin(), core.end());
    std::vector<uint32_t> inner, outer;  // on the side of queries, and on that of the MLP
    for (uint32_t i : linears) {
      if (i > *first && i < *last) return;
      ((i < *first) != backward ? inner : outer).push_back(i);
    }
    const size_t each = backward ? 2 : 1;
    if (inner.empty() || outer.size() < 3 * each || inner.size() % each != 0 || outer.size() % each != 0) return;
    if (backward) std::reverse(outer.begin(), outer.end());  // as the forward runs them
    const auto assign = [&](const std::vector<uint32_t>& some, size_t begin, size_t end, KernelRole role) {
      for (size_t i = begin; i < end; ++i) {
        // Reversed, each pair holds the weight's gradient first.
        const bool weight = &some == &outer ? i % 2 == 0 : i % 2 == 1;
        roles_[some[i]] = {role,
                           !backward ? GemmPart::kForward
                           : weight  ? GemmPart::kWeightGradient
                                     : GemmPart::kInputGradient,
                           end - begin == each};
      }
    };
    assign(inner, 0, inner.size(), KernelRole::kQkv);
    assign(outer, 0, each, KernelRole::kProjection);
    assign(outer, each, outer.size() - each, KernelRole::kFc1);
    assign(outer, outer.size() - each, outer.size(), KernelRole::kFc2);
  }

  /// Batched products between the linear layers of attention are attention; others (experts) are products of weights.
  void place_batched(const LayerProducts& products, bool backward) {
    const auto gap = [&](uint32_t launch) {
      return std::lower_bound(products.linears.begin(), products.linears.end(), launch) - products.linears.begin();
    };
    for (uint32_t i : products.batched) roles_[i].role = KernelRole::kOtherGemm;
    if (products.fused_attention) return;
    for (bool again : {false, true}) {
      std::vector<uint32_t> own;
      for (uint32_t i : products.batched)
        if ((phase(i) == Phase::kRecompute) == again) own.push_back(i);
      if (own.empty()) continue;
      const auto place = gap(backward && !again ? own.back() : own.front());
      for (uint32_t i : own)
        if (gap(i) == place) roles_[i].role = KernelRole::kAttentionProduct;
    }
  }

  /// True between two products of attention, where kernels work on its scores: as many as tokens times tokens.
  bool between_batched(const LayerProducts& products, uint32_t launch) const {
    const auto next = std::lower_bound(products.batched.begin(), products.batched.end(), launch);
    if (next == products.batched.begin() || next == products.batched.end()) return false;
    const uint32_t before = *(next - 1), after = *next;
    for (uint32_t product : {before, after})
      if (roles_[product].role != KernelRole::kAttentionProduct) return false;
    if (phase(before) != phase(after)) return false;
    return std::lower_bound(products.linears.begin(), products.linears.end(), before) ==
           std::lower_bound(products.linears.begin(), products.linears.end(), after);
  }

  /// Launches that do not fit into the usual sequence of a backward layer.
  std::vector<bool> extra_launches(const Block& block) const {
    std::vector<bool> extra(block.launch_end - block.launch_begin, false);
    size_t next = 0;
    for (uint32_t i = block.launch_begin; i < block.launch_end; ++i) {
      if (launches_[i].unit_work != UnitWork::kNone) continue;
      const NameId kernel = table_.name[launches_[i].gpu_row];
      if (next < usual_.size() && usual_[next] == kernel) {
        ++next;
        continue;
      }
      auto later = std::find(usual_.begin() + static_cast<std::ptrdiff_t>(next), usual_.end(), kernel);
      // A kernel that the usual layer never launches again here is on top of it.
      const bool skips_little = later != usual_.end() && later - usual_.begin() - static_cast<std::ptrdiff_t>(next) < 2;
      if (skips_little)
        next = static_cast<size_t>(later - usual_.begin()) + 1;
      else
        extra[i - block.launch_begin] = true;
    }
    return extra;
  }

  /// The width of a memory-bound kernel follows from the products around it.
  KernelRole between_linears(const std::vector<uint32_t>& gemms, uint32_t launch) const {
    KernelRole before = KernelRole::kOther, after = KernelRole::kOther;
    for (uint32_t gemm : gemms) {
      if (gemm < launch) before = roles_[gemm].role;
      if (gemm > launch && after == KernelRole::kOther) after = roles_[gemm].role;
    }
    auto is_pair = [&](KernelRole a, KernelRole b) {
      return (before == a && after == b) || (before == b && after == a);
    };
    // The sum over the tokens of a gradient makes the bias's: as wide as what its linear layer puts out.
    if (const KernelRole linear = bias_of(gemms, launch); linear == KernelRole::kFc1 || linear == KernelRole::kQkv)
      return linear == KernelRole::kFc1 ? KernelRole::kFfn : KernelRole::kHeads;
    if (is_pair(KernelRole::kQkv, KernelRole::kProjection)) return KernelRole::kHeads;
    if (is_pair(KernelRole::kFc1, KernelRole::kFc2)) return KernelRole::kFfn;
    return KernelRole::kHidden;
  }

  /// The linear layer whose backward operator launched this after its product for the weight, else kOther.
  KernelRole bias_of(const std::vector<uint32_t>& gemms, uint32_t launch) const {
    const uint32_t op = launches_[launch].outer_op;
    if (op == kNoIndex || !meaning(launch).is(KernelTrait::kReduces)) return KernelRole::kOther;
    for (uint32_t gemm : gemms)
      if (gemm < launch && launches_[gemm].outer_op == op && roles_[gemm].part == GemmPart::kWeightGradient)
        return roles_[gemm].role;
    return KernelRole::kOther;
  }

  void embedding(const Block& block) {
    for (uint32_t i = block.launch_begin; i < block.launch_end; ++i) {
      if (launches_[i].is_communication)
        roles_[i].role = KernelRole::kCommunication;
      else if (accumulates(i) || zeroes_in_embedding(i))
        roles_[i].role = KernelRole::kEmbedding;
      else
        roles_[i].role = KernelRole::kHidden;
    }
  }

  bool zeroes_in_embedding(uint32_t launch) const {
    const uint32_t op = launches_[launch].outer_op;
    if (!op_is(op, OperatorTrait::kEmbedding)) return false;
    return launch == 0 || launches_[launch - 1].outer_op != op;
  }

  void head(const Block& block, bool backward) {
    bool logits = backward;
    uint32_t product = kNoIndex;  // the last one before
    for (uint32_t i = block.launch_begin; i < block.launch_end; ++i) {
      RoleOf& role = roles_[i];
      if (launches_[i].is_communication) {
        role.role = KernelRole::kCommunication;
      } else if (split_sum(i) && product != kNoIndex) {
        role = {roles_[product].role, roles_[product].part, false};
      } else if (gemm(i)) {
        product = i;
        role = {KernelRole::kLogits, !backward ? GemmPart::kForward
                                     : logits  ? GemmPart::kInputGradient
                                               : GemmPart::kWeightGradient};
        logits = !backward;
      } else if (accumulates(i)) {
        role.role = KernelRole::kOther;
      } else {
        role.role = logits ? KernelRole::kVocabulary : KernelRole::kHidden;
      }
    }
  }

  const RankProgram& rank_;
  const EventTable& table_;
  const std::vector<Launch>& launches_;
  std::vector<RoleOf> roles_;
  std::vector<NameId> usual_;
};

}  // namespace

std::string_view role_name(KernelRole role) {
  constexpr std::string_view names[] = {
      "qkv",    "projection", "fc1",           "fc2", "logits",     "gemm",    "attention", "attention product",
      "scores", "hidden",     "heads",         "ffn", "vocabulary", "weights", "embedding", "optimizer",
      "shard",  "unit",       "communication", ""};
  return names[static_cast<int>(role)];
}

std::vector<RoleOf> find_roles(const RankProgram& rank) { return RoleFinder(rank).run(); }

}  // namespace lumos
