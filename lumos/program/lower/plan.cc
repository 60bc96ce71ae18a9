#include "lumos/program/lower/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "lumos/base/parallel.h"
#include "lumos/plan/ops/layout.h"
#include "lumos/plan/parameters.h"
#include "lumos/program/lower/draw.h"
#include "lumos/program/lower/meetings.h"
#include "lumos/program/lower/repeats.h"
#include "lumos/program/measure/host_lags.h"

namespace lumos {
namespace {

/// Where a stage sits in its pipeline; decides which ends of the model it holds.
struct StageEnds {
  bool first = false;
  bool last = false;
  bool operator==(const StageEnds&) const = default;
};

StageEnds ends_of(int64_t stage, int64_t stages) { return {stage == 0, stage == stages - 1}; }

uint32_t pattern_of(const std::vector<Tensor>& sends, const std::vector<Tensor>& receives) {
  uint32_t pattern = 0;
  for (const Tensor& tensor : sends) pattern |= tensor.backward ? 8 : 1;
  for (const Tensor& tensor : receives) pattern |= tensor.backward ? 4 : 2;
  return pattern;
}

/// A forward or backward in the plan's own terms.
struct PassKey {
  bool backward = false;
  int16_t microbatch = 0;
  int16_t chunk = 0;
};

/// What all stages of a plan have in common: what varies from step to step, or from replica to replica, varies for all
/// of them alike.
struct SharedDraws {
  uint64_t step = 0;
  uint64_t replica = 0;
};

class StagePlanner {
 public:
  StagePlanner(const Recovery& recovery, const Job& target, uint64_t seed, SharedDraws shared)
      : recovery_(recovery), base_(recovery.job), target_(target), shared_(shared), draw_(seed) {
    layers_ = target.num_layers / (target.pipeline_model_parallel_size * target.virtual_pipeline_model_parallel_size);
    same_schedule_ = schedule_shape(base_) == schedule_shape(target_);
    same_layers_ = same_schedule_ && base_.num_layers == target_.num_layers;
  }

  void choose_donors(int64_t stage) {
    stage_ = stage;
    ends_ = ends_of(stage, target_.pipeline_model_parallel_size);
    donor_ = pick_rank(ends_);
    // The work of the model's ends is on the stages that hold them, whichever rank gives the layers.
    first_ = ends_.first ? pick_end(true) : donor_;
    last_ = ends_.last ? pick_end(false) : donor_;
  }

  uint32_t donor() const { return donor_; }

  /// Gradients are set to zero in one go per buffer: the time grows with the parameters.
  void init(std::vector<PlacedBlock>& out) {
    const size_t begin = out.size();
    put_all(donor_, step(donor_).init, out);
    for (size_t i = begin; i < out.size(); ++i) out[i].gpu_scale = static_cast<float>(stage_ratio(donor_));
  }

  void pass(PassKey key, std::vector<PlacedBlock>& out) {
    if (passes(donor_, key.backward).empty()) return;  // the traces show only forwards
    const bool entry_here =
        key.backward ? ends_.last && key.chunk + 1 == chunks(target_) : ends_.first && key.chunk == 0;
    const bool exit_here =
        key.backward ? ends_.first && key.chunk == 0 : ends_.last && key.chunk + 1 == chunks(target_);
    // A pass may begin with work that is no layer even away from the model's ends (input for the loss, masks).
    const uint32_t entry_rank = key.backward ? last_ : first_;
    const uint32_t exit_rank = key.backward ? first_ : last_;
    put_side(key, entry_here, true, entry_here ? entry_rank : donor_, out);
    put_layers(key, out);
    put_side(key, exit_here, false, exit_here ? exit_rank : donor_, out);
  }

  /// The blocks of an exchange: one, or one per tensor. Returns their tensors in order.
  void exchange(const Action& action, std::vector<PlacedBlock>& out, std::vector<Action>* parts) {
    if (recovery_.catalogs[donor_].batched_exchange || action.sends.size() + action.receives.size() <= 1) {
      if (put_exchange(pattern_of(action.sends, action.receives), out)) {
        parts->push_back(action);
        return;
      }
    }
    // A launch of its own for all of them, like the one that comes nearest.
    if (recovery_.catalogs[donor_].batched_exchange &&
        put_nearest_exchange(pattern_of(action.sends, action.receives), out)) {
      parts->push_back(action);
      return;
    }
    // One after the other. Interleaved stages exchange in a ring, where not all may send first.
    const bool receives_first = chunks(target_) > 1 && stage_ % 2 == 1;
    for (bool backward : {false, true}) {
      for (bool sends : {!receives_first, receives_first}) {
        for (const Tensor& tensor : sends ? action.sends : action.receives)
          if (tensor.backward == backward) put_single(tensor, sends, out, parts);
      }
    }
  }

