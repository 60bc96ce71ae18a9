#include "lumos/report/results/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "lumos/base/json_writer.h"
#include "lumos/base/parallel.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

using Key = std::tuple<Owner, std::string, std::string>;

/// What one nanosecond of one step of `rank` adds to the side's mean step, in milliseconds.
double weight(const DiffSide& side, const DiffRank& rank) {
  const auto ranks =
      std::count_if(side.ranks.begin(), side.ranks.end(), [](const DiffRank& some) { return !some.steps.empty(); });
  return 1e-6 / static_cast<double>(rank.steps.size()) / static_cast<double>(ranks);
}

double mean_step_ms(const DiffSide& side) {
  double sum_ms = 0;
  for (const DiffRank& rank : side.ranks) {
    for (const Window& step : rank.steps) sum_ms += static_cast<double>(step.length_ns()) * weight(side, rank);
  }
  return sum_ms;
}

/// Time of the side that has one owner, and what a nanosecond of it counts.
struct WeightedTime {
  OwnedTime time;
  double weight = 0;
};

std::vector<WeightedTime> owned_times(const DiffSide& side, int threads) {
  std::vector<std::vector<OwnedTime>> of_rank(side.ranks.size());
  parallel_for(side.ranks.size(), threads, [&](size_t r) {
    const DiffRank& rank = side.ranks[r];
    if (!rank.steps.empty()) of_rank[r] = attribute_time(*rank.table, row_templates(*rank.table), rank.steps);
  });
  std::vector<WeightedTime> result;
  for (size_t r = 0; r < side.ranks.size(); ++r) {
    for (OwnedTime& time : of_rank[r]) result.push_back({std::move(time), weight(side, side.ranks[r])});
  }
  return result;
}

std::vector<DiffLine> sorted_lines(const std::map<Key, DiffLine>& sums) {
  std::vector<DiffLine> lines;
  for (const auto& [key, line] : sums) lines.push_back(line);
  std::stable_sort(lines.begin(), lines.end(), [](const DiffLine& x, const DiffLine& y) {
    return std::abs(x.difference_ms()) > std::abs(y.difference_ms());
  });
  return lines;
}

/// Sums of both sides under the keys that `key_of` gives to an owner's time.
template <class KeyOf>
std::vector<DiffLine> collect(const std::vector<WeightedTime>& a, const std::vector<WeightedTime>& b, KeyOf key_of) {
  std::map<Key, DiffLine> sums;
  const auto add = [&](const std::vector<WeightedTime>& times, double DiffLine::*side) {
    for (const auto& [time, weight] : times) {
      const Key key = key_of(time);
      DiffLine& line = sums[key];
      std::tie(line.owner, line.label, line.name) = key;
      line.*side += static_cast<double>(time.time_ns) * weight;
    }
  };
  add(a, &DiffLine::a_ms);
  add(b, &DiffLine::b_ms);
  return sorted_lines(sums);
}

/// Tables that are not of owners: every line says what it is by its label alone.
Key plain_key(const std::string& label) {
  return {Owner::kIdle, label.empty() ? std::string(owner_name(Owner::kIdle)) : label, ""};
}

std::string signed_ms(double ms) {
  const std::string text = human_ms(ms);
  return ms > 0 && text != "0" ? "+" + text : text;
}

std::string owner_title(const DiffLine& line) {
  const std::string& what = line.name.empty() ? line.label : line.name;
  return what.empty() ? std::string(owner_name(line.owner)) : fmt::format("{}: {}", owner_name(line.owner), what);
}

std::string plain_title(const DiffLine& line) { return line.label; }

