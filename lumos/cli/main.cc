// The program `lumos`: words to a command, its error to stderr and to an exit code.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "lumos/cli/arguments/command.h"
#include "lumos/cli/parse.h"
#include "lumos/report/text_table.h"

namespace {

using namespace lumos;

// Nothing needs undoing: results are written beside their final name first, and what is left there is named .part. Only
// async-signal-safe calls here.
extern "C" void on_interrupt(int) {
  constexpr char kMessage[] = "\nlumos: interrupted\n";
  if (write(STDERR_FILENO, kMessage, sizeof kMessage - 1) < 0) _exit(130);
  _exit(static_cast<int>(ErrorKind::kInterrupted));
}

int report(const Error& error) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", fold_lines("lumos: " + error.message).c_str());
  return static_cast<int>(error.kind);
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void note(std::string_view text) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", fold_lines(fmt::format("lumos: {}", text)).c_str());
}

Status run_command(const std::vector<std::string>& words) {
  const std::vector<Command> commands = make_commands();
  const Invocation invocation = TRY(parse_command_line(commands, words));
  Console console{print, note};
  if (invocation.command != nullptr) {
    TRY_STATUS(invocation.command->run(console));
  } else {
    print(invocation.text);
  }
  // A full disk shows only when the last bytes leave the buffer.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) return fail(ErrorKind::kFailed, "cannot write to stdout");
  return {};
}

// Nothing of ours throws; the library does where memory ends.
Status run(const std::vector<std::string>& words) {
  try {
    return run_command(words);
  } catch (const std::bad_alloc&) {
    return fail(
        ErrorKind::kFailed,
        "out of memory; give it fewer files (one rank per stage tells nearly as much), or `lumos link` parts with "
        "--shard and merge them");
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, on_interrupt);
  const Status status = run(std::vector<std::string>(argv + 1, argv + argc));
  return status ? 0 : report(status.error());
}
