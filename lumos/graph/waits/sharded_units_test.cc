#include "lumos/graph/waits/sharded_units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "lumos/graph/test_program.h"
#include "lumos/graph/waits/stream_waits.h"

namespace lumos {
namespace {

using Waits = std::set<TestProgram::Wait>;

// For each waiting row and source stream the latest row that comes before it, by streams' orders and waits together.
std::map<std::pair<uint32_t, uint32_t>, int64_t> closure(const TestPrograms& p, const Waits& waits) {
  std::vector<uint32_t> order(p.gpu.work.size());
  for (uint32_t w = 0; w < order.size(); ++w) order[w] = w;
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return p.gpu.work[a].start_ns < p.gpu.work[b].start_ns; });
  std::map<std::pair<uint32_t, uint32_t>, int64_t> latest;  // (work, stream) -> start
  const auto raise = [&](uint32_t work, uint32_t stream, int64_t start) {
    int64_t& known = latest.try_emplace({work, stream}, -1).first->second;
    known = std::max(known, start);
  };
  for (uint32_t w : order) {
    const auto inherit = [&](uint32_t from) {
      for (uint32_t s = 0; s < p.gpu.streams(); ++s) {
        if (const auto it = latest.find({from, s}); it != latest.end()) raise(w, s, it->second);
      }
      raise(w, p.gpu.work[from].stream, p.gpu.work[from].start_ns);
    };
    if (w > p.gpu.stream_begin[p.gpu.work[w].stream]) inherit(w - 1);
    for (const TestProgram::Wait& wait : waits) {
      if (wait.first == p.gpu.work[w].row) inherit(p.work_of(wait.second));
    }
  }
  return latest;
}

struct Job {
  bool annotated = true;
  bool replicated = false;
  int micro_batches = 1;
};