std::string lines_text(const std::string& title, const std::vector<DiffLine>& lines, size_t limit,
                       std::string (*line_title)(const DiffLine&)) {
  TextTable table({{title, Align::kLeft}, {"A ms"}, {"B ms"}, {"difference"}});
  DiffLine rest;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i >= limit) {
      rest.a_ms += lines[i].a_ms;
      rest.b_ms += lines[i].b_ms;
      continue;
    }
    table.add(
        {line_title(lines[i]), human_ms(lines[i].a_ms), human_ms(lines[i].b_ms), signed_ms(lines[i].difference_ms())});
  }
  if (lines.size() > limit) {
    table.add({fmt::format("{} more", lines.size() - limit), human_ms(rest.a_ms), human_ms(rest.b_ms),
               signed_ms(rest.difference_ms())});
  }
  return table.text();
}

void write_lines(JsonWriter& json, std::string_view key, const std::vector<DiffLine>& lines, bool with_owner) {
  json.key(key).begin_array();
  for (const DiffLine& line : lines) {
    json.begin_object();
    if (with_owner) json.member("owner", owner_name(line.owner));
    json.member("label", line.label);
    if (!line.name.empty()) json.member("name", line.name);
    json.member("a_ms", line.a_ms).member("b_ms", line.b_ms).member("difference_ms", line.difference_ms());
    json.end_object();
  }
  json.end_array();
}

}  // namespace

DiffSide measured_side(const ExecGraph& graph, std::string name) {
  DiffSide side{std::move(name), {}};
  for (const RankTasks& rank : graph.ranks) {
    side.ranks.push_back({rank.table.get(), {}});
    for (uint32_t step : chosen_steps(rank)) {
      side.ranks.back().steps.push_back(measured_window(graph, rank, rank.steps[step]));
    }
  }
  return side;
}

Diff diff(const DiffSide& a, const DiffSide& b, int threads) {
  Diff result;
  result.a_name = a.name;
  result.b_name = b.name;
  result.a_ms = mean_step_ms(a);
  result.b_ms = mean_step_ms(b);
  const std::vector<WeightedTime> a_times = owned_times(a, threads);
  const std::vector<WeightedTime> b_times = owned_times(b, threads);
  using Time = const OwnedTime&;
  result.by_label = collect(a_times, b_times, [](Time time) { return Key{time.owner, time.label, ""}; });
  result.by_name = collect(a_times, b_times, [](Time time) { return Key{time.owner, time.label, time.name}; });
  result.by_template = collect(a_times, b_times, [](Time time) { return plain_key(time.part); });
  result.by_place = collect(a_times, b_times, [](Time time) { return plain_key(time.place); });
  return result;
}

std::string diff_text(const Diff& diff, size_t limit) {
  std::string out = cut_text("A  " + diff.a_name, kTextWidth) + "\n" + cut_text("B  " + diff.b_name, kTextWidth) + "\n";
  out += fmt::format("\n  step  {} ms -> {} ms, {} ms\n\n", human_ms(diff.a_ms), human_ms(diff.b_ms),
                     signed_ms(diff.b_ms - diff.a_ms));
  out += lines_text("by kind of work", diff.by_label, limit, owner_title) + "\n";
  out += lines_text("by template", diff.by_template, limit, plain_title) + "\n";
  out += lines_text("by stream and thread", diff.by_place, limit, plain_title) + "\n";
  return out + lines_text("by name", diff.by_name, limit, owner_title);
}

std::string diff_json(const Diff& diff) {
  JsonWriter json;
  json.begin_object().member("schema", "lumos.diff.v1");
  json.key("a").begin_object().member("name", diff.a_name).member("step_ms", diff.a_ms).end_object();
  json.key("b").begin_object().member("name", diff.b_name).member("step_ms", diff.b_ms).end_object();
  json.member("difference_ms", diff.b_ms - diff.a_ms);
  write_lines(json, "by_label", diff.by_label, true);
  write_lines(json, "by_template", diff.by_template, false);
  write_lines(json, "by_place", diff.by_place, false);
  write_lines(json, "by_name", diff.by_name, true);
  json.end_object();
  return json.text();
}

}  // namespace lumos
