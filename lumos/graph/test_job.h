// A small job made up for tests: ranks that compute and meet in collectives, traced by clocks that differ. Tests only.
#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

struct TestJobShape {
  int ranks = 4;
  int rounds = 20;  ///< every round: a kernel on each rank, a collective of pairs, one of all
  bool metadata = true;
  int64_t skew_ns = 1'000'000;  ///< clocks differ by up to this much
  double drift = 5e-6;
  int64_t transfer_ns = 80'000;
  int64_t jitter_ns = 1'000;  ///< ends differ by up to this much
  uint32_t seed = 1;
  int slow_rank = -1;  ///< whose kernels take `slowdown` times as long
  double slowdown = 1;
};

struct TestJob {
  std::vector<EventTable> tables;
  std::vector<int64_t> offset_ns;  ///< of each clock at time 0
  std::vector<double> drift;
  int collectives = 0;
};

class TestJobMaker {
 public:
  explicit TestJobMaker(const TestJobShape& shape) : shape_(shape), random_(shape.seed) {
    for (int r = 0; r < shape.ranks; ++r) {
      EventTable table;
      table.info.rank = r;
      table.lanes = {{false, kNoName, kNoName, 1, 100, kNoName, kNoName},
                     {true, kNoName, kNoName, 0, 7, kNoName, kNoName},
                     {true, kNoName, kNoName, 0, 20, kNoName, kNoName},
                     {true, kNoName, kNoName, 0, 24, kNoName, kNoName}};
      job_.tables.push_back(std::move(table));
      job_.offset_ns.push_back(r == 0 ? 0 : below(2 * shape.skew_ns) - shape.skew_ns);
      job_.drift.push_back(r == 0 ? 0 : shape.drift * (double(below(2001)) / 1000.0 - 1));
      free_.push_back(1'000'000);
      launches_.push_back(0);
    }
  }

  TestJob make() {
    for (int round = 0; round < shape_.rounds; ++round) {
      for (int r = 0; r < shape_.ranks; ++r) {
        const double factor = r == shape_.slow_rank ? shape_.slowdown : 1;
        const int64_t duration = static_cast<int64_t>(factor * double(300'000 + below(500'000)));
        add(r, "gemm", 1, free_[r], duration, {});
        free_[r] += duration;
      }
      for (int r = 0; r + 1 < shape_.ranks; r += 2) meet({r, r + 1}, "pair" + std::to_string(r), 1 << 20, kPairLane);
      std::vector<int> all;
      for (int r = 0; r < shape_.ranks; ++r) all.push_back(r);
      meet(all, "world", 1 << 22, kWorldLane);
    }
    for (EventTable& table : job_.tables) table.names = names_;
    return std::move(job_);
  }

 private:
  int64_t below(int64_t end) { return end <= 0 ? 0 : static_cast<int64_t>(random_() % static_cast<uint64_t>(end)); }

  // As NCCL has it, every group runs on a stream of its own.
  static constexpr uint32_t kPairLane = 2;
  static constexpr uint32_t kWorldLane = 3;

  void meet(const std::vector<int>& members, const std::string& group, int64_t elements, uint32_t lane) {
    int64_t last = 0;
    for (int r : members) last = std::max(last, free_[r]);
    std::string ranks;
    for (int r : members) ranks += (ranks.empty() ? "[" : ", ") + std::to_string(r);
    for (int r : members) {
      const int64_t end = last + shape_.transfer_ns + below(shape_.jitter_ns);
      CollectiveDetail detail;
      detail.collective = names_->intern("allreduce");
      detail.dtype = names_->intern("Float");
      detail.group_name = names_->intern(group);
      detail.group_ranks = names_->intern(ranks + "]");
      detail.group_size = static_cast<int32_t>(members.size());
      detail.in_elements = detail.out_elements = elements;
      add(r, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)", lane, free_[r], end - free_[r], detail);
      free_[r] = end;
    }
    ++job_.collectives;
  }

  int64_t read_clock(int rank, int64_t time_ns) const {
    return time_ns + job_.offset_ns[rank] + static_cast<int64_t>(job_.drift[rank] * double(time_ns));
  }

  /// A launch far ahead of the kernel, as of a job that the GPU holds up, and the kernel.
  void add(int rank, const char* name, uint32_t lane, int64_t start_ns, int64_t duration_ns,
           const CollectiveDetail& collective) {
    EventTable& table = job_.tables[rank];
    const int64_t correlation = ++correlation_;
    const int64_t start = read_clock(rank, start_ns);
    const int64_t launch = read_clock(rank, 8'000 * launches_[rank]++);
    push(table, EventKind::kRuntime, "cudaLaunchKernel", 0, launch, 5'000, correlation, kNoIndex);
    GpuDetail gpu;
    gpu.grid[0] = 16;
    if (lane >= kPairLane && shape_.metadata) {
      gpu.collective = static_cast<uint32_t>(table.collectives.size());
      table.collectives.push_back(collective);
    }
    table.gpu.push_back(gpu);
    push(table, EventKind::kKernel, name, lane, start, duration_ns, correlation,
         static_cast<uint32_t>(table.gpu.size() - 1));
  }

  void push(EventTable& table, EventKind kind, const char* name, uint32_t lane, int64_t start_ns, int64_t duration_ns,
            int64_t correlation, uint32_t detail) {
    table.ts_ns.push_back(start_ns);
    table.dur_ns.push_back(duration_ns);
    table.name.push_back(names_->intern(name));
    table.lane.push_back(lane);
    table.kind.push_back(kind);
    table.correlation.push_back(correlation);
    table.external_id.push_back(0);
    table.detail.push_back(detail);
  }

  TestJobShape shape_;
  std::mt19937_64 random_;
  std::shared_ptr<NamePool> names_ = std::make_shared<NamePool>();
  std::vector<int64_t> free_;
  std::vector<int64_t> launches_;
  int64_t correlation_ = 0;
  TestJob job_;
};

inline TestJob make_test_job(const TestJobShape& shape) { return TestJobMaker(shape).make(); }

/// Drops the rows of `table` that start before `from_ns` on its own clock.
inline void cut_before(EventTable& table, int64_t from_ns) {
  std::vector<size_t> kept;
  for (size_t row = 0; row < table.size(); ++row) {
    if (table.ts_ns[row] >= from_ns) kept.push_back(row);
  }
  auto keep = [&](auto& column) {
    for (size_t i = 0; i < kept.size(); ++i) column[i] = column[kept[i]];
    column.resize(kept.size());
  };
  keep(table.ts_ns), keep(table.dur_ns), keep(table.name), keep(table.lane), keep(table.kind);
  keep(table.correlation), keep(table.external_id), keep(table.detail);
}

}  // namespace lumos
