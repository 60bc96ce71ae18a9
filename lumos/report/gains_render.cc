#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "lumos/base/json_writer.h"
#include "lumos/report/gains_result.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

std::string share_text(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-";
}

std::string end_text(double ends_after) { return ends_after >= 1 ? "-" : fmt::format("-{:.0f} %", 100 * ends_after); }

// Kernels of one library begin alike and differ at the end: long names lose their middle.
constexpr size_t kNameWidth = 28;

std::string without_middle(const std::string& name, size_t width) {
  if (text_width(name) <= width || text_width(name) != name.size()) return cut_text(name, width);
  const size_t head = (width - 3) / 2, tail = width - 3 - head;
  return name.substr(0, head) + "..." + name.substr(name.size() - tail);
}

std::string row_name(const GainRow& row) {
  const std::string name =
      row.kind == CandidateKind::kHost ? row.name : fmt::format("{} {}", candidate_kind_name(row.kind), row.name);
  return without_middle(name, kNameWidth);
}

std::string then_lines(const GainsResult& result, size_t limit) {
  std::string out;
  for (size_t i = 0; i < result.rows.size() && i < limit; ++i) {
    const GainRow& row = result.rows[i];
    if (row.then.empty()) continue;
    if (out.empty()) out = "\n  Where a gain ends, the path goes on through:\n";
    const std::string end = end_text(row.ends_after);
    out += fmt::format("  {:<28} {:>6}  {}\n", row_name(row), end, without_middle(row.then, 40));
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
  TextTable table(columns);
  for (size_t i = 0; i < result.rows.size() && i < limit; ++i) {
    const GainRow& row = result.rows[i];
    std::vector<std::string> cells = {row_name(row),
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
  return out + then_lines(result, limit);
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
