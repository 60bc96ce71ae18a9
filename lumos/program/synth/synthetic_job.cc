#include "lumos/program/synth/synthetic_job.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "lumos/plan/ops/layout.h"
#include "lumos/program/lower/draw.h"
#include "lumos/program/lower/lower.h"
#include "lumos/sim/replayed_table.h"
#include "lumos/sim/simulate.h"

namespace lumos {
namespace {

/// 2025-01-01; absolute times look like a profiler's.
constexpr int64_t kBaseNs = 1'735'689'600'000'000'000;

/// Of all simulated ranks together. An event takes about 200 bytes here, with its tasks and dependencies.
constexpr size_t kMostEvents = 100'000'000;

/// All stages of the pipelines that `ranks` are part of; of one pipeline where they are all alike.
std::vector<int64_t> ranks_to_simulate(const Job& job, const SyntheticOptions& options) {
  const Mesh mesh = mesh_of(job);
  std::set<int64_t> simulated;
  for (int64_t rank : options.ranks) {
    const Position position = options.jitter_sigma > 0 ? mesh.position(rank) : Position();
    for (int32_t member : mesh.members(position, Dimension::kPipeline)) simulated.insert(member);
  }
  return {simulated.begin(), simulated.end()};
}

/// What the members of one collective, or the two ends of one message, have in common.
using MeetingKey = std::tuple<bool, int64_t, int64_t, int, int, bool>;

MeetingKey key_of(const SyntheticTransfer& transfer) {
  const Tensor& tensor = transfer.tensor;
  return {transfer.is_message, transfer.group,       transfer.ordinal,
          tensor.microbatch,   tensor.virtual_stage, tensor.backward};
}

/// A seed of the meeting's own, so that it does not depend on which others are simulated.
uint64_t seed_of(const SyntheticTransfer& transfer, uint64_t seed) {
  const Tensor& tensor = transfer.tensor;
  for (int64_t part : {transfer.group, transfer.ordinal, int64_t{tensor.microbatch}, int64_t{tensor.virtual_stage},
                       int64_t{tensor.backward}, int64_t{transfer.is_message}})
    seed = Draw(seed ^ static_cast<uint64_t>(part)).next();
  return seed;
}

/// Factors exp(sigma z), with z normal (Box and Muller 1958) and the mean of the factor 1.
class Jitter {
 public:
  Jitter(double sigma, uint64_t seed) : sigma_(sigma), draw_(seed) {}
  int64_t of(int64_t duration_ns) {
    if (sigma_ <= 0) return duration_ns;
    const double u = (static_cast<double>(draw_.next() >> 11) + 0.5) / 9007199254740992.0;  // 2^53
    const double v = (static_cast<double>(draw_.next() >> 11) + 0.5) / 9007199254740992.0;
    const double z = std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
    return std::llround(static_cast<double>(duration_ns) * std::exp(sigma_ * z - sigma_ * sigma_ / 2));
  }

