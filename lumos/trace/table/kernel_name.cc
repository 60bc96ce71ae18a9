#include "lumos/trace/table/kernel_name.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace lumos {

namespace {

/// Scans a signature: what stands before the parameters without namespaces and template arguments, and where its last
/// template arguments began.
struct Signature {
  std::string name;
  size_t arguments = std::string_view::npos;
};

Signature scan(std::string_view text) {
  // A namespace in spite of its bracket.
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  Signature found;
  std::vector<char> open;  // Brackets: inside round ones ">" is an operator.
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
      continue;
    }
    const char c = text[i];
    if (open.empty()) {
      if (c == '(') break;
      if (c == '<') {
        found.arguments = i + 1;
        open.push_back(c);
      } else if (text.substr(i).starts_with("::")) {
        found.name.clear();
        ++i;
      } else if (c == ' ') {
        // "void kernel" has a return type; "Memcpy HtoD" has two words.
        if (found.name == "void") {
          found.name.clear();
        } else if (!found.name.empty()) {
          found.name += c;
        }
      } else {
        found.name += c;
      }
    } else if (c == '<' || c == '(') {
      open.push_back(c);
    } else if ((c == '>' && open.back() == '<') || (c == ')' && open.back() == '(')) {
      open.pop_back();
    }
  }
  while (!found.name.empty() && found.name.back() == ' ') found.name.pop_back();
  return found;
}

/// True for wrappers whose template argument is the real kernel: "cutlass::Kernel<cutlass_80_tensorop_s1688gemm>".
bool is_wrapper(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name == "kernel" || name == "kernel2" || name == "device_kernel";
}

}  // namespace

std::string short_kernel_name(std::string_view name) {
  const Signature outer = scan(name);
  if (is_wrapper(outer.name) && outer.arguments != std::string_view::npos) {
    const std::string_view inside = name.substr(outer.arguments);
    const std::string inner = scan(inside.substr(0, inside.find_first_of(",>"))).name;
    if (!inner.empty()) return inner;
  }
  return outer.name.empty() ? std::string(name) : outer.name;
}

}  // namespace lumos
