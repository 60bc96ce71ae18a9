#include "lumos/cli/arguments/input_files.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "lumos/report/files/trace_files.h"
#include "lumos/trace/kineto/reader.h"

namespace lumos {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> values_of(const Option& option) {
  if (const auto* one = std::get_if<std::string*>(&option.target)) return {**one};
  if (const auto* list = std::get_if<std::vector<std::string>*>(&option.target)) return **list;
  return {};
}

bool names_input(const Option& option) {
  if (option.completion != Completion::kFile || names_output(option)) return false;
  // A DIR is written into; --results is read and then added to; what joins parts holds them all.
  return option.value_name != "DIR" && option.name != "--results" && option.name != "PART";
}

/// Adds `path`, or the traces in it where it is a folder. What is no regular file cannot be lost.
void add_files(const std::string& path, std::vector<std::string>& files) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) files.push_back(path);
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (has_trace_suffix(it->path().string()) && it->is_regular_file(ignored)) files.push_back(it->path().string());
  }
}

/// The input that writing to `path` would replace, or "".
std::string replaced_input(const std::string& path, const std::vector<std::string>& inputs) {
  std::error_code error;
  for (const std::string& input : inputs) {
    if (fs::equivalent(path, input, error)) return input;
    const fs::path folder = fs::path(path).parent_path(), input_folder = fs::path(input).parent_path();
    const bool beside = fs::equivalent(folder.empty() ? "." : folder, input_folder.empty() ? "." : input_folder, error);
    const std::string sibling = (folder / fs::path(input).filename()).string();
    // One file per rank is written where several are read.
    if (inputs.size() > 1 && beside && is_file_of_rank(sibling, path)) return input;
  }
  return "";
}

}  // namespace

bool names_output(const Option& option) {
  const bool writes = option.name == "--out" || option.name == "--overlay" || option.name == "--report";
  return writes && option.value_name.starts_with("FILE") && std::holds_alternative<std::string*>(option.target);
}

Status check_inputs_stay(const Command& command) {
  std::vector<std::string> inputs;
  for (const Option& option : command.options) {
    if (!names_input(option)) continue;
    for (const std::string& path : values_of(option)) add_files(path, inputs);
  }
  for (const Option& option : command.options) {
    if (!names_output(option)) continue;
    const std::string path = values_of(option).front();
    if (path.empty() || path == "-") continue;
    const std::string input = replaced_input(path, inputs);
    if (input.empty()) continue;
    return fail(ErrorKind::kUsage, "{} {}: that would replace {}, which is read; name another file", option.name, path,
                input == path ? "the file" : input);
  }
  return {};
}

}  // namespace lumos
