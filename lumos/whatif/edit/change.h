// Changes of a job that are more than other durations: kernels and operators that are no longer there, waits that no
// longer hold, links that are faster. Made from the command line or a file of changes; gives a new job graph with the
// same tasks, which is simulated like the one it came from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/graph/job/job.h"
#include "lumos/model/cluster/cluster.h"
#include "lumos/whatif/edit/scale.h"
#include "lumos/whatif/times/kernel_times.h"

namespace lumos {

enum class ChangeKind : uint8_t {
  kRemoveKernel,      ///< kernels by name, with the calls that launched nothing else
  kRemoveOperator,    ///< operators by name: CPU time, kernels, communication and waits inside
  kFuse,              ///< the kernels of each instance of an operator become one
  kNoLaunchOverhead,  ///< launching costs neither CPU time nor latency
  kDropSync,          ///< synchronising calls no longer wait
  kOverlapNone,       ///< communication of a group runs alone: nothing computes beside it on its ranks
  kOverlapFull,       ///< compute no longer waits for communication of a group
  kBandwidth,         ///< of links, by a factor
  kLatency,
  kScaleBatch,   ///< factor times the samples of each step
  kCluster,      ///< another GPU or network
  kKernelTimes,  ///< measured times of kernels, in place of all others
};

enum class LinkTier : uint8_t { kWithinNodes, kAcrossNodes };

struct Change {
  std::string text;  ///< as the user wrote it, with the option's name
  ChangeKind kind = ChangeKind::kRemoveKernel;
  std::string pattern;
  LinkTier tier = LinkTier::kAcrossNodes;
  double factor = 1;
  std::shared_ptr<const Cluster> cluster;           ///< of kCluster
  std::shared_ptr<const KernelTimes> kernel_times;  ///< of kKernelTimes
};

/// What a run of predict changes.
struct ChangeList {
  std::vector<Scale> scales;
  std::vector<Change> changes;
  int64_t gpus_per_node = 0;                    ///< 0: as many as the traces list devices
  int64_t batch_size = 0;                       ///< of the traced job; 0: as found in the shapes
  std::shared_ptr<const Cluster> from_cluster;  ///< the traced machine; nullptr: known by the device's name
  bool empty() const { return scales.empty() && changes.empty(); }
};

/// One change by its option, "remove" "fuse" "no-launch-overhead" "drop-sync" "overlap" "bandwidth" "latency"
/// "scale-batch" "cluster" "kernel-times", and that option's value; files are read. Errors: kUsage and, for files,
/// kUnreadable.
Result<Change> parse_change(std::string_view option, std::string_view value);

/// The cluster of --from-cluster.
Result<std::shared_ptr<const Cluster>> read_shared_cluster(const std::string& path);

/// Adds the changes of a TOML or JSON file: the options' names with underscores, each with a text or a list of texts.
/// Errors: kUnreadable, or kUsage naming file and line.
Status read_changes(const std::string& path, ChangeList& list);

/// The job's graph with all changes applied: scales first, then the rest in their order, measured kernel times last.
/// Tasks and their numbering stay: what is removed takes no time and waits only for what came before it. `matches` has
/// one entry per change in the same order. Errors: kUsage when a change matches nothing, or cannot be: the ranks would
/// wait for each other.
Result<ScaledGraph> apply_changes(const LinkedJob& job, const ChangeList& list);

}  // namespace lumos
