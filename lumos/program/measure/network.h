// The network as the traced transfers show it: per tier (inside a node, between nodes) a latency and a bandwidth,
// fitted on what the trace measured. Changed transfers are the measured ones times the ratio of the model's times.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/model/cluster/cluster.h"
#include "lumos/program/facts/rank_place.h"
#include "lumos/program/measure/transfers.h"

namespace lumos {

struct Tier {
  double latency_us = 0;  ///< once per collective
  double hop_us = 0;      ///< per step of a ring
  double gb_per_s = 0;    ///< per GPU and direction
  int observations = 0;   ///< distinct collectives it was fitted on; 0: the default, for want of evidence
  double error_pct = 0;   ///< mean |fit - measured| / measured over them
};

struct Network {
  Tier node;
  Tier fabric;
  bool switch_sums = false;   ///< the switches of a node add up what passes (NVLink SHARP): all-reduces use it
  double copy_us_per_kb = 0;  ///< a collective's own copies and sums, per 1000 bytes and pass
};

/// Microseconds of a transfer among `span.members`; rings leave a node once per card that the members own there.
double transfer_us(const Network& network, CommKind kind, double bytes, GroupSpan span);

/// The members of a transfer's group in `job`; `stage` is the rank's, `peer_stage` that of a point-to-point partner.
GroupSpan span_of(const Job& job, CommScope scope, int64_t stage, int64_t peer_stage);

/// Bytes that a transfer without metadata moves, as the job's sizes say; of `job` or of a changed one.
double expected_bytes(const Job& job, CommScope scope, CommKind kind);

/// Splits collectives again of which some member was not traced: none of them takes longer than its tier needs for the
/// bytes; the rest is waiting.
void bound_transfers(const Network& network, const Program& program, const Job& job,
                     std::vector<RankTransfers>* transfers);

/// Fits both tiers on the transfers of all ranks; what the trace cannot show stays at `defaults`.
Network fit_network(const Program& program, const std::vector<RankTransfers>& transfers, const Job& job,
                    const Network& defaults);

/// Whether the GPUs called `device` in a trace sit on switches that add up what passes, as large servers of them do.
bool has_summing_switches(std::string_view device);

/// The tiers of a cluster file.
Network network_of(const Cluster& cluster);

/// Orders of magnitude of current clusters (NVLink inside, 400 Gb/s per GPU outside), for tiers that no trace shows.
Network default_network();

}  // namespace lumos
