#include "lumos/cli/commands/completion.h"

#include <fmt/format.h>

#include <memory>

namespace lumos {

namespace {

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// zsh's specifications end a description at "]" and a field at ":".
std::string zsh_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

bool takes_files(const Command& command) {
  for (const Option& option : command.options) {
    if (option.is_positional() && option.completion == Completion::kFile) return true;
  }
  return false;
}

const Option* positional_choice(const Command& command) {
  for (const Option& option : command.options) {
    if (option.is_positional() && !option.choices.empty()) return &option;
  }
  return nullptr;
}

std::string words_after(const Command& command) {
  std::string out = "--help";
  for (const Option& option : command.options) {
    if (!option.is_positional()) out += " " + option.name;
  }
  if (const Option* choice = positional_choice(command)) out += fmt::format(" {}", fmt::join(choice->choices, " "));
  return out;
}

}  // namespace

std::string bash_completion(const std::vector<Command>& commands) {
  std::string names = "--help --version";
  std::string values, words;
  for (const Command& command : commands) {
    names += " " + command.name;
    words += fmt::format("    {}) words=\"{}\" files={} ;;\n", command.name, words_after(command),
                         takes_files(command) ? 1 : 0);
    for (const Option& option : command.options) {
      if (option.is_positional() || option.is_switch()) continue;
      const std::string reply = option.completion == Completion::kFile
                                    ? "compgen -f -- \"$word\""
                                    : fmt::format("compgen -W \"{}\" -- \"$word\"", fmt::join(option.choices, " "));
      values += fmt::format("    {},{}) mapfile -t COMPREPLY < <({}); return ;;\n", command.name, option.name, reply);
    }
  }
  return fmt::format(R"(# bash completion for lumos; load with: source <(lumos completion bash)
_lumos() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} words="" files=0
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "{}" -- "$word")
    return
  fi
  case "$command,${{COMP_WORDS[COMP_CWORD-1]}}" in
{}  esac
  case "$command" in
{}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"; [ "$files" = 1 ] && compgen -f -- "$word")
}}
complete -o filenames -F _lumos lumos
)",
                     names, values, words);
}

std::string zsh_completion(const std::vector<Command>& commands) {
  std::string list, cases;
  for (const Command& command : commands) {
    list += fmt::format("    {}\n", shell_quoted(command.name + ":" + zsh_text(command.summary)));
    cases += fmt::format("    {})\n      _arguments {}", command.name, shell_quoted("--help[Explain the command]"));
    for (const Option& option : command.options) {
      const std::string action = option.completion == Completion::kFile ? "_files"
                                 : option.choices.empty()               ? " "
                                                          : fmt::format("({})", fmt::join(option.choices, " "));
      std::string spec;
      if (option.is_positional()) {
        spec = fmt::format("{}:{}:{}", option.is_list() ? "*" : "1", option.name, action);
      } else if (option.is_switch()) {
        spec = fmt::format("{}[{}]", option.name, zsh_text(option.help));
      } else {
        spec = fmt::format("{}[{}]:{}:{}", option.name, zsh_text(option.help),
                           option.value_name.empty() ? "value" : zsh_text(option.value_name), action);
      }
      cases += fmt::format(" \\\n        {}", shell_quoted(spec));
    }
    cases += " ;;\n";
  }
  return fmt::format(R"(#compdef lumos
# zsh completion for lumos; save as _lumos in a folder of $fpath, or: source <(lumos completion zsh)
_lumos() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
compdef _lumos lumos
)",
                     list, cases);
}

std::string fish_completion(const std::vector<Command>& commands) {
  std::string out =
      "# fish completion for lumos; load with: lumos completion fish | source\n"
      "complete -c lumos -n __fish_use_subcommand -l help -d 'List the commands'\n"
      "complete -c lumos -n __fish_use_subcommand -l version -d 'Print the version'\n";
  for (const Command& command : commands) {
    out += fmt::format("complete -c lumos -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                       shell_quoted(command.summary));
    const std::string when = fmt::format("'__fish_seen_subcommand_from {}'", command.name);
    for (const Option& option : command.options) {
      const std::string choices =
          option.choices.empty() ? "" : fmt::format(" -f -a '{}'", fmt::join(option.choices, " "));
      if (option.is_positional()) {
        if (!choices.empty()) out += fmt::format("complete -c lumos -n {}{}\n", when, choices);
        continue;
      }
      out += fmt::format("complete -c lumos -n {} -l {}{}{} -d {}\n", when, option.name.substr(2),
                         option.is_switch() ? "" : " -r", choices, shell_quoted(option.help));
    }
  }
  return out;
}

Command completion_command() {
  auto shell = std::make_shared<std::string>();
  Command command;
  command.name = "completion";
  command.summary = "Print the completion script of a shell";
  command.description = "Prints a script that lets the shell complete commands, options and their values.";
  command.example = "source <(lumos completion bash)";
  command.options = {{"SHELL", "", "The shell: bash, zsh or fish", shell.get(), true, {"bash", "zsh", "fish"}}};
  command.run = [shell](Console& console) -> Status {
    const std::vector<Command> commands = make_commands();
    if (*shell == "bash") console.print(bash_completion(commands));
    if (*shell == "zsh") console.print(zsh_completion(commands));
    if (*shell == "fish") console.print(fish_completion(commands));
    return {};
  };
  return command;
}

}  // namespace lumos
