#include "lumos/graph/wait_sites.h"

#include <algorithm>

namespace lumos {

namespace {

// A site keeps a reading while at most one in this many of its repetitions is contradicted by time.
constexpr uint64_t kContradictionShare = 20;

// Edges that follow from the pattern alone are right this often; of those left to choice this many more are wrong, and
// more where a site has few repetitions. The shares are those of the emulated traces (docs/accuracy.md).
constexpr double kSureByPattern = 0.995;
constexpr double kUnsureByChoice = 0.01;
constexpr double kUnsureOfFew = 0.3;

// Fewer instances than this agreeing on a distance may be chance.
constexpr uint64_t kFewestAgreeing = 3;

// That several instances agree to the work on how far back their source is cannot be chance: among hundreds of works
// any other distance is as likely.
void choose_back(Site& site) {
  site.back_stream = kNoIndex;
  uint64_t most = 0;
  for (const auto& [back, count] : site.backs) {
    if (count < kFewestAgreeing || 2 * count < site.instances || count <= most) continue;
    most = count;
    site.back_stream = back.first;
    site.back = back.second;
  }
}

// The reading that time contradicts least and confirms most. Sites of other patterns are refused when contradicted.
bool choose_reading(Site& site) {
  auto bad = [](const ReadingScore& s) { return s.contradicted * kContradictionShare > s.seen; };
  if (site.scores.empty()) {
    const bool refuse = site.contradicted * kContradictionShare > site.edges;
    return std::exchange(site.refused, site.refused || refuse) != site.refused;
  }
  const uint32_t back_stream = site.back_stream, back = site.back;
  choose_back(site);
  uint32_t best = kNoIndex;
  for (uint32_t r = 0; r < site.scores.size(); ++r) {
    const ReadingScore& s = site.scores[r];
    if (s.seen == 0 || bad(s)) continue;
    if (best == kNoIndex || s.binding > site.scores[best].binding) best = r;
  }
  const bool refused = best == kNoIndex && site.scores[kStructure].seen > 0;
  const uint32_t reading = best == kNoIndex ? static_cast<uint32_t>(kStructure) : best;
  const bool moved =
      reading != site.reading || refused != site.refused || back_stream != site.back_stream || back != site.back;
  site.reading = reading;
  site.refused = refused;
  return moved;
}

}  // namespace

bool contradicts(const GpuProgram& gpu, const Candidate& edge, int64_t tolerance_ns) {
  return gpu.work[edge.source].end_ns > gpu.work[edge.waiting].start_ns + tolerance_ns;
}

bool vote(const GpuProgram& gpu, const std::vector<Candidate>& edges, int64_t tolerance_ns, std::vector<Site>& sites) {
  for (Site& site : sites) site.edges = site.contradicted = 0;
  for (const Candidate& edge : edges) {
    if (edge.recorded) continue;
    ++sites[edge.site].edges;
    sites[edge.site].contradicted += contradicts(gpu, edge, tolerance_ns);
  }
  bool moved = false;
  for (Site& site : sites) moved |= choose_reading(site);
  return moved;
}

uint8_t confidence_pct(const Site& site) {
  const double edges = static_cast<double>(std::max<uint64_t>(site.edges, 1));
  const double held = 1 - static_cast<double>(site.contradicted) / edges;
  double sure = kSureByPattern;
  if (site.lone > 0 && site.reading < site.scores.size()) {
    const ReadingScore& score = site.scores[site.reading];
    const double open = static_cast<double>(site.ambiguous) / static_cast<double>(site.lone);
    const double confirmed =
        static_cast<double>(score.binding) / static_cast<double>(std::max<uint64_t>(score.seen, 1));
    sure -= open * (1 - confirmed) * (kUnsureByChoice + kUnsureOfFew / static_cast<double>(site.lone));
  }
  return static_cast<uint8_t>(100 * held * sure);
}

}  // namespace lumos
