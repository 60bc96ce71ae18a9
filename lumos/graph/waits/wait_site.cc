#include "lumos/graph/waits/wait_site.h"

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
void choose_back(WaitSite& site) {
  site.back_stream = kNoIndex;
  uint64_t most = 0;
  for (const auto& [back, count] : site.backs) {
    if (count < kFewestAgreeing || 2 * count < site.instances || count <= most) continue;
    most = count;
    site.back_stream = back.first;
    site.back = back.second;
  }
}

}  // namespace

bool choose_reading(WaitSite& site) {
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
    if (r % 2 == 1 && !bad(site.scores[r - 1])) continue;  // a twin
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

// How sure an edge of a site is: what its repetitions were not contradicted in, less what is left to choice where time
// would have allowed another point. A wait that began when its source ended, again and again, leaves little to choice.
uint8_t confidence_pct(const WaitSite& site) {
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