  /// Gradient synchronisation, optimizer and log. The optimizer repeats itself per bucket: with more or fewer
  /// parameters on the stage, there are more or fewer repetitions.
  void tail(std::vector<PlacedBlock>& out) {
    const uint32_t rank = ends_.last && !ends_.first ? last_ : first_;
    const StepBlocks& from = step(rank);
    const double ratio = stage_ratio(rank);
    const size_t begin = out.size();
    put_repeated(rank, from.grad_sync, ratio, false, out);
    const size_t optimizer = out.size();
    put_repeated(rank, from.optimizer, ratio, true, out);
    for (size_t first : {begin, optimizer})
      if (first < out.size()) out[first].joins_streams = true;
    const uint32_t log_rank = ends_.last ? last_ : donor_;
    put_all(log_rank, step(log_rank).log, out);
  }

 private:
  static int64_t chunks(const Job& job) { return job.virtual_pipeline_model_parallel_size; }

  const StepBlocks& step(uint32_t rank) const {
    const auto& steps = recovery_.catalogs[rank].steps;
    return steps[(shared_.step + shared_.step / recovery_.places.size()) % steps.size()];
  }

  /// A traced rank that holds the same ends of the model, else any.
  uint32_t pick_rank(StageEnds ends) {
    std::vector<uint32_t> same, others;
    for (uint32_t r = 0; r < recovery_.places.size(); ++r) {
      const StageEnds has = ends_of(recovery_.places[r][Dimension::kPipeline], base_.pipeline_model_parallel_size);
      const bool same_stage = same_schedule_ ? recovery_.places[r][Dimension::kPipeline] == stage_ : has == ends;
      (same_stage ? same : others).push_back(r);
    }
    // With unchanged stages all of them come from one replica, whose ranks have waited for each other.
    if (base_.pipeline_model_parallel_size == target_.pipeline_model_parallel_size && !same.empty())
      return same[shared_.replica % same.size()];
    if (same.empty() && ends.first) return pick_end(true);
    if (same.empty() && ends.last) return pick_end(false);
    return draw_.pick(same.empty() ? others : same);
  }

  bool holds_end(uint32_t rank, bool first) const {
    const StageEnds has = ends_of(recovery_.places[rank][Dimension::kPipeline], base_.pipeline_model_parallel_size);
    return first ? has.first : has.last;
  }

  /// Ranks that hold the first, or the last, layers.
  std::vector<uint32_t> holders(bool first) const {
    std::vector<uint32_t> ranks;
    for (uint32_t r = 0; r < recovery_.places.size(); ++r)
      if (holds_end(r, first)) ranks.push_back(r);
    return ranks;
  }

  /// The stage's own donor where it holds that end.
  uint32_t pick_end(bool first) { return holds_end(donor_, first) ? donor_ : draw_.pick(holders(first)); }

  void put(uint32_t rank, uint32_t block, std::vector<PlacedBlock>& out) { out.push_back({rank, block}); }
  void put_all(uint32_t rank, const std::vector<uint32_t>& blocks, std::vector<PlacedBlock>& out) {
    for (uint32_t block : blocks) put(rank, block, out);
  }

  /// Position in the step that decides what a pass looks like: gradient hooks fire in the last backward, parameters are
  /// gathered in the first forward.
  static int16_t moment(int16_t microbatch, int64_t microbatches) {
    if (microbatch + 1 == microbatches) return 2;
    return microbatch == 0 ? 0 : 1;
  }

  const std::vector<PassBlocks>& passes(uint32_t rank, bool backward) const {
    return backward ? step(rank).backwards : step(rank).forwards;
  }

  /// A recovered pass of the same kind and moment; the same one where the schedule is unchanged.
  const PassBlocks& like(PassKey key, uint32_t rank, bool any_chunk, bool entry_end, bool exit_end) {
    const auto& all = passes(rank, key.backward);
    std::vector<uint32_t> candidates;
    for (int strict = 2; strict >= 0 && candidates.empty(); --strict) {
      for (uint32_t i = 0; i < all.size(); ++i) {
        if (same_schedule_ && strict == 2 && (all[i].microbatch != key.microbatch || all[i].chunk != key.chunk))
          continue;
        if (strict > 0 &&
            moment(all[i].microbatch, base_.num_microbatches) != moment(key.microbatch, target_.num_microbatches))
          continue;
        if (!any_chunk && strict > 0 && entry_end && all[i].chunk != (key.backward ? chunks(base_) - 1 : 0)) continue;
        if (!any_chunk && strict > 0 && exit_end && all[i].chunk != (key.backward ? 0 : chunks(base_) - 1)) continue;
        candidates.push_back(i);
      }
    }
    return all[draw_.pick(candidates)];
  }

