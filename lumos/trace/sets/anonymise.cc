#include "lumos/trace/sets/anonymise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <optional>

#include "lumos/trace/sets/ip_address.h"

namespace lumos {

namespace {

// A user or host called "a" would be replaced all over; shorter names than this are only replaced inside of paths.
constexpr size_t kShortestWord = 3;

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Characters of which paths, host names and addresses consist.
bool is_token_char(char c) { return is_alnum(c) || std::string_view("_.~+-/@").find(c) != std::string_view::npos; }

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

/// The extension of a file's name, dot included, where it is one that files of training jobs have; else empty.
std::string_view known_extension(std::string_view name) {
  static constexpr std::array<std::string_view, 30> kExtensions = {
      ".json.gz", ".json.zst", ".tar.gz", ".py",   ".pyc", ".so",  ".cu",   ".cuh",         ".cc", ".cpp",
      ".c",       ".h",        ".hpp",    ".json", ".gz",  ".zst", ".yaml", ".yml",         ".sh", ".pt",
      ".pth",     ".bin",      ".ckpt",   ".txt",  ".csv", ".tsv", ".log",  ".safetensors", ".md", ".toml"};
  for (std::string_view extension : kExtensions) {
    if (name.size() > extension.size() && name.ends_with(extension)) return extension;
  }
  return {};
}

/// Paths begin at a root or end with a file; "GB/s", "forward/backward" and "3/100" do neither.
bool is_path(std::string_view token) {
  if (token.starts_with("~/") || token.starts_with("./") || token.starts_with("../")) return true;
  if (token.starts_with('/')) return token.find_first_not_of('/') != std::string_view::npos;
  return !known_extension(token).empty();
}

/// Four numbers with dots between them.
bool is_ipv4(std::string_view token) {
  int dots = 0;
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '.') {
      if (i == 0 || i + 1 == token.size() || token[i - 1] == '.') return false;
      ++dots;
    } else if (!is_digit(token[i])) {
      return false;
    }
  }
  return dots == 3;
}

/// Names of machines in a domain. Dotted names of modules have no top-level domain of the Internet at their end.
bool is_host(std::string_view token) {
  static constexpr std::array<std::string_view, 14> kDomains = {".com",  ".org", ".net",      ".edu",  ".gov",
                                                                ".io",   ".cn",  ".de",       ".uk",   ".jp",
                                                                ".corp", ".lan", ".internal", ".local"};
  if (token.empty() || !is_alnum(token[0]) || token.find_first_of("/_+~") != std::string_view::npos) return false;
  return std::any_of(kDomains.begin(), kDomains.end(),
                     [&](std::string_view domain) { return token.ends_with(domain); });
}

/// Calls `each` with "alice" of "/home/alice/...": what follows a folder that holds homes.
template <class Each>
void for_each_user(std::string_view text, Each each) {
  static constexpr std::array<std::string_view, 6> kHomes = {"/home/", "/Users/",   "/users/",
                                                             "/user/", "\\Users\\", "\\\\Users\\\\"};
  for (std::string_view home : kHomes) {
    for (size_t at = text.find(home); at != std::string_view::npos; at = text.find(home, at + 1)) {
      const std::string_view rest = text.substr(at + home.size());
      const auto end = std::find_if(rest.begin(), rest.end(), [](char c) { return !is_alnum(c) && c != '-'; });
      each(rest.substr(0, static_cast<size_t>(end - rest.begin())));
    }
  }
}

/// "node7" of "node7_4242.1700000000000.pt.trace.json": the profiler's own names begin with host and process id.
std::optional<std::string_view> host_of_trace_file(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const size_t end = name.find(".pt.trace");
  if (end == std::string_view::npos) return std::nullopt;
  const size_t stamp = name.rfind('.', end - 1);
  const std::string_view host_and_id = name.substr(0, stamp == std::string_view::npos ? end : stamp);
  const size_t mark = host_and_id.rfind('_');
  if (mark == std::string_view::npos || mark + 1 == host_and_id.size()) return std::nullopt;
  const std::string_view id = host_and_id.substr(mark + 1);
  if (!std::all_of(id.begin(), id.end(), is_digit)) return std::nullopt;
  return host_and_id.substr(0, mark);
}

/// Calls `each(piece, is_token)` for runs of token characters and what is between them.
template <class Each>
void for_each_token(std::string_view text, Each each) {
  for (size_t at = 0; at < text.size();) {
    const bool token = is_token_char(text[at]);
    size_t end = at + 1;
    while (end < text.size() && is_token_char(text[end]) == token) ++end;
    each(text.substr(at, end - at), token);
    at = end;
  }
}

/// Calls `each(piece, is_word)` for runs of letters, digits, '-' and what is between them.
template <class Each>
void for_each_word(std::string_view text, Each each) {
  const auto in_word = [](char c) { return is_alnum(c) || c == '-'; };
  for (size_t at = 0; at < text.size();) {
    const bool word = in_word(text[at]);
    size_t end = at + 1;
    while (end < text.size() && in_word(text[end]) == word) ++end;
    each(text.substr(at, end - at), word);
    at = end;
  }
}

}  // namespace

