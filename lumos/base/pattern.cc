#include "lumos/base/pattern.h"

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

// Compiling descends once per character; this is far from the end of any stack, and more than anybody types.
constexpr size_t kMostPatternBytes = 4096;
constexpr size_t kShownBytes = 40;

}  // namespace

// std::regex speaks by exceptions: they end here.
Result<std::regex> compile_pattern(std::string_view what, const std::string& pattern) {
  if (pattern.size() > kMostPatternBytes) {
    return fail(ErrorKind::kUsage, "{}: the pattern '{}...' has {} bytes; at most {}", what,
                std::string_view(pattern).substr(0, kShownBytes), pattern.size(), kMostPatternBytes);
  }
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

}  // namespace lumos
