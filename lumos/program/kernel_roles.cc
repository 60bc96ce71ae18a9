#include "lumos/program/kernel_roles.h"

#include <algorithm>
#include <array>
#include <map>

namespace lumos {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_attention(std::string_view name) {
  for (std::string_view part : {"flash", "fmha", "attention", "Attention", "softmax", "Softmax"})
    if (contains(name, part)) return true;
  return false;
}

/// Fused attention kernels name the library that GEMMs come from, too.
bool is_gemm(std::string_view name) {
  if (is_attention(name)) return false;
  for (std::string_view part : {"gemm", "Gemm", "GEMM", "cutlass", "wgmma", "nvjet", "Cijk_", "splitKreduce"})
    if (contains(name, part)) return true;
  return false;
}

/// Linear layers in the order in which the forward runs them; the backward runs them in reverse.
constexpr std::array<KernelRole, 4> kLinears = {KernelRole::kQkv, KernelRole::kProjection, KernelRole::kFc1,
                                                KernelRole::kFc2};

class RoleFinder {
 public:
  explicit RoleFinder(const RankProgram& rank)
      : rank_(rank), table_(*rank.table), launches_(rank.recovered.list.launches) {
    roles_.resize(launches_.size());
    for (uint32_t id = 0; id < table_.names->size(); ++id) {
      gemm_.push_back(is_gemm(table_.text(NameId{id})));
      attention_.push_back(is_attention(table_.text(NameId{id})));
    }
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
    return roles_;
  }

 private:
  std::string_view name(uint32_t launch) const { return table_.name_of(launches_[launch].gpu_row); }
  uint32_t name_id(uint32_t launch) const { return static_cast<uint32_t>(table_.name[launches_[launch].gpu_row]); }
  bool gemm(uint32_t launch) const { return gemm_[name_id(launch)]; }
  bool attention(uint32_t launch) const { return attention_[name_id(launch)]; }

  /// True inside the accumulation of a parameter's gradient: its kernels are as large as the parameter.
  bool accumulates(uint32_t launch) const {
    const uint32_t op = launches_[launch].outer_op;
    return op != kNoIndex && contains(table_.name_of(op), "AccumulateGrad");
  }

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
        usual_.push_back(table_.name[launches_[i].gpu_row]);
    }
  }

  void layer(const Block& block, bool backward) {
    std::vector<uint32_t> gemms;
    for (uint32_t i = block.launch_begin; i < block.launch_end; ++i)
      if (!launches_[i].is_communication && gemm(i)) gemms.push_back(i);
    assign_linears(gemms, backward);
    const std::vector<bool> extra =
        backward ? extra_launches(block) : std::vector<bool>(block.launch_end - block.launch_begin, false);
    for (uint32_t i = block.launch_begin; i < block.launch_end; ++i) {
      RoleOf& role = roles_[i];
      if (launches_[i].is_communication)
        role.role = KernelRole::kCommunication;
      else if (gemm(i))
        continue;
      else if (extra[i - block.launch_begin])
        role.role = KernelRole::kWeights;
      else if (attention(i))
        role.role = KernelRole::kAttention;
      else
        role.role = between_linears(gemms, i);
    }
  }

  /// A forward has one product per linear layer, a backward two (after those of its recomputation, if any).
  void assign_linears(const std::vector<uint32_t>& gemms, bool backward) {
    std::vector<RoleOf> expected;
    auto forward = [&] {
      for (KernelRole role : kLinears) expected.push_back({role, GemmPart::kForward});
    };
    if (!backward) {
      forward();
    } else {
      if (gemms.size() == 12) forward();
      for (auto role = kLinears.rbegin(); role != kLinears.rend(); ++role) {
        expected.push_back({*role, GemmPart::kInputGradient});
        expected.push_back({*role, GemmPart::kWeightGradient});
      }
    }
    for (size_t i = 0; i < gemms.size(); ++i)
      roles_[gemms[i]] =
          gemms.size() == expected.size() ? expected[i] : RoleOf{KernelRole::kOtherGemm, GemmPart::kForward};
  }

  /// Launches that do not fit into the usual sequence of a backward layer.
  std::vector<bool> extra_launches(const Block& block) const {
    std::vector<bool> extra(block.launch_end - block.launch_begin, false);
    size_t next = 0;
    for (uint32_t i = block.launch_begin; i < block.launch_end; ++i) {
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
    if (op == kNoIndex || !contains(name(launch), "reduce")) return KernelRole::kOther;
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
    if (op == kNoIndex || !contains(table_.name_of(op), "Embedding")) return false;
    return launch == 0 || launches_[launch - 1].outer_op != op;
  }

  void head(const Block& block, bool backward) {
    bool logits = backward;
    for (uint32_t i = block.launch_begin; i < block.launch_end; ++i) {
      RoleOf& role = roles_[i];
      if (launches_[i].is_communication) {
        role.role = KernelRole::kCommunication;
      } else if (gemm(i)) {
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
  std::vector<bool> gemm_, attention_;  ///< by name
};

}  // namespace

std::string_view role_name(KernelRole role) {
  constexpr std::string_view names[] = {"qkv",       "projection", "fc1",           "fc2", "logits",     "gemm",
                                        "attention", "hidden",     "heads",         "ffn", "vocabulary", "weights",
                                        "embedding", "optimizer",  "communication", ""};
  return names[static_cast<int>(role)];
}

std::vector<RoleOf> find_roles(const RankProgram& rank) { return RoleFinder(rank).run(); }

}  // namespace lumos
