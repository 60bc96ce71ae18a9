#include "lumos/trace/kernel_name.h"

namespace lumos {

std::string short_kernel_name(std::string_view name) {
  // Parameters, template arguments and namespaces are cut by one scan that knows the depth of brackets; "(anonymous
  // namespace)" is a namespace in spite of its bracket.
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string out;
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
      continue;
    }
    const char c = name[i];
    if (c == '<') ++depth;
    if (depth == 0 && c == '(') break;
    if (depth == 0 && c == ':' && i + 1 < name.size() && name[i + 1] == ':') {
      out.clear();
      ++i;
      continue;
    }
    if (depth == 0 && c == ' ') {
      // "void kernel" has a return type; "Memcpy HtoD" has two words.
      if (out == "void")
        out.clear();
      else if (!out.empty())
        out += c;
      continue;
    }
    if (depth == 0) out += c;
    if (c == '>' && depth > 0) --depth;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out.empty() ? std::string(name) : out;
}

}  // namespace lumos
