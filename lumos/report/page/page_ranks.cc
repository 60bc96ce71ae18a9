// The sections of the HTML report about what ranks and runs have to do with each other.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "lumos/report/figures/collective_use.h"
#include "lumos/report/page/html.h"
#include "lumos/report/page/page_sections.h"
#include "lumos/report/results/stragglers.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

// What fits a page that people read; the commands print all of it.
constexpr size_t kTopCollectives = 25;
constexpr size_t kTopPairs = 12;
constexpr size_t kTopDifferences = 15;

double ms_of(int64_t ns) { return static_cast<double>(ns) / 1e6; }

std::string rate(double gb_per_s) { return gb_per_s > 0 ? html_data(gb_per_s, fmt::format("{:.4g}", gb_per_s)) : "-"; }

std::string megabytes(int64_t bytes) {
  const double mb = static_cast<double>(bytes) / 1e6;
  return bytes > 0 ? html_data(mb, fmt::format("{:.4g}", mb)) : "-";
}

/// By group and kind, waiting and transfer apart; where ranks are matched.
std::string transfer_table(const LinkedJob& job) {
  std::vector<TransferSummary> rows = summarise_transfers(job.matches, job.transfers, {});
  std::stable_sort(rows.begin(), rows.end(), [](const TransferSummary& a, const TransferSummary& b) {
    return a.transfer_ns + a.wait_ns > b.transfer_ns + b.wait_ns;
  });
  HtmlTable table("All ranks, whole trace; waiting is over all members together", {{"collective", false},
                                                                                   {"group", false},
                                                                                   {"ranks traced"},
                                                                                   {"times"},
                                                                                   {"MB"},
                                                                                   {"transfer ms"},
                                                                                   {"waiting ms"},
                                                                                   {"GB/s"},
                                                                                   {"bus GB/s"}});
  for (size_t i = 0; i < std::min(rows.size(), kTopCollectives); ++i) {
    const TransferSummary& row = rows[i];
    const CommGroup& group = job.matches.groups[row.group];
    const std::string title = group.description.empty() ? group.name : group.name + " " + group.description;
    table.add({html_escape(text_of(row.kind)), html_escape(title),
               group.size > 0 ? fmt::format("{} of {}", row.members, group.size) : std::to_string(row.members),
               html_count(row.collectives), megabytes(row.bytes), html_ms(ms_of(row.transfer_ns)),
               html_ms(ms_of(row.wait_ns)), rate(row.algorithm_gbps), rate(row.bus_gbps)});
  }
  std::string out = table.text();
  if (rows.size() > kTopCollectives) {
    out += fmt::format("<p>{} more groups; lumos link --json has them.</p>\n", rows.size() - kTopCollectives);
  }
  const bool estimated =
      std::any_of(rows.begin(), rows.end(), [](const TransferSummary& row) { return row.estimated > 0; });
  if (estimated) out += "<p>Where members are not traced, the transfer is estimated from equal collectives.</p>\n";
  return out;
}

std::string kernel_table(const RankTasks& rank, const std::vector<CollectiveUse>& uses) {
  HtmlTable table(
      fmt::format("Communication kernels of rank {}, whole trace; time includes waiting for other ranks", rank.rank),
      {{"collective", false}, {"group", false}, {"ranks"}, {"times"}, {"MB"}, {"ms"}, {"GB/s"}});
  for (size_t i = 0; i < std::min(uses.size(), kTopCollectives); ++i) {
    const CollectiveUse& use = uses[i];
    const bool sized = use.bytes > 0 && use.total_ns > 0 && use.with_bytes == use.count;
    table.add({html_escape(use.kind), html_escape(use.group),
               use.group_size > 0 ? html_count(static_cast<uint64_t>(use.group_size)) : "-", html_count(use.count),
               megabytes(use.bytes), html_ms(ms_of(use.total_ns)),
               rate(sized ? static_cast<double>(use.bytes) / static_cast<double>(use.total_ns) : 0)});
  }
  return table.text();
}

