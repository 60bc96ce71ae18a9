// Traces without the names of people, machines and files, so that they can be shared: every name that a trace holds is
// searched for paths, file names, addresses and the users and hosts that those reveal. One Anonymiser serves all ranks
// of a job, so that a name is replaced by the same word wherever it stands. Used by `lumos convert --anonymize`.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lumos/trace/table/event_table.h"

namespace lumos {

/// Words are numbered in the order in which they come: nothing of the original is left, not even a hash.
class Anonymiser {
 public:
  /// Looks for users and hosts in the names of `table` and in its file's name, so that they are also found where they
  /// stand alone. Call it for every table before the first is replaced.
  void learn(const EventTable& table);

  /// The table with every name replaced. Kernels, operators, groups and numbers stay as they are.
  EventTable replace(const EventTable& table);

  /// `text` with paths, file names, addresses, and known users and hosts replaced.
  std::string replace(std::string_view text);

 private:
  void learn_words(std::string_view text);
  std::string word_for(std::string_view original, std::string_view kind);
  std::string replace_path(std::string_view path);
  std::string replace_token(std::string_view token);

  std::unordered_map<std::string, std::string> words_;  ///< original, kind in front, to its replacement
  std::unordered_map<std::string, size_t> count_;       ///< of words of a kind
  std::unordered_map<std::string, std::string> known_;  ///< users and hosts to their kind
};

}  // namespace lumos