 private:
  double sigma_;
  Draw draw_;
};

TaskDurations jittered(const Program& program, const SyntheticOptions& options) {
  TaskDurations durations = measured_durations(program);
  if (options.jitter_sigma <= 0) return durations;
  for (size_t r = 0; r < durations.size(); ++r) {
    // Each rank draws for itself: which others are simulated does not change it.
    Jitter jitter(options.jitter_sigma, options.seed * 1'000'003 + static_cast<uint64_t>(program.ranks[r].rank));
    for (size_t t = 0; t < durations[r].size(); ++t)
      if (is_gpu_task(program.ranks[r].tasks[t].kind)) durations[r][t] = jitter.of(durations[r][t]);
  }
  return durations;
}

/// All blocks of all ranks in their order. Transfers of which more than one member is simulated meet.
LowerPlan plan_meetings_of(const Program& program, std::vector<std::vector<SyntheticTransfer>>& transfers,
                           const SyntheticOptions& options) {
  std::map<MeetingKey, uint32_t> members;
  for (const auto& list : transfers)
    for (const SyntheticTransfer& transfer : list) ++members[key_of(transfer)];
  LowerPlan plan;
  std::map<MeetingKey, uint32_t> meetings;
  for (uint32_t r = 0; r < program.ranks.size(); ++r) {
    PlannedRank rank;
    rank.rank = program.ranks[r].rank;
    auto transfer = transfers[r].begin();
    for (uint32_t b = 0; b < program.ranks[r].blocks.size(); ++b) {
      PlacedBlock placed{r, b};
      placed.meeting_begin = static_cast<uint32_t>(plan.meeting_of.size());
      for (; transfer != transfers[r].end() && transfer->block == b; ++transfer) {
        const MeetingKey key = key_of(*transfer);
        if (members[key] < 2) continue;
        const auto [found, fresh] = meetings.try_emplace(key, static_cast<uint32_t>(plan.meeting_ns.size()));
        if (fresh) {
          Jitter jitter(options.jitter_sigma, seed_of(*transfer, options.seed));
          plan.meeting_ns.push_back(jitter.of(transfer->duration_ns));
        }
        plan.meeting_of.push_back({transfer->row, found->second, transfer->sends, transfer->receives});
      }
      placed.meeting_end = static_cast<uint32_t>(plan.meeting_of.size());
      rank.blocks.push_back(placed);
    }
    plan.ranks.push_back(std::move(rank));
  }
  return plan;
}

/// Every rank and step is about as large as the first one.
Status check_size(const Job& job, const Cluster& cluster, const SyntheticOptions& options,
                  const std::vector<int64_t>& simulated) {
  if (simulated.empty()) return {};
  const size_t events =
      synthesize_rank(job, cluster, simulated.front(), 1).program.table->size() * static_cast<size_t>(options.steps);
  if (events <= kMostEvents / simulated.size()) return {};
  return fail(ErrorKind::kUsage, "synth: {} ranks of {} events each are more than fit in memory; fewer --steps{}",
              simulated.size(), events, options.jitter_sigma > 0 ? " or --ranks, or no jitter" : "");
}

}  // namespace

std::vector<int64_t> ranks_of_stages(const Job& job) {
  const std::vector<int32_t> ranks = mesh_of(job).members(Position(), Dimension::kPipeline);
  return {ranks.begin(), ranks.end()};
}

std::vector<int64_t> all_ranks(const Job& job) {
  std::vector<int64_t> ranks(static_cast<size_t>(job.world_size));
  for (size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int64_t>(i);
  return ranks;
}

Result<SyntheticJob> simulate_job(const Job& job, const Cluster& cluster, const SyntheticOptions& options) {
  TRY_STATUS(check_synthesis(job));
  for (int64_t rank : options.ranks)
    if (rank < 0 || rank >= job.world_size)
      return fail(ErrorKind::kUsage, "synth: rank {} of a job whose world_size is {}", rank, job.world_size);
  SyntheticJob made;
  made.simulated = ranks_to_simulate(job, options);
  TRY_STATUS(check_size(job, cluster, options, made.simulated));
  made.program.lanes = synthetic_lanes();
  std::vector<std::vector<SyntheticTransfer>> transfers;
  for (int64_t rank : made.simulated) {
    SyntheticRank one = synthesize_rank(job, cluster, rank, options.steps);
    made.program.ranks.push_back(std::move(one.program));
    transfers.push_back(std::move(one.transfers));
  }
  const LowerPlan plan = plan_meetings_of(made.program, transfers, options);
  made.graph = TRY(lower(made.program, plan, jittered(made.program, options)));
  made.timeline = simulate(made.graph);
  return made;
}

EventTable synthetic_table(SyntheticJob& made, const Job& job, const Cluster& cluster, int64_t rank, int steps) {
  const auto exact = std::find(made.simulated.begin(), made.simulated.end(), rank);
  EventTable table;
  if (exact != made.simulated.end()) {
    table = replayed_table(made.graph, made.timeline, static_cast<uint32_t>(exact - made.simulated.begin()));
  } else {
    // Another rank of the stage stands for this one: the same rows, with this one's groups.
    const Mesh mesh = mesh_of(job);
    const auto stage_of = [&](int64_t other) { return mesh.position(other)[Dimension::kPipeline]; };
    const auto like = std::find_if(made.simulated.begin(), made.simulated.end(),
                                   [&](int64_t other) { return stage_of(other) == stage_of(rank); });
    CHECK(like != made.simulated.end());
    const auto index = static_cast<uint32_t>(like - made.simulated.begin());
    const SyntheticRank own = synthesize_rank(job, cluster, rank, steps);
    std::shared_ptr<const EventTable>& shown = made.graph.ranks[index].table;
    const std::shared_ptr<const EventTable> kept = std::exchange(shown, own.program.table);
    table = replayed_table(made.graph, made.timeline, index);
    shown = kept;
  }
  table.info.base_ns = kBaseNs;
  return table;
}

double step_ms(const EventTable& table) {
  double sum_ns = 0;
  int count = 0;
  for (size_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] != EventKind::kAnnotation || !table.name_of(row).starts_with("ProfilerStep#")) continue;
    sum_ns += static_cast<double>(table.dur_ns[row]);
    ++count;
  }
  return count > 0 ? sum_ns / count / 1e6 : 0;
}

}  // namespace lumos
