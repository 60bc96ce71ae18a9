// The buckets in which one synthesized GPU reduces gradients and gathers parameters over its replicas: posted as the
// passes complete or begin, waited for before what they carry is read. Used by program/synthesize.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lumos/model/cluster/cluster.h"
#include "lumos/model/job/job.h"
#include "lumos/plan/buckets.h"
#include "lumos/program/synth/work_writer.h"

namespace lumos {

/// Keeps references to all that it is made of.
class SyntheticBuckets {
 public:
  SyntheticBuckets(const Job& job, const Plan& plan, int64_t stage, WorkWriter& write);

  bool reduces() const { return job_.data_parallel_size > 1; }
  bool gathers() const { return !plan_.gathers.empty() && job_.data_parallel_size > 1; }
  /// As NCCL's metadata name it.
  std::string_view gradient_type() const;

  /// The gradients of a part of the stage are complete (index into stage_parts). Buckets that wait for no other go out;
  /// the hooks run where gradients are accumulated.
  void complete_gradients(size_t part);
  /// All gradients at once, after the passes.
  void reduce_all();
  void wait_for_reduced();

  void gather();
  /// The part is read from here on: its buckets must have come.
  void wait_for_parameters(size_t part);
  void wait_for_all_parameters();

  /// Nothing is on its way any more.
  void end_step();

 private:
  KernelWork exchange(const ParameterExchange& of, const Bucket& bucket) const;

  const Job& job_;
  const Plan& plan_;
  WorkWriter& write_;
  std::vector<Bucket> buckets_;
  std::vector<size_t> gather_order_;  ///< indexes of them, from the model's beginning to its end
  std::vector<uint32_t> reduced_;     ///< records of those on their way
  std::vector<uint32_t> gathered_;    ///< records in gather_order_, until all have been waited for
  size_t awaited_ = 0;                ///< of them
};

}  // namespace lumos
