// What a command is, as data: its name, options, output schema and the function that runs it. Each file of cli/ makes
// one; commands.cc lists them; the parser, --help, shell completion, schemas and docs/commands.md are made from the
// list.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lumos/base/result.h"

namespace lumos {

/// Where a command's words go: data to stdout, talk to stderr; and whether somebody asks it to stop.
struct Console {
  std::function<void(std::string_view)> print;  ///< to stdout, as it is
  std::function<void(std::string_view)> note;   ///< one line to stderr
  /// Of who runs commands inside another program, as python/ does; work under way then ends with kInterrupted. The
  /// program itself needs none: its ctrl-C ends the process.
  std::stop_token stop = {};
};

/// What a shell offers when the user completes a value.
enum class Completion : uint8_t { kNothing, kFile };

/// An option ("--steps") or, without dashes in its name, a positional argument ("PATH").
struct Option {
  using Target = std::variant<bool*, int64_t*, double*, std::string*, std::vector<std::string>*>;

  std::string name;
  std::string value_name;  ///< "" for switches and positional arguments
  std::string help;        ///< one sentence, without a full stop
  Target target;           ///< where the parser stores; lists take any number of values
  bool required = false;
  std::vector<std::string> choices = {};
  Completion completion = Completion::kNothing;
  std::optional<int64_t> least = {};  ///< of a number, when it is given

  bool is_positional() const { return !name.starts_with('-'); }
  bool is_switch() const { return std::holds_alternative<bool*>(target); }
  bool is_list() const { return std::holds_alternative<std::vector<std::string>*>(target); }
};

/// The JSON schema of what `--json` prints.
struct Schema {
  std::string_view name;  ///< "lumos.inspect.v1"; empty: the command has no JSON output
  std::string_view text;
};

struct Command {
  std::string name;
  std::string summary;      ///< one line, for the list of commands
  std::string description;  ///< a paragraph, for the command's own help
  std::string example;
  std::vector<Option> options;
  Schema schema = {};
  Schema other_schema = {};             ///< of the other question that an option asks
  std::function<Status(Console&)> run;  ///< called once the options are stored
};

/// All commands, in the order in which help lists them.
std::vector<Command> make_commands();

/// The version of the program, "0.1.0".
std::string_view version();

}  // namespace lumos