// What fully_shard runs: units gathered, copied out, computed and reduced, on the streams and with the events it uses.
class ShardedJob {
 public:
  explicit ShardedJob(const Job& job) : job_(job) {
    for (int step = 0; step < 3; ++step) {
      p.set_now(main_, p.now(autograd_));
      p.wait(main_, copy_in_, p.record(main_, compute_));
      p.wait(main_, gather_, p.record(main_, compute_));
      for (int m = 0; m < job.micro_batches; ++m) micro_batch(m + 1 == job.micro_batches);
      p.set_now(main_, p.now(autograd_));
      for (int i = 0; i < 3; ++i) p.launch(main_, compute_, "adam", 20'000);
      p.synchronize_device(main_);
      p.set_now(autograd_, p.now(main_));
    }
  }

  TestProgram p;

 private:
  static constexpr int kUnits = 5;

  void annotate(uint32_t t, const std::string& name) {
    if (job_.annotated) p.open(t, name, EventKind::kAnnotation);
  }
  void end(uint32_t t) {
    if (job_.annotated) p.close(t);
  }
  static std::string unit(int u) { return " (layers." + std::to_string(u) + ")"; }

  // NCCL on the thread's current stream: its own events before and behind, which keep one communicator in order.
  void collective(uint32_t t, const char* op, uint32_t stream, const char* kernel, int64_t ns,
                  TestProgram::Event& last) {
    p.open(t, op);
    p.record(t, stream);
    p.wait(t, stream, last);
    p.launch(t, stream, kernel, ns);
    last = p.record(t, stream);
    p.wait(t, stream, last);
    p.record(t, stream);
    p.close(t);
  }

  void gather(uint32_t t, int u) {
    annotate(t, "FSDP::all_gather" + unit(u));
    p.open(t, "fsdp::all_gather_copy_in");
    p.launch(t, copy_in_, "copy", 4'000);
    p.close(t);
    p.wait(t, gather_, p.record(t, copy_in_));
    collective(t, "c10d::_allgather_base_", gather_, "ncclDevKernel_AllGather_RING_LL(x)", 90'000 + 1000 * u, shards_);
    gathered_[u] = p.record(t, gather_);
    end(t);
  }

  void copy_out(uint32_t t, int u, bool forward) {
    if (forward && kept_.done_ns > 0) {
      p.wait(t, copy_in_, kept_);
      p.wait(t, gather_, kept_);
    }
    annotate(t, "FSDP::all_gather_copy_out" + unit(u));
    p.wait(t, compute_, gathered_[u]);
    p.open(t, "fsdp::split_with_sizes_copy");
    p.launch(t, compute_, "split", 7'000);
    p.close(t);
    end(t);
    kept_ = p.record(t, compute_);
    if (forward) return;
    p.wait(t, copy_in_, kept_);
    p.wait(t, gather_, kept_);
    kept_ = {};
  }

  void compute(uint32_t t, int kernels) {
    for (int i = 0; i < kernels; ++i) {
      p.open(t, "aten::mm");
      p.launch(t, compute_, "gemm", 30'000 + 500 * i);
      p.close(t);
    }
  }

  void reduce(uint32_t t, int u) {
    p.open(t, "RegisterPostBackwardFunctionBackward");
    annotate(t, "FSDP::post_backward_reduce" + unit(u));
    if (reduced_.done_ns > 0) p.wait(t, compute_, reduced_);
    p.open(t, "fsdp::chunk_cat");
    p.launch(t, compute_, "chunk_cat", 9'000);
    p.close(t);
    p.wait(t, reduce_, p.record(t, compute_));
    collective(t, "c10d::_reduce_scatter_base_", reduce_, "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)", 110'000,
               shards_);
    reduced_ = p.record(t, reduce_);
    uint32_t stream = reduce_;
    if (job_.replicated) {
      p.wait(t, stream = replicas_, p.record(t, reduce_));
      collective(t, "c10d::allreduce_", replicas_, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 40'000, copies_);
      results_.push_back(p.record(t, replicas_));
    }
    p.launch(t, stream, "cast", 2'000);
    results_.push_back(p.record(t, stream));
    end(t);
    p.close(t);
  }

  void micro_batch(bool last) {
    for (int u = 0; u < kUnits; ++u) {
      annotate(main_, "FSDP::pre_forward" + unit(u));
      gather(main_, u);
      copy_out(main_, u, true);
      end(main_);
      compute(main_, 4);
    }
    p.set_now(autograd_, p.now(main_));
    for (int u = kUnits; u-- > 0;) {
      annotate(autograd_, "FSDP::pre_backward" + unit(u));
      if (u == kUnits - 1) gather(autograd_, u);
      copy_out(autograd_, u, false);
      if (u > 0) gather(autograd_, u - 1);
      end(autograd_);
      compute(autograd_, 6);
      reduce(autograd_, u);
    }
    p.set_now(main_, p.now(autograd_));
    if (!last) return;
    annotate(autograd_, "FSDP::root_post_backward_callback");
    for (const TestProgram::Event& result : results_) p.wait(autograd_, compute_, result);
    p.wait(autograd_, compute_, reduced_);
    end(autograd_);
    results_.clear();
    reduced_ = {};
  }

  Job job_;
  uint32_t main_ = p.thread(), autograd_ = p.thread();
  uint32_t compute_ = p.stream(7), copy_in_ = p.stream(52), gather_ = p.stream(56), reduce_ = p.stream(60),
           replicas_ = p.stream(64);
  TestProgram::Event shards_{}, copies_{};  // the last of each communicator
  TestProgram::Event gathered_[kUnits]{}, kept_{}, reduced_{};
  std::vector<TestProgram::Event> results_;
};

Waits found_waits(const TestPrograms& p) {
  Waits found;
  for (const StreamWait& wait : find_stream_waits(*p.table, p.host, p.gpu, 1000, {})) {
    found.insert({p.gpu.work[wait.waiting].row, p.gpu.work[wait.source].row});
  }
  return found;
}

void expect_found(const Job& job) {
  ShardedJob sharded(job);
  const Waits truth = sharded.p.waits();
  const TestPrograms p(sharded.p.rows);
  const Waits found = found_waits(p);
  EXPECT_GT(truth.size(), 60u);
  auto expected = closure(p, truth);
  for (const auto& [key, start] : closure(p, found)) {
    const auto it = expected.find(key);
    const int64_t true_start = it == expected.end() ? -1 : it->second;
    EXPECT_EQ(start, true_start) << p.table->name_of(p.gpu.work[key.first].row) << " at "
                                 << p.gpu.work[key.first].start_ns << " after stream "
                                 << p.table->lanes[p.gpu.stream_lane[key.second]].tid;
    if (it != expected.end()) expected.erase(it);
  }
  EXPECT_TRUE(expected.empty()) << expected.size() << " not found";
}

TEST(ShardedUnits, GathersCopiesAndReductionsWaitForWhatTheirUnitsMean) { expect_found({}); }

TEST(ShardedUnits, WithoutAnnotationsTheOperatorsTellTheSame) { expect_found({.annotated = false}); }

/// Nothing waits longer than it must. Without names of groups, works of one communicator on several streams are not all
/// told apart from those of another that keeps step with it.
void expect_nothing_else(const Job& job) {
  ShardedJob sharded(job);
  const TestPrograms p(sharded.p.rows);
  const auto expected = closure(p, sharded.p.waits());
  const auto found = closure(p, found_waits(p));
  EXPECT_GT(found.size(), 60u);
  for (const auto& [key, start] : found) {
    const auto it = expected.find(key);
    EXPECT_LE(start, it == expected.end() ? -1 : it->second)
        << p.table->name_of(p.gpu.work[key.first].row) << " at " << p.gpu.work[key.first].start_ns << " after stream "
        << p.table->lanes[p.gpu.stream_lane[key.second]].tid;
  }
}

TEST(ShardedUnits, ReplicasReduceOnAStreamOfTheirOwn) {
  expect_nothing_else({.replicated = true});
  expect_nothing_else({.annotated = false, .replicated = true});
}

TEST(ShardedUnits, ResultsOfSeveralMicroBatchesAreWaitedForAtTheEnd) { expect_found({.micro_batches = 2}); }

TEST(ShardedUnits, OtherJobsHaveNone) {
  TestProgram program;
  const uint32_t main = program.thread(), compute = program.stream(7), side = program.stream(20);
  program.launch(main, compute, "gemm", 1000);
  program.wait(main, side, program.record(main, compute));
  program.launch(main, side, "copy", 1000);
  const TestPrograms p(program.rows);
  const CallContexts contexts = find_call_contexts(*p.table, p.host, p.gpu);
  const CurrentStreams current(*p.table, p.host, contexts);
  const EventPairs pairs = find_event_pairs(*p.table, p.host, contexts, true);
  const UnitEvents units = find_unit_events(*p.table, p.host, p.gpu, contexts, current, pairs);
  EXPECT_TRUE(units.waits.empty());
  EXPECT_FALSE(units.records(0));
  EXPECT_FALSE(units.waits_for_unit(0));
}

}  // namespace
}  // namespace lumos
