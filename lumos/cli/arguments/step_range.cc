#include "lumos/cli/arguments/step_range.h"

#include <charconv>

namespace lumos {

namespace {

std::optional<int64_t> to_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::optional<int64_t> step_number(std::string_view name) {
  const size_t mark = name.rfind('#');
  return mark == std::string_view::npos ? std::nullopt : to_number(name.substr(mark + 1));
}

std::string step_names(const RankTasks& rank) {
  std::string out;
  for (const Step& step : rank.steps) {
    if (!out.empty()) out += ", ";
    out += step.name;
  }
  return out.empty() ? "none" : out;
}

Result<StepRange> parse_step_range(std::string_view text) {
  const size_t dash = text.find('-');
  const std::optional<int64_t> first = to_number(text.substr(0, dash));
  const std::optional<int64_t> last = dash == std::string_view::npos ? first : to_number(text.substr(dash + 1));
  if (!first || !last || *first > *last) {
    return fail(ErrorKind::kUsage, "--steps takes a step or a range of steps, such as 4 or 4-6, not '{}'", text);
  }
  return StepRange{*first, *last};
}

Status choose_steps(ExecGraph& graph, StepRange range) {
  for (RankTasks& rank : graph.ranks) {
    bool any = false;
    for (Step& step : rank.steps) {
      const std::optional<int64_t> number = step_number(step.name);
      step.chosen = number && *number >= range.first && *number <= range.last;
      step.left_out_reason = step.chosen ? "" : "not asked for";
      any = any || step.chosen;
    }
    if (!any) {
      return fail(
          ErrorKind::kUsage, "--steps {}: rank {} has no such step; its steps: {}",
          range.first == range.last ? fmt::format("{}", range.first) : fmt::format("{}-{}", range.first, range.last),
          rank.rank, step_names(rank));
    }
  }
  return {};
}

}  // namespace lumos
