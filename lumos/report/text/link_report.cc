#include "lumos/report/text/link_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lumos/base/json_writer.h"
#include "lumos/report/figures/steps.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

using enum Align;

constexpr size_t kTextRows = 40;  // more are in --json

double ms_of(int64_t ns) { return static_cast<double>(ns) / 1e6; }
double us_of(int64_t ns) { return static_cast<double>(ns) / 1e3; }

/// Kernels that begin in the k-th chosen step of their rank.
std::vector<bool> kernels_of_step(const LinkedJob& job, size_t k) {
  const ExecGraph& graph = job.linked.graph;
  std::vector<bool> keep(job.matches.kernels.size(), false);
  for (size_t r = 0; r < graph.ranks.size(); ++r) {
    const RankTasks& rank = graph.ranks[r];
    const std::vector<uint32_t> chosen = chosen_steps(rank);
    if (k >= chosen.size()) continue;
    const Window window = measured_window(graph, rank, rank.steps[chosen[k]]);
    for (uint32_t id = job.matches.rank_begin[r]; id < job.matches.rank_begin[r + 1]; ++id) {
      const int64_t start_ns = rank.table->ts_ns[job.matches.kernels[id].row];
      keep[id] = start_ns >= window.start_ns && start_ns < window.end_ns;
    }
  }
  return keep;
}

/// The name first: it tells groups apart where the line is too short for the description.
std::string group_title(const CommGroup& group) {
  return group.description.empty() ? group.name : fmt::format("{} {}", group.name, group.description);
}

std::string clock_table(const LinkReport& report) {
  TextTable table({{"rank", kLeft}, {"clock offset us"}, {"drift ppm"}, {"ends us apart"}, {"from collectives"}});
  const auto& ranks = report.job->linked.graph.ranks;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const RankClock& clock = report.job->matches.clocks[r];
    if (!clock.known) {
      table.add({std::to_string(ranks[r].rank), "unknown", "", "", "0"});
      continue;
    }
    table.add({std::to_string(ranks[r].rank), fmt::format("{:.1f}", us_of(clock.offset_ns)),
               fmt::format("{:.2f}", clock.drift * 1e6), fmt::format("{:.1f}", us_of(clock.spread_ns)),
               std::to_string(clock.samples)});
  }
  return table.text();
}

/// Means over the steps, rows of all steps put together by group and kind.
std::vector<TransferSummary> mean_rows(const LinkReport& report) {
  std::map<std::pair<uint32_t, CollectiveKind>, TransferSummary> rows;
  for (const StepTransfers& step : report.steps) {
    for (const TransferSummary& row : step.rows) {
      TransferSummary& sum = rows[{row.group, row.kind}];
      sum.group = row.group;
      sum.kind = row.kind;
      sum.members = std::max(sum.members, row.members);
      sum.collectives += row.collectives;
      sum.estimated += row.estimated;
      sum.transfer_ns += row.transfer_ns;
      sum.wait_ns += row.wait_ns;
      sum.algorithm_gbps = row.algorithm_gbps;
      sum.bus_gbps = row.bus_gbps;
    }
  }
  std::vector<TransferSummary> out;
  for (const auto& [key, row] : rows) out.push_back(row);
  std::stable_sort(out.begin(), out.end(),
                   [](const TransferSummary& a, const TransferSummary& b) { return a.transfer_ns > b.transfer_ns; });
  return out;
}

