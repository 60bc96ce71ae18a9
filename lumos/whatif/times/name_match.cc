#include "lumos/whatif/times/name_match.h"

#include "lumos/trace/table/nesting.h"

namespace lumos {

namespace {

// By default libstdc++ backtracks, one stack frame for each character: names of generated kernels, tens of thousands of
// characters long, end the process, and an unlucky expression never ends. This way it follows all alternatives at once,
// in linear time; what it then cannot do is look back at what a group matched.
#ifdef __GLIBCXX__
constexpr auto kSyntax = std::regex::ECMAScript | std::regex::optimize | std::regex_constants::__polynomial;
#else
constexpr auto kSyntax = std::regex::ECMAScript | std::regex::optimize;
#endif

}  // namespace

// std::regex speaks by exceptions: they end here.
Result<std::regex> compile_pattern(std::string_view what, const std::string& pattern) {
  try {
    return std::regex(pattern, kSyntax);
  } catch (const std::regex_error& error) {
    if (error.code() == std::regex_constants::error_complexity) {
      return fail(ErrorKind::kUsage, "{}: '{}' refers back to a group, as \\1 does, which no selector can", what,
                  pattern);
    }
    return fail(ErrorKind::kUsage, "{}: '{}' is no regular expression: {}", what, pattern, error.what());
  }
}

bool NameMatcher::matches(NameId id) {
  uint8_t& known = known_[static_cast<uint32_t>(id)];
  if (known == kUnknown) {
    const std::string_view text = pool_.text(id);
    known = std::regex_match(text.begin(), text.end(), expression_) ? kYes : kNo;
  }
  return known == kYes;
}

std::vector<uint32_t> matching_operator(const EventTable& table, const std::regex& expression) {
  const Nesting nested = nesting(table);
  NameMatcher names(*table.names, expression);
  std::vector<uint32_t> around(table.size(), kNoIndex);
  for (uint32_t row : nested.order) {
    const uint32_t parent = nested.parent[row];
    if (parent != kNoIndex) around[row] = around[parent];
    const bool starts = around[row] == kNoIndex && table.kind[row] == EventKind::kCpuOp;
    if (starts && names.matches(table.name[row])) around[row] = row;
  }
  return around;
}

}  // namespace lumos
