#include "lumos/whatif/edit/scale.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <regex>
#include <utility>

#include "lumos/sim/overlap.h"
#include "lumos/whatif/edit/missing_members.h"
#include "lumos/whatif/times/cpu_time.h"
#include "lumos/whatif/times/name_match.h"

namespace lumos {

namespace {

constexpr std::array<std::pair<std::string_view, ScaleTarget>, 6> kPrefixes = {{
    {"comm:", ScaleTarget::kComm},
    {"group:", ScaleTarget::kGroup},
    {"kernel:", ScaleTarget::kKernel},
    {"op:", ScaleTarget::kOp},
    {"op-cpu:", ScaleTarget::kOpCpu},
    {"rank:", ScaleTarget::kRank},
}};

bool is_cpu(TaskKind kind) { return kind == TaskKind::kHost || kind == TaskKind::kCall; }

Result<std::regex> compile(const Scale& scale) { return compile_pattern("--scale " + scale.text, scale.pattern); }

class Scaler {
 public:
  explicit Scaler(const LinkedJob& job) : job_(job), out_{job.linked.graph, {}}, factor_(out_.graph.size(), 1.0) {}

  Status apply(const Scale& scale) {
    current_ = {scale.text, 0, 0, {}};
    const std::regex expression = TRY(compile(scale));
    switch (scale.target) {
      case ScaleTarget::kComm:
      case ScaleTarget::kGroup:
        scale_transfers(scale, expression);
        break;
      case ScaleTarget::kKernel:
        scale_kernels(scale, expression);
        break;
      case ScaleTarget::kOp:
        scale_operators(scale, expression);
        break;
      case ScaleTarget::kOpCpu:
        scale_operator_cpu(scale, expression);
        break;
      case ScaleTarget::kHost:
        scale_cpu(scale, std::nullopt);
        break;
      case ScaleTarget::kRank:
        scale_rank(scale);
        break;
    }
    if (current_.tasks == 0) {
      return fail(ErrorKind::kUsage, "--scale {} matches nothing; `lumos inspect` lists names and groups", scale.text);
    }
    out_.matches.push_back(current_);
    return {};
  }

  ScaledGraph finish() {
    ExecGraph& graph = out_.graph;
    for (uint32_t task = 0; task < graph.size(); ++task) {
      for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
        Edge& edge = graph.edges[e];
        // Room on the GPU opens after a part of the running kernel, which scales with it.
        if (edge.kind == EdgeKind::kFirstWave) edge.lag_ns = scaled_lag(edge.lag_ns, factor_[edge.source]);
      }
    }
    follow_missing_members(job_, graph);
    return std::move(out_);
  }

 private:
  static int32_t scaled_lag(int32_t lag_ns, double factor) {
    const double most = std::numeric_limits<int32_t>::max();
    return static_cast<int32_t>(std::llround(std::min(most, double(lag_ns) * factor)));
  }

  void scale_task(uint32_t task, double factor, int64_t fixed_ns = 0) {
    int64_t& duration = out_.graph.duration_ns[task];
    ++current_.tasks;
    current_.time_ms += double(duration - fixed_ns) / 1e6;
    const int64_t scaled = fixed_ns + multiplied_ns(duration - fixed_ns, factor);
    if (fixed_ns == 0) factor_[task] *= factor;
    duration = scaled;
  }

  template <class Chosen>
  void scale_rank_tasks(const RankTasks& rank, double factor, Chosen chosen) {
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      if (chosen(task)) scale_task(task, factor);
    }
  }

  void scale_transfers(const Scale& scale, const std::regex& expression) {
    const JobMatches& matches = job_.matches;
    std::vector<bool> group_matches;
    for (const CommGroup& group : matches.groups) {
      group_matches.push_back(std::regex_match(group.name, expression) ||
                              std::regex_match(group.description, expression));
    }
    for (size_t k = 0; k < matches.kernels.size(); ++k) {
      const uint32_t task = job_.linked.transfer_task[k];
      if (task == kNoIndex) continue;
      bool matched = group_matches[matches.kernels[k].group];
      if (scale.target == ScaleTarget::kComm) {
        const std::string_view kind = text_of(matches.kernels[k].kind);
        matched = matched || std::regex_match(kind.begin(), kind.end(), expression);
      }
      if (matched) scale_task(task, scale.factor, job_.transfers.settling_of(k));
    }
  }