  /// What comes before the first layer (`entry`) or after the last one. Stages in the middle of a pipeline have their
  /// own; where none was traced they are taken to have nothing.
  void put_side(PassKey key, bool end_here, bool entry, uint32_t rank, std::vector<PlacedBlock>& out) {
    const StageEnds has = ends_of(recovery_.places[rank][Dimension::kPipeline], base_.pipeline_model_parallel_size);
    const bool at_end = entry != key.backward ? has.first : has.last;
    if (!end_here && at_end && chunks(base_) == 1) return;
    const PassBlocks& pass = like(key, rank, false, entry && end_here, !entry && end_here);
    if (!end_here && at_end && chunks(base_) > 1) {
      const int64_t end_chunk = (entry != key.backward) ? 0 : chunks(base_) - 1;
      if (pass.chunk == end_chunk) return;
    }
    put_all(rank, entry ? pass.entry : pass.exit, out);
  }

  void put_layers(PassKey key, std::vector<PlacedBlock>& out) {
    const bool recomputes = key.backward && target_.recompute_granularity == Recompute::kFull &&
                            base_.recompute_granularity != Recompute::kFull;
    if (same_layers_ && !recomputes) {
      put_all(donor_, like(key, donor_, false, false, false).layers, out);
      return;
    }
    // New layers are drawn one by one, each with its kernels' own deviations.
    for (int64_t i = 0; i < layers_; ++i) {
      const PassBlocks& pass = like(key, donor_, true, false, false);
      if (pass.layers.empty()) return;
      const bool this_one = target_.recompute_method != RecomputeMethod::kBlock || i < target_.recompute_num_layers;
      if (recomputes && this_one)
        put(donor_, draw_.pick(like({false, key.microbatch, key.chunk}, donor_, true, false, false).layers), out);
      put(donor_, draw_.pick(pass.layers), out);
    }
  }

  bool put_exchange(uint32_t pattern, std::vector<PlacedBlock>& out) {
    // A job without pipeline has no exchanges of its own; what was added for it does whatever is asked.
    const bool serves_all = base_.pipeline_model_parallel_size == 1;
    std::vector<std::pair<uint32_t, uint32_t>> own, others;
    for (uint32_t r = 0; r < recovery_.places.size(); ++r)
      for (const ExchangeBlock& exchange : step(r).exchanges)
        if (serves_all || pattern_of(exchange.sends, exchange.receives) == pattern)
          (r == donor_ ? own : others).emplace_back(r, exchange.block);
    const auto& from = own.empty() ? others : own;
    if (from.empty()) return false;
    const auto [rank, block] = draw_.pick(from);
    put(rank, block, out);
    return true;
  }

  /// An exchange that moves as many of the tensors in `pattern`, and as few others, as any.
  bool put_nearest_exchange(uint32_t pattern, std::vector<PlacedBlock>& out) {
    int best = std::numeric_limits<int>::min();
    uint32_t nearest = 0;
    for (size_t r = 0; r < recovery_.places.size(); ++r) {
      for (const ExchangeBlock& exchange : step(static_cast<uint32_t>(r)).exchanges) {
        const uint32_t has = pattern_of(exchange.sends, exchange.receives);
        const int score = std::popcount(has & pattern) - std::popcount(has & ~pattern);
        if (has == 0 || score <= best) continue;
        best = score;
        nearest = has;
      }
    }
    return nearest != 0 && put_exchange(nearest, out);
  }

  void put_single(const Tensor& tensor, bool send, std::vector<PlacedBlock>& out, std::vector<Action>* parts) {
    Action part;
    part.kind = ActionKind::kExchange;
    (send ? part.sends : part.receives).push_back(tensor);
    const uint32_t exact = pattern_of(part.sends, part.receives);
    const uint32_t mirrored = exact == 1 ? 8 : exact == 8 ? 1 : exact == 2 ? 4 : 2;
    if (put_exchange(exact, out) || put_exchange(mirrored, out)) parts->push_back(part);
  }

  /// Parameters of the planned stage over those of the donor's, layers of equal size.
  double stage_ratio(uint32_t rank) const {
    return static_cast<double>(stage_parameters(with_layers_of(base_, target_), stage_).total()) /
           static_cast<double>(stage_parameters(base_, recovery_.places[rank][Dimension::kPipeline]).total());
  }

