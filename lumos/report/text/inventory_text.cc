#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "lumos/report/results/advice.h"
#include "lumos/report/text/inventory_render.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

constexpr size_t kMostLines = 12;       // of a table: more would push the advice off the screen; --json has all
constexpr size_t kMostRanksInFull = 2;  // beyond these a table of ranks is what one can read

double to_ms(int64_t ns) { return static_cast<double>(ns) / 1e6; }

std::string percent_of(int64_t part, int64_t whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole)) : "-";
}

std::string human_bytes(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.2f} MB", bytes / 1e6);
  return bytes >= 1e3 ? fmt::format("{:.2f} kB", bytes / 1e3) : fmt::format("{:.0f} B", bytes);
}

std::string field(std::string_view label, std::string_view text) {
  return cut_text(fmt::format("  {:<16}{}", label, text), kTextWidth) + "\n";
}

std::string more(size_t count) { return fmt::format("({} more)", count - kMostLines); }

std::string rank_text(const TraceInfo& info) {
  constexpr std::string_view kSources[] = {"from the order of the files", "from distributedInfo",
                                           "from the file's name", "from --rank-regex",
                                           "from the processes of a merged file"};
  std::string out = fmt::format("{}", info.rank);
  if (info.world_size > 0) out += fmt::format(" of {}", info.world_size);
  out += fmt::format(", {}", kSources[static_cast<size_t>(info.rank_source)]);
  if (!info.backend.empty()) out += fmt::format(", backend {}", info.backend);
  return out;
}

std::string gpu_text(const TraceInfo& info) {
  if (info.devices.empty()) return "not told";
  const DeviceProperties& device = info.devices.front();
  std::string out = device.name.empty() ? "unnamed" : device.name;
  if (info.devices.size() > 1) out = fmt::format("{} x {}", info.devices.size(), out);
  if (device.num_sms > 0) out += fmt::format(", {} SMs", device.num_sms);
  if (device.memory_bytes > 0) out += ", " + human_bytes(static_cast<double>(device.memory_bytes));
  return out;
}

std::string events_text(const RankInventory& rank) {
  const TraceInfo& info = *rank.info;
  std::string out = fmt::format("{} kept of {}", rank.events_kept, info.events);
  if (info.left_out_python > 0) out += fmt::format("; {} Python frames", info.left_out_python);
  if (info.left_out_flows > 0) out += fmt::format("; {} flows", info.left_out_flows);
  if (info.left_out_other > 0) out += fmt::format("; {} others", info.left_out_other);
  return out;
}

