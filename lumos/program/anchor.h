// An anchor: the cluster constants and scales under which the estimate of a traced job takes what its traces show, part
// by part. Made from a Recovery; gives searches thousands of cheap estimates that start from what was measured.
#pragma once

#include "lumos/model/cluster/cluster.h"
#include "lumos/plan/estimate.h"
#include "lumos/program/lower/plan.h"

namespace lumos {

struct Anchor {
  Cluster cluster;        ///< as given, with the traced network and host
  EstimateScales scales;  ///< measured / modelled time of each part of the traced job
};

/// Parts that no trace shows, such as the head where its stage was not traced, keep a scale of 1. `measured_ms` is the
/// step that the whole must come to. Errors: those of estimate() on the traced job.
Result<Anchor> make_anchor(const Recovery& recovery, const Cluster& cluster, double measured_ms);

}  // namespace lumos