  /// What repeats comes `ratio` times as often. Of what does not (one kernel over all parameters, or one of several
  /// that follow each other), `by_time` makes the kernel longer instead.
  void put_repeated(uint32_t rank, const std::vector<uint32_t>& blocks, double ratio, bool by_time,
                    std::vector<PlacedBlock>& out) {
    const auto& all = recovery_.program.ranks[rank].blocks;
    std::vector<uint64_t> shapes;
    for (uint32_t block : blocks) shapes.push_back(all[block].shape);
    for (const Repeat& repeat : find_repeats(shapes)) {
      if (repeat.count == 1) {
        put(rank, blocks[repeat.begin], out);
        if (by_time) out.back().gpu_scale = static_cast<float>(grown(rank, all[blocks[repeat.begin]], ratio));
        if (moves_parameters_of_stage(rank, all[blocks[repeat.begin]]))
          out.back().comm_scale = static_cast<float>(ratio);
        continue;
      }
      const auto wanted =
          std::max<size_t>(1, static_cast<size_t>(std::llround(ratio * static_cast<double>(repeat.count))));
      for (size_t i = 0; i < wanted; ++i)
        for (size_t k = 0; k < repeat.unit; ++k)
          put(rank, blocks[repeat.begin + i * repeat.count / wanted * repeat.unit + k], out);
    }
  }

  bool moves_parameters_of_stage(uint32_t rank, const Block& block) const {
    const RankTransfers& transfers = recovery_.transfers[rank];
    const std::vector<BlockTask>& tasks = recovery_.program.ranks[rank].tasks;
    return std::any_of(tasks.begin() + block.task_begin, tasks.begin() + block.task_end, [&](const BlockTask& task) {
      if (task.kind != TaskKind::kTransfer || task.event == kNoIndex) return false;
      const uint32_t index = transfers.of_row[task.event];
      return index != kNoIndex && moves_parameters(transfers.transfers[index]);
    });
  }

  /// Factor on the kernel of an optimizer's block: what it takes above the shortest kernel grows with the parameters.
  double grown(uint32_t rank, const Block& block, double ratio) const {
    if (block.launch_begin == block.launch_end) return 1;  // added to the traced job: communication
    const RankProgram& program = recovery_.program.ranks[rank];
    const uint32_t row = program.recovered.list.launches[block.launch_begin].gpu_row;
    const auto whole = static_cast<double>(program.table->dur_ns[row]);
    if (program.table->kind[row] != EventKind::kKernel || whole <= 0) return 1;
    const double above = std::max(0.0, whole - recovery_.kernels[rank].kernel_floor_us * 1e3);
    return (whole - above + above * ratio) / whole;
  }

