#include "lumos/whatif/times/name_match.h"

#include "lumos/trace/table/nesting.h"

namespace lumos {

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