  void scale_kernels(const Scale& scale, const std::regex& expression) {
    for (const RankTasks& rank : out_.graph.ranks) {
      NameMatcher names(*rank.table->names, expression);
      scale_rank_tasks(rank, scale.factor, [&](uint32_t task) {
        return is_compute_task(out_.graph.kind[task]) && out_.graph.event[task] != kNoIndex &&
               names.matches(rank.table->name[out_.graph.event[task]]);
      });
    }
  }

  /// GPU work belongs to the operator around the call that launched it: the source of its launch edge.
  void scale_operators(const Scale& scale, const std::regex& expression) {
    const ExecGraph& graph = out_.graph;
    for (const RankTasks& rank : graph.ranks) {
      const std::vector<uint32_t> inside = matching_operator(*rank.table, expression);
      scale_rank_tasks(rank, scale.factor, [&](uint32_t task) {
        if (!is_compute_task(graph.kind[task])) return false;
        for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
          const uint32_t row = graph.event[graph.edges[e].source];
          if (graph.edges[e].kind == EdgeKind::kLaunch && row != kNoIndex && inside[row] != kNoIndex) return true;
        }
        return false;
      });
    }
  }

  void scale_operator_cpu(const Scale& scale, const std::regex& expression) {
    const ExecGraph& graph = out_.graph;
    for (const RankTasks& rank : graph.ranks) {
      const std::vector<uint32_t> inside = matching_operator(*rank.table, expression);
      scale_rank_tasks(rank, scale.factor, [&](uint32_t task) {
        return is_cpu(graph.kind[task]) && graph.event[task] != kNoIndex && inside[graph.event[task]] != kNoIndex;
      });
    }
  }

  void scale_cpu(const Scale& scale, std::optional<int32_t> only_rank) {
    for (const RankTasks& rank : out_.graph.ranks) {
      if (only_rank && rank.rank != *only_rank) continue;
      const std::vector<int64_t> cpu = program_cpu_ns(out_.graph, rank);
      for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
        const int64_t own_ns = cpu[task - rank.first_task];
        if (own_ns > 0) scale_task(task, scale.factor, out_.graph.duration_ns[task] - own_ns);
      }
    }
  }

  void scale_rank(const Scale& scale) {
    for (const RankTasks& rank : out_.graph.ranks) {
      if (rank.rank != scale.rank) continue;
      scale_rank_tasks(rank, scale.factor, [&](uint32_t task) { return is_compute_task(out_.graph.kind[task]); });
    }
    scale_cpu(scale, scale.rank);
  }

  const LinkedJob& job_;
  ScaledGraph out_;
  std::vector<double> factor_;
  ScaleMatch current_;
};

}  // namespace

Result<Scale> parse_scale(std::string_view text) {
  Scale scale;
  scale.text = text;
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos) {
    return fail(ErrorKind::kUsage, "--scale {}: write SELECTOR=FACTOR, as in kernel:.*gemm.*=0.5", text);
  }
  const std::string_view selector = text.substr(0, equals), factor = text.substr(equals + 1);
  const auto [end, error] = std::from_chars(factor.data(), factor.data() + factor.size(), scale.factor);
  if (error != std::errc() || end != factor.data() + factor.size() || !(scale.factor >= 0) ||
      scale.factor > kLargestFactor) {
    return fail(ErrorKind::kUsage, "--scale {}: '{}' is no factor; write a number from 0 to {:g}", text, factor,
                kLargestFactor);
  }
  if (selector == "host") return scale;
  for (const auto& [prefix, target] : kPrefixes) {
    if (!selector.starts_with(prefix)) continue;
    scale.target = target;
    scale.pattern = selector.substr(prefix.size());
    if (target == ScaleTarget::kRank) {
      const char* last = scale.pattern.data() + scale.pattern.size();
      const auto [stop, wrong] = std::from_chars(scale.pattern.data(), last, scale.rank);
      if (wrong != std::errc() || stop != last || scale.rank < 0)
        return fail(ErrorKind::kUsage, "--scale {}: '{}' is no rank", text, scale.pattern);
    }
    TRY(compile(scale));
    return scale;
  }
  return fail(ErrorKind::kUsage,
              "--scale {}: '{}' is no selector; there are comm:REGEX, group:REGEX, kernel:REGEX, op:REGEX, "
              "op-cpu:REGEX, host and rank:N",
              text, selector);
}

Result<ScaledGraph> scale_graph(const LinkedJob& job, const std::vector<Scale>& scales) {
  Scaler scaler(job);
  for (const Scale& scale : scales) TRY_STATUS(scaler.apply(scale));
  return scaler.finish();
}

}  // namespace lumos