  const Recovery& recovery_;
  const Job& base_;
  const Job& target_;
  SharedDraws shared_;
  Draw draw_;
  int64_t layers_ = 0;
  bool same_schedule_ = false;
  bool same_layers_ = false;
  int64_t stage_ = 0;
  StageEnds ends_;
  uint32_t donor_ = 0, first_ = 0, last_ = 0;
};

}  // namespace

ScheduleShape schedule_shape(const Job& job) {
  ScheduleShape shape;
  shape.stages = static_cast<int>(job.pipeline_model_parallel_size);
  shape.chunks = static_cast<int>(job.virtual_pipeline_model_parallel_size);
  shape.microbatches = static_cast<int>(job.num_microbatches);
  shape.kind = shape.chunks > 1                                    ? ScheduleKind::kInterleaved
               : job.pipeline_schedule == PipelineSchedule::kGpipe ? ScheduleKind::kGpipe
                                                                   : ScheduleKind::kOneForwardOneBackward;
  return shape;
}

Job with_layers_of(const Job& base, const Job& target) {
  Job job = base;
  job.num_layers = target.num_layers;
  job.pipeline_model_parallel_size = target.pipeline_model_parallel_size;
  job.virtual_pipeline_model_parallel_size = target.virtual_pipeline_model_parallel_size;
  job.untie_embeddings_and_output_weights = target.untie_embeddings_and_output_weights;
  return job;
}

RecoverHints hints_from_job(const Job& job, int64_t rank) {
  RecoverHints hints;
  hints.stages = static_cast<int>(job.pipeline_model_parallel_size);
  hints.stage = static_cast<int>(position_of(job, rank)[Dimension::kPipeline]);
  hints.chunks = static_cast<int>(job.virtual_pipeline_model_parallel_size);
  hints.num_layers = static_cast<int>(job.num_layers);
  return hints;
}

Result<Recovery> recover_job(const std::vector<ExecGraph>& graphs, const Job& job, const Network& network_defaults,
                             int threads) {
  const auto schedule = TRY(make_schedule(schedule_shape(job)));
  Recovery recovery;
  recovery.job = job;
  std::vector<RecoveredRank> recovered(graphs.size());
  parallel_for(graphs.size(), threads, [&](size_t i) {
    recovered[i] = recover(*graphs[i].ranks[0].table, hints_from_job(job, graphs[i].ranks[0].rank));
  });
  for (const ExecGraph& graph : graphs) recovery.places.push_back(position_of(job, graph.ranks[0].rank));
  recovery.program = make_program(graphs, std::move(recovered));
  bool first = false, last = false;
  for (size_t r = 0; r < recovery.places.size(); ++r) {
    const RankProgram& rank = recovery.program.ranks[r];
    recovery.catalogs.push_back(
        make_catalog(rank, schedule[static_cast<size_t>(recovery.places[r][Dimension::kPipeline])]));
    if (recovery.catalogs.back().steps.empty())
      return fail(ErrorKind::kFailed, "rank {}: no whole step was recovered from {}", rank.rank, rank.table->info.file);
    first |= recovery.places[r][Dimension::kPipeline] == 0;
    last |= recovery.places[r][Dimension::kPipeline] == job.pipeline_model_parallel_size - 1;
  }
  if (!first || !last)
    return fail(ErrorKind::kFailed, "no trace of the {} pipeline stage: a prediction needs one rank of each end",
                first ? "last" : "first");
  recovery.transfers = find_transfers(recovery.program, recovery.catalogs, job);
  recovery.network = fit_network(recovery.program, recovery.transfers, job, network_defaults);
  bound_transfers(recovery.network, recovery.program, job, &recovery.transfers);
  find_host_lags(recovery.program, recovery.transfers);
  recovery.loads = measure_loads(graphs, recovery.transfers, threads);
  recovery.roles.resize(graphs.size());
  parallel_for(graphs.size(), threads, [&](size_t r) { recovery.roles[r] = find_roles(recovery.program.ranks[r]); });
  recovery.kernels = fit_kernels(recovery.program.ranks, recovery.roles, job, threads);
  return recovery;
}

Result<LowerPlan> plan_step(const Recovery& recovery, const Job& target, const Network& network, uint64_t seed) {
  const auto schedule = TRY(make_schedule(schedule_shape(target)));
  LowerPlan plan;
  plan.threads_hand_over = recovery.program.threads_hand_over;
  std::vector<std::vector<Action>> exchanges(schedule.size());
  // Of each placed block: the exchange (>= 0) or the scheduled pass (-2 - index) that it begins; -1 for others.
  std::vector<std::vector<int>> begins(schedule.size());
  // Consecutive seeds go through the traced replicas and steps in turn, so that few seeds see all of them.
  const SharedDraws shared{seed, seed};
  for (size_t s = 0; s < schedule.size(); ++s) {
    StagePlanner stage(recovery, target, seed * 1000003 + s, shared);
    stage.choose_donors(static_cast<int64_t>(s));
    PlannedRank rank;
    rank.rank = static_cast<int32_t>(static_cast<int64_t>(s) * mesh_of(target).stride(Dimension::kPipeline));
    stage.init(rank.blocks);
    begins[s].resize(rank.blocks.size(), -1);
    for (size_t a = 0; a < schedule[s].size(); ++a) {
      const Action& action = schedule[s][a];
      const size_t before = exchanges[s].size(), block = rank.blocks.size();
      if (action.kind == ActionKind::kExchange) {
        stage.exchange(action, rank.blocks, &exchanges[s]);
        for (size_t i = 0; block + i < rank.blocks.size(); ++i) begins[s].push_back(static_cast<int>(before + i));
        continue;
      }
      stage.pass({action.kind == ActionKind::kBackward, action.microbatch, action.chunk}, rank.blocks);
      begins[s].resize(rank.blocks.size(), -1);
      if (block < rank.blocks.size()) begins[s][block] = -2 - static_cast<int>(a);
    }
    stage.tail(rank.blocks);
    begins[s].resize(rank.blocks.size(), -1);
    plan.ranks.push_back(std::move(rank));
  }
  std::vector<std::vector<const Action*>> actions(schedule.size());
  for (size_t s = 0; s < schedule.size(); ++s)
    for (int begin : begins[s])
      actions[s].push_back(begin == -1  ? nullptr
                           : begin >= 0 ? &exchanges[s][static_cast<size_t>(begin)]
                                        : &schedule[s][static_cast<size_t>(-2 - begin)]);
  plan_meetings(recovery, target, network, seed, actions, plan);
  return plan;
}

}  // namespace lumos
