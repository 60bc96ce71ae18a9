#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "lumos/base/json_writer.h"
#include "lumos/report/results/gains_result.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

std::string share_text(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-";
}

std::string end_text(double ends_after) { return ends_after >= 1 ? "-" : fmt::format("-{:.0f} %", 100 * ends_after); }

// Kernels of one library begin alike and differ at the end: long names lose their middle.
constexpr size_t kNameWidth = 28;
constexpr size_t kNameWidthBesidePeers = 22;
constexpr int kPasses = 4;  // names that still look alike then stay so

std::string whole_name(const GainRow& row) {
  return row.kind == CandidateKind::kHost ? row.name : fmt::format("{} {}", candidate_kind_name(row.kind), row.name);
}

size_t common_tail(std::string_view a, std::string_view b) {
  size_t tail = 0;
  while (tail < a.size() && tail < b.size() && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  return tail;
}

/// Names of the first `limit` rows that fit `width`. Of names that would be cut to the same text, as those of one
/// library's kernels are, the end that they share goes too, and again of those that are then cut to the same.
std::vector<std::string> row_names(const GainsResult& result, size_t limit, size_t width) {
  std::vector<std::string> whole;
  for (size_t i = 0; i < result.rows.size() && i < limit; ++i) whole.push_back(whole_name(result.rows[i]));
  std::vector<std::string> names(whole.size());
  for (int pass = 0; pass < kPasses; ++pass) {
    std::map<std::string, std::vector<size_t>> alike;
    for (size_t i = 0; i < whole.size(); ++i) {
      names[i] = cut_middle(whole[i], width);
      alike[names[i]].push_back(i);
    }
    for (const auto& [cut, rows] : alike) {
      size_t tail = whole[rows[0]].size();
      for (size_t i : rows) tail = std::min(tail, common_tail(whole[rows[0]], whole[i]));
      if (rows.size() < 2 || tail >= whole[rows[0]].size()) continue;
      for (size_t i : rows) whole[i].resize(whole[i].size() - tail);
    }
  }
  return names;
}

std::string then_lines(const GainsResult& result, const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    const GainRow& row = result.rows[i];
    if (row.then.empty()) continue;
    if (out.empty()) out = "\n  Where a gain ends, the path goes on through:\n";
    const std::string end = end_text(row.ends_after);
    out += fmt::format("  {:<28} {:>6}  {}\n", names[i], end, cut_middle(row.then, 40));
  }
  return out;
}

}  // namespace

std::string gains_text(const GainsResult& result, size_t limit) {
  std::string out =
      fmt::format("  step {} ms, simulated. It would be shorter by, in ms:\n\n", human_ms(result.step_ms));
  const bool peers =
      std::any_of(result.rows.begin(), result.rows.end(), [](const GainRow& row) { return row.peers_ms > 0; });
  std::vector<TextTable::Column> columns = {
      {"if faster", Align::kLeft}, {"time"}, {"path"}, {"10 %"}, {"2x"}, {"free"}, {"ends"}};
  if (peers) columns.push_back({"as peers"});
  const std::vector<std::string> names = row_names(result, limit, peers ? kNameWidthBesidePeers : kNameWidth);
  TextTable table(columns);
  for (size_t i = 0; i < names.size(); ++i) {
    const GainRow& row = result.rows[i];
    std::vector<std::string> cells = {names[i],
                                      share_text(row.time_ms, result.step_ms),
                                      share_text(row.on_path_ms, result.step_ms),
                                      human_ms(row.tenth_ms),
                                      human_ms(row.half_ms),
                                      human_ms(row.free_ms),
                                      end_text(row.ends_after)};
    if (peers) cells.push_back(row.peers_ms > 0 ? human_ms(row.peers_ms) : "");
    table.add(std::move(cells));
  }
  if (table.empty()) return out + "  nothing: no time on the path belongs to anything that could be faster\n";
  out += table.text();
  if (result.rows.size() > limit) {
    out += fmt::format("  {} more; --all or --json lists them\n", result.rows.size() - limit);
  }
  return out + then_lines(result, names);
}

std::string gains_json(const GainsResult& result) {
  JsonWriter json;
  json.begin_object().member("schema", "lumos.gains.v1").member("step_ms", result.step_ms);
  json.member("tried", result.tried).key("gains").begin_array();
  for (const GainRow& row : result.rows) {
    json.begin_object().member("kind", candidate_kind_name(row.kind)).member("name", row.name);
    json.member("time_ms", row.time_ms).member("on_path_ms", row.on_path_ms);
    json.member("gain_10_percent_ms", row.tenth_ms).member("gain_2x_ms", row.half_ms);
    json.member("gain_free_ms", row.free_ms).member("ends_after", row.ends_after);
    json.member("gain_as_peers_ms", row.peers_ms);
    json.member("then", row.then).end_object();
  }
  json.end_array().end_object();
  return json.text();
}

}  // namespace lumos
