// The buckets in which one synthesized GPU reduces gradients and gathers parameters over its replicas: posted as the
// passes complete or begin, waited for before what they carry is read. Used by program/synthesize.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lumos/model/cluster/cluster.h"
#include "lumos/model/job/job.h"
#include "lumos/program/synth/work_writer.h"

namespace lumos {

/// Keeps references to all that it is made of.
class SyntheticBuckets {
 public:
  /// `parameters` are those that the GPU holds.
  SyntheticBuckets(const Job& job, const Cluster& cluster, double parameters, WorkWriter& write);

  bool reduces() const { return job_.data_parallel_size > 1; }
  bool gathers() const { return job_.use_distributed_optimizer && job_.data_parallel_size > 1; }
  /// As NCCL's metadata name it.
  std::string_view gradient_type() const;

  /// The gradients of `parameters` more are complete. A bucket goes out when those of all its parameters are; their
  /// hooks run where these are accumulated.
  void complete_gradients(double parameters);
  /// All gradients at once, after the passes.
  void reduce_all();
  void wait_for_reduced();

  void gather();
  /// The next `parameters` are read from here on: their buckets must have come.
  void wait_for_parameters(double parameters);

  /// Nothing is on its way any more.
  void end_step();

 private:
  KernelWork reduction() const;

  const Job& job_;
  const Cluster& cluster_;
  WorkWriter& write_;
  double parameters_;
  int64_t count_;
  std::vector<uint32_t> reduced_;   ///< records of those on their way
  double complete_parameters_ = 0;  ///< whose gradients the last micro-batch has completed
  std::vector<uint32_t> gathered_;  ///< records, until all have been waited for
  size_t awaited_ = 0;              ///< of them
  double read_parameters_ = 0;      ///< by passes since they were posted
};

}  // namespace lumos
