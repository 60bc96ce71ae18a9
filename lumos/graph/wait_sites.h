// The voting of stream waits: waits made from the same place in the program share a site, and all its repetitions
// choose together how they are read. Time only rejects a reading, or confirms it where the waiter began just when the
// source ended. Used by stream_waits alone.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "lumos/graph/gpu_program.h"

namespace lumos {

// How a lone wait is read: which of the outstanding points it means. The first that fits the site's repetitions best is
// taken; with nothing to choose by, the order here decides. Readings from kFirstStream on mean a certain stream: the
// oldest or the newest point outstanding on it.
enum Reading : uint32_t { kStructure, kOldest, kNewest, kFirstStream };
constexpr uint32_t kReadingsPerStream = 2;

struct ReadingScore {
  uint64_t seen = 0;
  uint64_t contradicted = 0;
  uint64_t binding = 0;  // the waiter began just when this source ended, and nothing else held it
};

/// A place in the program that waits, and what its repetitions say.
struct Site {
  uint32_t reading = kStructure;
  bool refused = false;  // every reading is contradicted
  std::vector<ReadingScore> scores;
  uint64_t lone = 0;       // waits read by choice ...
  uint64_t ambiguous = 0;  // ... of which time would have allowed another point as well
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> backs;  // (stream, works back) that fit an instance
  uint64_t instances = 0;
  uint32_t back_stream = kNoIndex;  // chosen: the wait means this many works before the stream's latest
  uint32_t back = 0;
  uint64_t edges = 0;
  uint64_t contradicted = 0;

  // What was counted with the last choice; the choice stays.
  void forget() {
    scores.clear();
    backs.clear();
    lone = ambiguous = instances = 0;
  }
};

/// An edge that a pass over the program proposes. Works index GpuProgram::work; site 0 holds the recorded ones.
struct Candidate {
  uint32_t waiting;
  uint32_t source;
  uint32_t site;
  bool recorded;
};

/// True when the source ended after the waiting work had begun.
bool contradicts(const GpuProgram& gpu, const Candidate& edge, int64_t tolerance_ns);

/// Counts the edges of each site and lets it choose its reading anew. True if any choice changed.
bool vote(const GpuProgram& gpu, const std::vector<Candidate>& edges, int64_t tolerance_ns, std::vector<Site>& sites);

/// How sure an edge of a site is, in percent: what its repetitions were not contradicted in, less what is left to
/// choice where time would have allowed another point. A wait that began when its source ended, again and again, leaves
/// little.
uint8_t confidence_pct(const Site& site);

}  // namespace lumos
