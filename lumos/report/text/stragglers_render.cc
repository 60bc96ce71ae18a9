#include <fmt/format.h>

#include "lumos/base/json_writer.h"
#include "lumos/report/results/stragglers.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

using enum Align;

// More rows than this on a page are not read; --json has them all.
constexpr size_t kTextGroups = 12;
constexpr size_t kTextPairs = 12;

std::string rank_table(const Stragglers& stragglers) {
  TextTable table({{"rank", kLeft}, {"kernels against median"}, {"others wait ms"}, {"step gains ms"}, {"share"}});
  for (const StragglerRank& rank : stragglers.ranks) {
    const double share = stragglers.step_ms > 0 ? 100 * rank.gain_ms / stragglers.step_ms : 0;
    table.add({std::to_string(rank.rank), signed_percent(100 * (rank.slowdown - 1)), human_ms(rank.others_wait_ms),
               human_ms(rank.gain_ms), signed_percent(share)});
  }
  return table.text();
}

std::string group_table(const Stragglers& stragglers) {
  TextTable table({{"group", kLeft}, {"times"}, {"most often last"}, {"in"}, {"waited for it ms"}, {"in all ms"}});
  for (size_t g = 0; g < stragglers.groups.size() && g < kTextGroups; ++g) {
    const StragglerGroup& group = stragglers.groups[g];
    const GroupArrivals* worst = &group.members.front();
    double waits = 0;
    for (const GroupArrivals& member : group.members) {
      if (member.last > worst->last) worst = &member;
      waits += member.own_wait_ms;
    }
    table.add({group.group, std::to_string(group.collectives), fmt::format("rank {}", worst->rank),
               fmt::format("{:.0f} %", 100 * worst->last_share), human_ms(worst->others_wait_ms), human_ms(waits)});
  }
  return table.text();
}

std::string pair_table(const Stragglers& stragglers) {
  TextTable table({{"rank", kLeft}, {"waits for rank"}, {"ms per step"}});
  for (size_t i = 0; i < stragglers.pairs.size() && i < kTextPairs; ++i) {
    const WaitPair& pair = stragglers.pairs[i];
    table.add({std::to_string(pair.waiting), std::to_string(pair.waited_for), human_ms(pair.wait_ms)});
  }
  return table.text();
}

}  // namespace

std::string stragglers_text(const Stragglers& stragglers) {
  std::string out = fmt::format("  step {} ms, simulated. If one rank's kernels were as fast as the median rank's:\n\n",
                                human_ms(stragglers.step_ms));
  out += rank_table(stragglers);
  if (stragglers.groups.empty()) return out + "\n  No collective of two traced ranks: nobody is seen waiting.\n";
  out += "\n" + group_table(stragglers);
  if (stragglers.groups.size() > kTextGroups) {
    out += fmt::format("  {} more groups in --json\n", stragglers.groups.size() - kTextGroups);
  }
  return out + "\n" + pair_table(stragglers);
}

std::string stragglers_json(const Stragglers& stragglers) {
  JsonWriter json;
  json.begin_object().member("schema", "lumos.stragglers.v1").member("step_ms", stragglers.step_ms);
  json.key("ranks").begin_array();
  for (const StragglerRank& rank : stragglers.ranks) {
    json.begin_object().member("rank", rank.rank).member("slowdown", rank.slowdown);
    json.member("others_wait_ms", rank.others_wait_ms).member("gain_ms", rank.gain_ms).end_object();
  }
  json.end_array().key("groups").begin_array();
  for (const StragglerGroup& group : stragglers.groups) {
    json.begin_object().member("group", group.group).member("size", group.size);
    json.member("collectives", group.collectives).key("members").begin_array();
    for (const GroupArrivals& member : group.members) {
      json.begin_object().member("rank", member.rank).member("last", member.last);
      json.member("last_share", member.last_share).member("others_wait_ms", member.others_wait_ms);
      json.member("own_wait_ms", member.own_wait_ms).member("missing_wait_ms", member.missing_wait_ms).end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().key("waits").begin_array();
  for (const WaitPair& pair : stragglers.pairs) {
    json.begin_object().member("rank", pair.waiting).member("waits_for", pair.waited_for);
    json.member("ms", pair.wait_ms).end_object();
  }
  json.end_array().end_object();
  return json.text();
}

}  // namespace lumos
