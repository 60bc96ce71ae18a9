#include "lumos/cli/parse.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "lumos/base/suggest.h"
#include "lumos/cli/arguments/input_files.h"
#include "lumos/cli/arguments/output_folder.h"
#include "lumos/cli/commands/help.h"

namespace lumos {

namespace {

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known) {
  const std::string_view near = nearest(word, known);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

const Command* find(const std::vector<Command>& commands, std::string_view name) {
  for (const Command& command : commands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

Result<const Command*> named(const std::vector<Command>& commands, std::string_view name) {
  if (const Command* command = find(commands, name)) return command;
  std::vector<std::string_view> known;
  for (const Command& command : commands) known.push_back(command.name);
  return fail(ErrorKind::kUsage, "there is no command '{}'{} 'lumos --help' lists the commands", name,
              did_you_mean(name, known).empty() ? ";" : did_you_mean(name, known));
}

void declare(CLI::App& app, const Option& option) {
  CLI::Option* declared = std::visit(
      [&](auto* target) -> CLI::Option* {
        if constexpr (std::is_same_v<decltype(target), bool*>) {
          return app.add_flag(option.name, *target);
        } else {
          return app.add_option(option.name, *target);
        }
      },
      option.target);
  // A list option takes one value each time it is given, so that it does not swallow the paths after it.
  if (option.is_list() && !option.is_positional()) declared->allow_extra_args(false);
  if (option.required) declared->required();
  if (!option.choices.empty()) declared->check(CLI::IsMember(option.choices));
}

/// The error of a value that is no number. The parser's own text names the option as it was written: "Could not
/// convert:
/// --seeds = abc".
tl::unexpected<Error> not_a_number(const Command& command, std::string_view text) {
  const size_t colon = text.find(": "), equals = text.find(" = ", colon);
  if (colon == std::string_view::npos || equals == std::string_view::npos)
    return fail(ErrorKind::kUsage, "{}: {}; see 'lumos {} --help'", command.name, text, command.name);
  const std::string_view name = text.substr(colon + 2, equals - colon - 2), value = text.substr(equals + 3);
  std::string_view kind = "a number";
  for (const Option& option : command.options) {
    if (option.name == name && std::holds_alternative<int64_t*>(option.target)) kind = "a whole number";
    if (option.name == name && option.is_switch()) kind = "no value";
  }
  return fail(ErrorKind::kUsage, "{}: {} takes {}, not '{}'", command.name, name, kind, value);
}

/// Values that are numbers and yet none that the option can take.
Status reject_too_small(const Command& command, CLI::App& app) {
  for (const Option& option : command.options) {
    const auto* number = std::get_if<int64_t*>(&option.target);
    if (number == nullptr || !option.least || app.count(option.name) == 0 || **number >= *option.least) continue;
    return fail(ErrorKind::kUsage, "{}: {} must be {} or more, not {}", command.name, option.name, *option.least,
                **number);
  }
  return {};
}

/// The error of an option with no value, or with more than it takes.
tl::unexpected<Error> wrong_count(const Command& command, const std::vector<std::string>& words,
                                  std::string_view name) {
  const auto times = std::count_if(words.begin(), words.end(), [&](const std::string& word) {
    return word == name || (word.starts_with(name) && word.substr(name.size()).starts_with("="));
  });
  if (times > 1) {
    return fail(ErrorKind::kUsage, "{}: {} is given {} times; it takes one value", command.name, name, times);
  }
  return fail(ErrorKind::kUsage, "{}: {} needs a value; see 'lumos {} --help'", command.name, name, command.name);
}

/// The list option that the word before `word` is a value of, for those who write several values after one name; null
/// where `word` does not look like that.
const Option* option_before(const Command& command, const std::vector<std::string>& words, std::string_view word) {
  const size_t at = static_cast<size_t>(std::find(words.begin(), words.end(), word) - words.begin());
  if (at < 2 || at == words.size() || word.find('=') == std::string_view::npos) return nullptr;
  for (const Option& option : command.options) {
    if (option.is_positional() || !option.is_list()) continue;
    if (words[at - 2] == option.name || words[at - 1].starts_with(option.name + "=")) return &option;
  }
  return nullptr;
}

tl::unexpected<Error> stray_value(const Command& command, const Option& option, std::string_view word) {
  return fail(ErrorKind::kUsage, "{}: {} takes one value each time; repeat it: {} {}", command.name, option.name,
              option.name, word);
}

/// Values that were taken for paths.
Status reject_strays(const Command& command, const std::vector<std::string>& words,
                     const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const Option* option = option_before(command, words, path);
    std::error_code ignored;
    if (option != nullptr && !std::filesystem::exists(path, ignored)) return stray_value(command, *option, path);
  }
  return {};
}

Status reject_unknown(const Command& command, const std::vector<std::string>& words,
                      const std::vector<std::string>& remaining) {
  if (remaining.empty()) return {};
  const std::string& word = remaining.front();
  if (const Option* option = option_before(command, words, word)) return stray_value(command, *option, word);
  std::vector<std::string_view> known;
  for (const Option& option : command.options) {
    if (!option.is_positional()) known.push_back(option.name);
  }
  const std::string name = word.substr(0, word.find('='));
  const bool is_option = word.starts_with('-');
  return fail(ErrorKind::kUsage, "{}: {} '{}'{}", command.name, is_option ? "no such option" : "unexpected argument",
              is_option ? name : word, is_option ? did_you_mean(name, known) : "");
}

}  // namespace

Result<Invocation> parse_command_line(const std::vector<Command>& commands, const std::vector<std::string>& words) {
  if (words.empty()) return fail(ErrorKind::kUsage, "no command given; 'lumos --help' lists the commands");
  if (words[0] == "--version") return Invocation{nullptr, fmt::format("lumos {}\n", version())};
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    if (words.size() == 1 || words[0] != "help") return Invocation{nullptr, overview(commands)};
    return Invocation{nullptr, command_help(*TRY(named(commands, words[1])))};
  }
  const Command& command = *TRY(named(commands, words[0]));
  std::vector<std::string> rest(words.begin() + 1, words.end());
  // Help wins wherever it stands, as users add it to a line that does not work.
  for (const std::string& word : rest) {
    if (word == "--") break;
    if (word == "--help" || word == "-h") return Invocation{nullptr, command_help(command)};
  }
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  try {
    for (const Option& option : command.options) declare(app, option);
    std::reverse(rest.begin(), rest.end());  // CLI11 takes words from the back.
    app.parse(rest);
  } catch (const CLI::RequiredError& error) {
    TRY_STATUS(reject_unknown(command, words, app.remaining()));
    return fail(ErrorKind::kUsage, "{}: {}; see 'lumos {} --help'", command.name, error.what(), command.name);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string_view text = error.what();
    return wrong_count(command, words, text.substr(0, text.find(':')));
  } catch (const CLI::ConversionError& error) {
    return not_a_number(command, error.what());
  } catch (const CLI::Error& error) {
    return fail(ErrorKind::kUsage, "{}: {}; see 'lumos {} --help'", command.name, error.what(), command.name);
  }
  TRY_STATUS(reject_unknown(command, words, app.remaining()));
  for (const Option& option : command.options) {
    if (option.is_positional() && option.is_list())
      TRY_STATUS(reject_strays(command, words, *std::get<std::vector<std::string>*>(option.target)));
  }
  TRY_STATUS(reject_too_small(command, app));
  TRY_STATUS(check_output_files(command));
  TRY_STATUS(check_inputs_stay(command));
  return Invocation{&command, ""};
}

}  // namespace lumos
