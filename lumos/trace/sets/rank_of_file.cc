#include "lumos/trace/sets/rank_of_file.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

namespace lumos {

namespace {

constexpr size_t kMaxRankDigits = 6;  // A million ranks; longer numbers are process ids and times.

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<int32_t> number(std::string_view digits) {
  if (digits.empty() || digits.size() > kMaxRankDigits) return std::nullopt;
  int32_t value = 0;
  auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || rest != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::string_view leading_digits(std::string_view text) {
  size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  return text.substr(0, length);
}

/// The number behind the last "rank" of a name.
std::optional<int32_t> number_behind_rank(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (size_t at = lower.rfind("rank"); at != std::string::npos;
       at = at == 0 ? std::string::npos : lower.rfind("rank", at - 1)) {
    size_t behind = at + 4;
    while (behind < lower.size() && (lower[behind] == '-' || lower[behind] == '_' || lower[behind] == ' ' ||
                                     lower[behind] == '=' || lower[behind] == '.')) {
      ++behind;
    }
    if (auto found = number(leading_digits(name.substr(behind)))) return found;
  }
  return std::nullopt;
}

/// The number between two dots before ".pt.trace".
std::optional<int32_t> number_before_suffix(std::string_view name) {
  size_t suffix = name.find(".pt.trace");
  if (suffix == std::string_view::npos) return std::nullopt;
  size_t dot = name.rfind('.', suffix == 0 ? 0 : suffix - 1);
  if (dot == std::string_view::npos || dot >= suffix) return std::nullopt;
  return number(name.substr(dot + 1, suffix - dot - 1));
}

}  // namespace

std::optional<int32_t> rank_of_file_name(const std::string& path) {
  std::string_view whole(path);
  size_t slash = whole.rfind('/');
  std::string_view name = slash == std::string_view::npos ? whole : whole.substr(slash + 1);
  if (auto found = number_behind_rank(name)) return found;
  if (auto found = number_before_suffix(name)) return found;
  if (auto found = number(name.substr(0, name.find('.')))) return found;
  if (slash == std::string_view::npos) return std::nullopt;
  std::string_view above = whole.substr(0, slash);
  size_t above_slash = above.rfind('/');
  return number_behind_rank(above_slash == std::string_view::npos ? above : above.substr(above_slash + 1));
}

Result<std::regex> compile_rank_regex(const std::string& pattern) {
  try {
    std::regex compiled(pattern, std::regex::ECMAScript);
    if (compiled.mark_count() == 0) {
      return fail(ErrorKind::kUsage,
                  "--rank-regex {}: it captures nothing; put the rank in parentheses, as in rank(\\d+)", pattern);
    }
    return compiled;
  } catch (const std::regex_error& error) {
    return fail(ErrorKind::kUsage, "--rank-regex {}: not a regular expression: {}", pattern, error.what());
  }
}

std::optional<int32_t> rank_by_regex(const std::regex& pattern, const std::string& path) {
  try {
    std::smatch match;
    if (!std::regex_search(path, match, pattern)) return std::nullopt;
    return number(
        std::string_view(path).substr(static_cast<size_t>(match.position(1)), static_cast<size_t>(match.length(1))));
  } catch (const std::regex_error&) {
    return std::nullopt;  // The pattern is too complex for this path.
  }
}

}  // namespace lumos