void Anonymiser::learn_words(std::string_view text) {
  for_each_user(text, [&](std::string_view user) {
    if (user.size() >= kShortestWord) known_.emplace(lower(user), "user");
  });
  for_each_token(text, [&](std::string_view token, bool is_token) {
    if (!is_token) return;
    token = token.substr(0, token.find_last_not_of('.') + 1);
    const size_t at_sign = token.find('@');
    const std::string_view host = token.substr(at_sign == std::string_view::npos ? 0 : at_sign + 1);
    if (!is_host(host)) return;
    if (at_sign != std::string_view::npos && at_sign > 0) known_.emplace(lower(token.substr(0, at_sign)), "user");
    const std::string_view machine = host.substr(0, host.find('.'));
    if (machine.size() >= kShortestWord) known_.emplace(lower(machine), "host");
  });
}

void Anonymiser::learn(const EventTable& table) {
  for (uint32_t id = 0; id < table.names->size(); ++id) learn_words(table.text(NameId{id}));
  for (std::string_view file : {std::string_view(table.info.trace_name), std::string_view(table.info.file)}) {
    learn_words(file);
    const auto host = host_of_trace_file(file);
    if (host && host->size() >= kShortestWord) known_.emplace(lower(*host), "host");
  }
}

std::string Anonymiser::word_for(std::string_view original, std::string_view kind) {
  auto [entry, is_new] = words_.try_emplace(fmt::format("{} {}", kind, original));
  if (is_new) entry->second = fmt::format("{}{}", kind, ++count_[std::string(kind)]);
  return entry->second;
}

/// Folder by folder, so that what lay together still does. The extension stays: it says what a file is.
std::string Anonymiser::replace_path(std::string_view path) {
  std::string out;
  size_t at = 0;
  while (at < path.size()) {
    if (path[at] == '/') {
      out += path[at++];
      continue;
    }
    size_t end = path.find('/', at);
    const bool last = end == std::string_view::npos;
    if (last) end = path.size();
    const std::string_view part = path.substr(at, end - at);
    const auto known = known_.find(lower(part));
    if (part == "." || part == ".." || part == "~") {
      out += part;
    } else if (known != known_.end()) {
      out += word_for(known->first, known->second);
    } else if (last) {
      const std::string_view extension = known_extension(part);
      out += word_for(part.substr(0, part.size() - extension.size()), "file");
      out += extension;
    } else {
      out += word_for(part, "folder");
    }
    at = end;
  }
  return out;
}

std::string Anonymiser::replace_token(std::string_view token) {
  const size_t at_sign = token.find('@');
  if (at_sign != std::string_view::npos && at_sign > 0 && is_host(token.substr(at_sign + 1))) {
    return word_for(lower(token.substr(0, at_sign)), "user") + "@" + replace_token(token.substr(at_sign + 1));
  }
  // A sentence may end behind a path or a host.
  const size_t end = token.find_last_not_of('.') + 1;
  if (end > 0 && end < token.size()) return replace_token(token.substr(0, end)) + std::string(token.substr(end));
  if (is_ipv4(token)) return word_for(token, "address");
  if (is_path(token)) return replace_path(token);
  if (is_host(token)) return word_for(lower(token.substr(0, token.find('.'))), "host");
  std::string out;
  for_each_word(token, [&](std::string_view word, bool is_word) {
    const auto known = is_word ? known_.find(lower(word)) : known_.end();
    out += known == known_.end() ? std::string(word) : word_for(known->first, known->second);
  });
  return out;
}

std::string Anonymiser::replace(std::string_view text) {
  std::string out;
  const auto replace_tokens = [&](std::string_view part) {
    for_each_token(part, [&](std::string_view piece, bool is_token) {
      out += is_token ? replace_token(piece) : std::string(piece);
    });
  };
  // Addresses with colons are no tokens: names of C++ have colons too.
  size_t at = 0;
  for (TextRange range = find_ipv6(text, 0); range.length > 0; range = find_ipv6(text, at)) {
    replace_tokens(text.substr(at, range.at - at));
    out += word_for(lower(text.substr(range.at, range.length)), "address");
    at = range.at + range.length;
  }
  replace_tokens(text.substr(at));
  return out;
}

EventTable Anonymiser::replace(const EventTable& table) {
  EventTable out = table;
  auto names = std::make_shared<NamePool>();
  std::vector<NameId> renamed(table.names->size());
  for (uint32_t id = 0; id < renamed.size(); ++id) renamed[id] = names->intern(replace(table.text(NameId{id})));
  const auto rename = [&](auto&... ids) { ((ids = renamed[static_cast<uint32_t>(ids)]), ...); };
  for (NameId& name : out.name) rename(name);
  for (Lane& lane : out.lanes) rename(lane.pid_text, lane.tid_text, lane.label, lane.process);
  for (OpDetail& op : out.ops) rename(op.input_dims, op.input_types, op.concrete_inputs);
  for (CollectiveDetail& c : out.collectives) {
    rename(c.collective, c.dtype, c.group_name, c.group_desc, c.group_ranks, c.in_split, c.out_split);
  }
  out.names = std::move(names);
  out.info.file = replace(table.info.file);
  out.info.trace_name = replace(table.info.trace_name);
  for (ProcessGroup& group : out.info.groups) {  // As collectives name them.
    group.name = replace(group.name);
    group.description = replace(group.description);
  }
  return out;
}

}  // namespace lumos
