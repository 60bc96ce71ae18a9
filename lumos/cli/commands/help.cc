#include "lumos/cli/commands/help.h"

#include <fmt/format.h>

#include <algorithm>

namespace lumos {

namespace {

constexpr size_t kColumns = 80;
constexpr size_t kCommandColumn = 14;  // where the summaries of commands begin
constexpr size_t kOptionColumn = 28;   // where the explanations of options begin

/// Appends `text` broken into lines. The first begins at column `at` of the present line, the others at `indent`.
void append_wrapped(std::string& out, std::string_view text, size_t at, size_t indent) {
  size_t column = at;
  bool first = true;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (!first && column + 1 + word.size() > kColumns) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
  }
  out += '\n';
}

std::string value_text(const Option& option) {
  if (option.choices.empty()) return option.value_name;
  return fmt::format("{}", fmt::join(option.choices, "|"));
}

std::string signature(const Option& option) {
  if (option.is_positional()) return fmt::format("{}{}", option.name, option.is_list() ? "..." : "");
  return option.is_switch() ? option.name : fmt::format("{} {}", option.name, value_text(option));
}

std::string usage(const Command& command) {
  std::string out = fmt::format("lumos {}", command.name);
  for (const Option& option : command.options) {
    if (option.is_positional()) out += fmt::format(fmt::runtime(option.required ? " {}" : " [{}]"), signature(option));
  }
  const bool has_options = std::any_of(command.options.begin(), command.options.end(),
                                       [](const Option& option) { return !option.is_positional(); });
  return has_options ? out + " [options]" : out;
}

/// A command line that may be pasted into a shell: too long ones go on in the next line, after a backslash.
std::string shell_lines(std::string_view text) {
  constexpr std::string_view kMore = " \\\n      ";
  std::string out = "  ";
  size_t column = 2;
  for (size_t at = 0; at < text.size();) {
    // An option stays with its value.
    size_t end = text.find(' ', at);
    if (text.substr(at).starts_with("--") && end != std::string_view::npos) end = text.find(' ', end + 1);
    const std::string_view word = text.substr(at, std::min(end, text.size()) - at);
    if (at > 0 && column + 1 + word.size() + 2 > kColumns) {
      out += kMore;
      column = kMore.size() - 3;
    } else if (at > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    at += word.size() + 1;
  }
  return out + "\n";
}

/// A row of a table of two columns; `right` begins at column `at`.
void append_row(std::string& out, std::string_view left, std::string_view right, size_t at) {
  std::string line = fmt::format("  {}", left);
  if (line.size() + 2 > at) {
    out += line;
    out += '\n';
    line.clear();
  }
  line.resize(at, ' ');
  out += line;
  append_wrapped(out, right, at, at);
}

}  // namespace

std::string overview(const std::vector<Command>& commands) {
  std::string out = "usage: lumos COMMAND [options]\n\n";
  append_wrapped(out,
                 "Reads the profiler traces of a training job, rebuilds what depended on what, and runs it again on "
                 "paper: where the step time goes, and what a change would give.",
                 0, 0);
  out += "\ncommands:\n";
  for (const Command& command : commands) append_row(out, command.name, command.summary, kCommandColumn);
  out += "\n";
  append_wrapped(out,
                 "'lumos COMMAND --help' explains a command. Exit codes: 0 done, 1 the work failed, 2 wrong usage, 3 "
                 "unreadable input, 130 interrupted.",
                 0, 0);
  return out;
}

std::string command_help(const Command& command) {
  std::string out = fmt::format("usage: {}\n\n", usage(command));
  append_wrapped(out, command.description, 0, 0);
  if (!command.options.empty()) out += "\n";
  for (const Option& option : command.options) append_row(out, signature(option), option.help, kOptionColumn);
  for (const Schema& schema : {command.schema, command.other_schema})
    if (!schema.name.empty()) out += fmt::format("\nJSON schema: {}\n", schema.name);
  if (!command.example.empty()) out += "\nexample:\n" + shell_lines(command.example);
  return out;
}

std::string markdown_reference(const std::vector<Command>& commands) {
  std::string out =
      "# Commands\n\nWritten by `lumos reference` from the command table. Every command ends with 0 when done, 1 when "
      "the work failed,\n2 on wrong usage, 3 on unreadable input and 130 when interrupted.\n";
  for (const Command& command : commands) {
    out += fmt::format("\n## lumos {}\n\n{}.\n\n```\n{}```\n", command.name, command.summary, command_help(command));
  }
  return out;
}

Command reference_command() {
  Command command;
  command.name = "reference";
  command.summary = "Print the reference of all commands as Markdown";
  command.description = "Prints docs/commands.md, made from the same table as the parser itself.";
  command.run = [](Console& console) -> Status {
    console.print(markdown_reference(make_commands()));
    return {};
  };
  return command;
}

}  // namespace lumos