/// What is odd about the numbers of the steps; empty if they count up by one.
std::string gaps_text(const std::vector<StepMark>& steps) {
  std::vector<int64_t> numbers;
  for (const StepMark& step : steps) {
    uint32_t number = 0;
    const std::string_view digits = std::string_view(step.name).substr(step.name.rfind('#') + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) return "";
    numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  const auto distinct = std::unique(numbers.begin(), numbers.end()) - numbers.begin();
  const int64_t missing = numbers[distinct - 1] - numbers.front() + 1 - distinct;
  const auto repeated = static_cast<int64_t>(steps.size()) - distinct;
  std::string text;
  if (missing > 0) text += fmt::format(", {} missing", missing);
  if (repeated > 0) text += fmt::format(", {} twice", repeated);
  return text;
}

std::string steps_text(const RankInventory& rank) {
  if (rank.steps.empty()) return "none marked";
  if (rank.steps.size() == 1) {
    return fmt::format("{}, {} ms", rank.steps[0].name, human_ms(to_ms(rank.steps[0].length_ns)));
  }
  int64_t sum_ns = 0, least_ns = rank.steps[0].length_ns, most_ns = 0;
  for (const StepMark& step : rank.steps) {
    sum_ns += step.length_ns;
    least_ns = std::min(least_ns, step.length_ns);
    most_ns = std::max(most_ns, step.length_ns);
  }
  const std::string& last = rank.steps.back().name;
  return fmt::format("{}: {} to {}{}; mean {} ms ({} to {})", rank.steps.size(), rank.steps.front().name,
                     last.substr(last.rfind('#')), gaps_text(rank.steps),
                     human_ms(to_ms(sum_ns) / static_cast<double>(rank.steps.size())), human_ms(to_ms(least_ns)),
                     human_ms(to_ms(most_ns)));
}

std::string of(uint64_t part, uint64_t whole) { return fmt::format("{} of {}", part, whole); }

std::string metadata_text(const Coverage& c) {
  std::string out;
  out += field("operators", fmt::format("{}, {} with shapes", c.operators, c.operators_with_shapes));
  out += field("GPU rows", fmt::format("{} with their launch; {} graph launches",
                                       of(c.gpu_rows_with_launch, c.gpu_rows), c.graph_launches));
  out += field("waits",
               fmt::format("{} synchronises, {} event records, {} stream waits", c.synchronises, c.records, c.waits));
  out +=
      field("cuda_sync", fmt::format("{} rows; {} stream waits resolved", c.sync_rows, of(c.resolved_waits, c.waits)));
  if (c.collective_kernels > 0) {
    out += field("communication", fmt::format("{} kernels with group and bytes",
                                              of(c.collective_kernels_with_metadata, c.collective_kernels)));
  }
  out += field("autograd flows", fmt::format("{} from forward to backward", c.forward_backward_flows));
  return out;
}

std::string threads_table(const RankInventory& rank) {
  if (rank.threads.empty()) return "";
  TextTable table({{"threads", Align::kLeft}, {"events"}, {"calls"}, {"launched"}, {"busy ms"}, {"of trace"}});
  for (size_t i = 0; i < std::min(rank.threads.size(), kMostLines); ++i) {
    const ThreadUse& thread = rank.threads[i];
    table.add({thread.label + (thread.polls_only ? ", only polls" : ""), std::to_string(thread.events),
               std::to_string(thread.calls), std::to_string(thread.launches), human_ms(to_ms(thread.busy_ns)),
               percent_of(thread.busy_ns, rank.span_ns)});
  }
  if (rank.threads.size() > kMostLines) table.add({more(rank.threads.size())});
  return "\n" + table.text();
}

std::string streams_table(const RankInventory& rank) {
  if (rank.streams.empty()) return "";
  TextTable table({{"streams", Align::kLeft}, {"kernels"}, {"copies"}, {"communication"}, {"busy ms"}, {"of trace"}});
  for (size_t i = 0; i < std::min(rank.streams.size(), kMostLines); ++i) {
    const StreamUse& stream = rank.streams[i];
    table.add({stream.label, std::to_string(stream.kernels), std::to_string(stream.copies),
               std::to_string(stream.collectives), human_ms(to_ms(stream.busy_ns)),
               percent_of(stream.busy_ns, rank.span_ns)});
  }
  if (rank.streams.size() > kMostLines) table.add({more(rank.streams.size())});
  return "\n" + table.text();
}

std::string collectives_table(const RankInventory& rank) {
  if (rank.collectives.empty()) return "";
  TextTable table({{"collectives", Align::kLeft},
                   {"group", Align::kLeft},
                   {"ranks"},
                   {"count"},
                   {"bytes each"},
                   {"mean ms"},
                   {"total ms"}});
  for (size_t i = 0; i < std::min(rank.collectives.size(), kMostLines); ++i) {
    const CollectiveUse& use = rank.collectives[i];
    table.add(
        {use.kind, use.group.empty() ? "?" : cut_text(use.group, 20),
         use.group_size > 0 ? std::to_string(use.group_size) : "?", std::to_string(use.count),
         use.with_bytes > 0 ? human_bytes(static_cast<double>(use.bytes) / static_cast<double>(use.with_bytes)) : "?",
         human_ms(to_ms(use.total_ns) / static_cast<double>(use.count)), human_ms(to_ms(use.total_ns))});
  }
  if (rank.collectives.size() > kMostLines) table.add({more(rank.collectives.size())});
  return "\n" + table.text();
}

std::string constants_table(const std::vector<Constant>& constants) {
  if (constants.empty()) return "";
  TextTable table({{"calibrated constants", Align::kLeft}, {"us"}, {"samples"}});
  for (const Constant& constant : constants) {
    table.add({constant.name, fmt::format("{:.2f}", static_cast<double>(constant.value_ns) / 1e3),
               constant.samples > 0 ? std::to_string(constant.samples) : "default"});
  }
  return "\n" + table.text();
}

std::string issues_text(const TraceInfo& info) {
  if (info.issues.empty() && !info.truncated) return "";
  std::string out = "\n  damage\n";
  for (const ReadIssue& issue : info.issues) {
    out += cut_text(fmt::format("    {} {}: {}, first at byte {}", issue.count, issue.repaired ? "repaired" : "skipped",
                                issue.reason, issue.first_byte),
                    kTextWidth);
    out += '\n';
  }
  if (info.truncated) out += "    the file ends in the middle\n";
  return out;
}

std::string advice_text(const RankInventory& rank) {
  const std::vector<Advice> advice = advice_for(rank);
  if (advice.empty()) return "\n  Nothing is missing for good results.\n";
  std::string out = "\n  for better results\n";
  for (const Advice& each : advice) {
    out += fmt::format("    {}:\n      {}\n", each.finding, each.effect);
    if (!each.remedy.empty()) out += fmt::format("      -> {}\n", each.remedy);
  }
  return out;
}

std::string whole_rank_text(const InspectedRank& inspected) {
  const RankInventory& rank = inspected.inventory;
  std::string out = cut_text(rank.info->file, kTextWidth) + "\n\n";
  out += field("rank", rank_text(*rank.info));
  out += field("GPU", gpu_text(*rank.info));
  out += field("span", human_ms(to_ms(rank.span_ns)) + " ms");
  out += field("events", events_text(rank));
  out += field("steps", steps_text(rank));
  out += metadata_text(rank.coverage);
  out += threads_table(rank) + streams_table(rank) + collectives_table(rank) + constants_table(inspected.constants);
  return out + issues_text(*rank.info) + advice_text(rank);
}

std::string ranks_table(const std::vector<InspectedRank>& ranks) {
  TextTable table({{"file", Align::kLeft},
                   {"rank"},
                   {"events"},
                   {"steps"},
                   {"span ms"},
                   {"GPU rows"},
                   {"communication ms"},
                   {"damage"}});
  for (const InspectedRank& inspected : ranks) {
    const RankInventory& rank = inspected.inventory;
    int64_t communication_ns = 0;
    for (const CollectiveUse& use : rank.collectives) communication_ns += use.total_ns;
    const TraceInfo& info = *rank.info;
    const uint64_t damage = info.repaired() + info.skipped() + (info.truncated ? 1 : 0);
    table.add({info.file.substr(info.file.rfind('/') + 1), std::to_string(info.rank), std::to_string(rank.events_kept),
               std::to_string(rank.steps.size()), human_ms(to_ms(rank.span_ns)), std::to_string(rank.coverage.gpu_rows),
               human_ms(to_ms(communication_ns)), damage > 0 ? std::to_string(damage) : "-"});
  }
  return table.text(0);
}

/// The ranks that the job has and the files do not.
std::string missing_ranks_text(const std::vector<InspectedRank>& ranks) {
  const int32_t world_size = ranks.front().inventory.info->world_size;
  if (world_size <= static_cast<int32_t>(ranks.size())) return "";
  return fmt::format(
      "\n  {} of {} ranks are here: how long a collective waits for the others cannot\n  be told apart from its "
      "transfer.\n",
      ranks.size(), world_size);
}

}  // namespace

std::string inventory_text(const std::vector<InspectedRank>& ranks) {
  std::string out;
  if (ranks.size() > kMostRanksInFull) {
    out = ranks_table(ranks) + "\nthe first of them in full:\n\n" + whole_rank_text(ranks.front());
  } else {
    for (const InspectedRank& rank : ranks) out += (out.empty() ? "" : "\n") + whole_rank_text(rank);
  }
  return ranks.empty() ? out : out + missing_ranks_text(ranks);
}

}  // namespace lumos
