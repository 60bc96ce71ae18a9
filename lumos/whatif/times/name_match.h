// Regular expressions against interned names and the operators around rows. Used by every change that selects by name.
#pragma once

#include <cstdint>
#include <regex>
#include <string_view>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

/// The expression, or the reason why it is none; `what` names the option in the error, which is of kind kUsage.
Result<std::regex> compile_pattern(std::string_view what, const std::string& pattern);

/// Whether whole names match an expression; every name is asked once. Pool and expression must outlive it.
class NameMatcher {
 public:
  NameMatcher(const NamePool& pool, const std::regex& expression)
      : pool_(pool), expression_(expression), known_(pool.size(), kUnknown) {}

  bool matches(NameId id);

 private:
  enum : uint8_t { kUnknown, kNo, kYes };
  const NamePool& pool_;
  const std::regex& expression_;
  std::vector<uint8_t> known_;
};

/// For each row the outermost operator around it (itself included) whose name matches, or kNoIndex.
std::vector<uint32_t> matching_operator(const EventTable& table, const std::regex& expression);

}  // namespace lumos