/// Largest difference first; the last line sums to the difference of the steps.
std::string difference_table(const char* caption, const Diff& diff, const std::vector<DiffLine>& lines,
                             bool with_owner) {
  std::vector<HtmlTable::Column> columns = {{"what", false}, {"here"}, {"there"}, {"difference"}};
  if (with_owner) columns.insert(columns.begin() + 1, {"of", false});
  HtmlTable table(caption, columns);
  const auto add = [&](const std::string& name, const std::string& owner, double here_ms, double there_ms) {
    std::vector<std::string> cells = {name, html_ms(here_ms), html_ms(there_ms), html_ms(there_ms - here_ms)};
    if (with_owner) cells.insert(cells.begin() + 1, owner);
    table.add(cells);
  };
  DiffLine rest;
  for (size_t i = 0; i < lines.size(); ++i) {
    const DiffLine& line = lines[i];
    if (i < kTopDifferences) {
      add(html_name(line.label.empty() ? owner_name(line.owner) : line.label), html_escape(owner_name(line.owner)),
          line.a_ms, line.b_ms);
    } else {
      rest.a_ms += line.a_ms;
      rest.b_ms += line.b_ms;
    }
  }
  if (lines.size() > kTopDifferences) {
    add(fmt::format("{} more", lines.size() - kTopDifferences), "", rest.a_ms, rest.b_ms);
  }
  add("step", "", diff.a_ms, diff.b_ms);
  return table.text();
}

}  // namespace

std::string collectives_section(const PageInput& input) {
  const RankTasks& rank = input.graph().ranks[input.rank_index];
  const std::vector<CollectiveUse> uses = collective_uses(*rank.table);
  if (uses.empty()) return html_section("collectives", "Collectives", "<p>This rank did not communicate.</p>\n");
  const bool matched = !input.job.matches.kernels.empty();
  return html_section("collectives", "Collectives",
                      (matched ? transfer_table(input.job) : "") + kernel_table(rank, uses));
}

std::string stragglers_section(const PageInput& input) {
  if (input.graph().ranks.size() < 2) return "";
  const Stragglers found = find_stragglers(input.job, input.threads);
  if (found.groups.empty()) return "";
  HtmlTable ranks("If one rank's kernels were as fast as the median rank's; milliseconds per step",
                  {{"rank", false}, {"kernels against the median"}, {"others wait for it ms"}, {"step gains ms"}});
  for (const StragglerRank& rank : found.ranks) {
    ranks.add({fmt::format("rank {}", rank.rank), html_signed_percent(100 * (rank.slowdown - 1)),
               html_ms(rank.others_wait_ms), html_ms(rank.gain_ms)});
  }
  HtmlTable pairs("Who waits for whom, the longest first", {{"rank", false}, {"waits for", false}, {"ms per step"}});
  for (size_t i = 0; i < std::min(found.pairs.size(), kTopPairs); ++i) {
    pairs.add({fmt::format("rank {}", found.pairs[i].waiting), fmt::format("rank {}", found.pairs[i].waited_for),
               html_ms(found.pairs[i].wait_ms)});
  }
  return html_section("stragglers", "Who holds up whom", ranks.text() + (pairs.empty() ? "" : pairs.text()));
}

std::string difference_section(const PageInput& input) {
  if (!input.comparison || !input.comparison->diff) return "";
  const Diff& diff = *input.comparison->diff;
  return html_section("difference", "What makes the difference",
                      fmt::format("<p>Measured here, against {}.</p>\n", html_escape(input.comparison->source)) +
                          difference_table("By kind of work, milliseconds per step", diff, diff.by_label, true) +
                          difference_table("By template of the program", diff, diff.by_template, false) +
                          difference_table("By stream and thread", diff, diff.by_place, false));
}

}  // namespace lumos