std::string transfer_table(const LinkReport& report) {
  TextTable table({{"group", kLeft}, {"kind", kLeft}, {"ranks"}, {"times"}, {"transfer"}, {"waiting"}, {"busbw"}});
  const std::vector<TransferSummary> rows = mean_rows(report);
  const double steps = std::max<double>(1, static_cast<double>(report.steps.size()));
  for (size_t i = 0; i < rows.size() && i < kTextRows; ++i) {
    const TransferSummary& row = rows[i];
    const CommGroup& group = report.job->matches.groups[row.group];
    const std::string size =
        group.size > 0 ? fmt::format("{}/{}", row.members, group.size) : std::to_string(row.members);
    table.add({group_title(group), std::string(text_of(row.kind)), size,
               fmt::format("{:.0f}", static_cast<double>(row.collectives) / steps),
               (row.estimated > 0 ? "~" : "") + human_ms(ms_of(row.transfer_ns) / steps),
               human_ms(ms_of(row.wait_ns) / steps / std::max(1u, row.members)),
               row.bus_gbps > 0 ? fmt::format("{:.1f}", row.bus_gbps) : "-"});
  }
  std::string out = table.text();
  if (rows.size() > kTextRows) out += fmt::format("  {} more rows in --json\n", rows.size() - kTextRows);
  return out +
         "  Milliseconds per step, waiting per member; bus bandwidth in GB/s. ~ where members\n  are missing: "
         "estimated from equal transfers.\n";
}

void write_counts(JsonWriter& json, const LinkedJob& job) {
  const MatchCounts& counts = job.matches.counts;
  json.key("kernels").begin_object();
  json.member("all", counts.kernels).member("by_sequence", counts.by_sequence).member("by_order", counts.by_order);
  json.member("by_ends", counts.by_ends).member("alone", counts.alone).member("unpaired", counts.unpaired);
  json.member("refused", counts.refused).end_object();
  json.member("rendezvous", job.linked.counts.rendezvous).member("unlinked", job.linked.counts.unlinked);
}

void write_row(JsonWriter& json, const JobMatches& matches, const TransferSummary& row) {
  const CommGroup& group = matches.groups[row.group];
  json.begin_object().member("group", group.name).member("description", group.description);
  json.member("kind", text_of(row.kind)).member("size", group.size).member("members", row.members);
  json.member("collectives", row.collectives).member("estimated", row.estimated);
  json.key("bytes");
  row.bytes >= 0 ? json.value(row.bytes) : json.null();
  json.member("transfer_ms", ms_of(row.transfer_ns)).member("wait_ms", ms_of(row.wait_ns));
  json.member("algbw_gbps", row.algorithm_gbps).member("busbw_gbps", row.bus_gbps).end_object();
}

}  // namespace

LinkReport link_report(const LinkedJob& job) {
  LinkReport report;
  report.job = &job;
  size_t steps = 0;
  for (const RankTasks& rank : job.linked.graph.ranks) steps = std::max(steps, chosen_steps(rank).size());
  for (size_t k = 0; k < steps; ++k) {
    report.steps.push_back({summarise_transfers(job.matches, job.transfers, kernels_of_step(job, k))});
  }
  return report;
}

std::string link_text(const LinkReport& report) {
  const MatchCounts& counts = report.job->matches.counts;
  std::string out = clock_table(report);
  out += fmt::format(
      "\n  {} communication kernels: {} matched by sequence number, {} by order, {} by\n  simultaneous ends; {} whose "
      "other members are not traced, {} without their\n  partner, {} refused because ends disagree.\n\n",
      counts.kernels, counts.by_sequence, counts.by_order, counts.by_ends, counts.alone, counts.unpaired,
      counts.refused);
  return out + transfer_table(report);
}

std::string link_json(const LinkReport& report) {
  const LinkedJob& job = *report.job;
  JsonWriter json;
  json.begin_object().member("schema", "lumos.link.v1").key("ranks").begin_array();
  for (size_t r = 0; r < job.linked.graph.ranks.size(); ++r) {
    const RankClock& clock = job.matches.clocks[r];
    json.begin_object().member("rank", job.linked.graph.ranks[r].rank).member("clock_known", clock.known);
    json.member("offset_us", us_of(clock.offset_ns)).key("drift_ppm").value(clock.drift * 1e6, 6);
    json.member("pivot_us", us_of(clock.pivot_ns)).member("spread_us", us_of(clock.spread_ns));
    json.member("samples", clock.samples).end_object();
  }
  json.end_array();
  write_counts(json, job);
  json.key("steps").begin_array();
  for (const StepTransfers& step : report.steps) {
    json.begin_object().key("transfers").begin_array();
    for (const TransferSummary& row : step.rows) write_row(json, job.matches, row);
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return json.text();
}

}  // namespace lumos
