// Which configurations a search looks at: the values that each setting of a job may take, and the jobs that all
// combinations give. Made from a space file and from defaults that suit the model and the machine; read by search.
#pragma once

#include <string>
#include <vector>

#include "lumos/base/value.h"
#include "lumos/model/cluster/cluster.h"
#include "lumos/model/job/job.h"

namespace lumos {

/// One setting, any field of a job, and the values to try.
struct SearchAxis {
  std::string name;
  std::vector<std::string> values;
};

/// The combinations are the product of the axes, the last one varying fastest.
struct SearchSpace {
  std::vector<SearchAxis> axes;
  int64_t samples_per_gpu = 0;  ///< the global batch grows with the GPUs; 0: it is the job's
};

/// Axes of a space file: each key is a field of a job, each value one of its values or a list of them. Errors name the
/// key and the place.
Result<SearchSpace> space_from_value(const ValueView& file);

/// `space` with the usual axes added where it says nothing: tensor parallel sizes within a node, pipeline stages and
/// chunks that divide the layers, micro-batches of up to 16 samples that divide the global batch, recomputation
/// (selective where attention is not fused), sequence parallelism and distributed optimizer on and off. The number of
/// GPUs is `num_gpus` where that is not 0 and the job's otherwise; data parallelism follows. Errors (kUsage) when the
/// samples per GPU make a batch of more than kLargestBatch.
Result<SearchSpace> complete_space(SearchSpace space, const Job& base, const Cluster& cluster, int64_t num_gpus);

/// The legal jobs of a space and how many combinations were not.
struct Enumeration {
  std::vector<Job> jobs;  ///< in the order of the combinations, each once
  size_t combinations = 0;
  size_t illegal = 0;   ///< contradictory, or larger than the cluster
  size_t repeated = 0;  ///< came to the same job as one before, as sequence parallelism does at tensor parallel 1
  std::string example;  ///< why the first illegal one is illegal; "" when none is
};

/// Changes `base`, whose global batch is kept where neither an axis nor samples_per_gpu changes it. Errors (kUsage)
/// when there are more than kMostCombinations or kMostJobs, when an axis has no values, or when the
/// samples per GPU make too large a batch.
Result<Enumeration> enumerate_space(const SearchSpace& space, const Job& base, const Cluster& cluster);

/// A product of this size takes minutes to go through; a larger one is a mistake in the space file.
constexpr size_t kMostCombinations = 20'000'000;
/// So many legal ones fill a few gigabytes.
constexpr size_t kMostJobs = 2'000'000;

}  // namespace lumos
