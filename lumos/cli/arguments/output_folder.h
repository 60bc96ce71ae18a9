// Where commands write: a folder filled with traces (one job to a folder, for whoever reads it takes all traces in it
// for one), and single files.
#pragma once

#include <string>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/cli/arguments/command.h"

namespace lumos {

/// What shows which job the traces of a folder are of: the file that is written beside them, and what it says.
struct FolderMark {
  std::string name;
  std::string text;
};

/// Makes `folder`, or checks that writing `files` (names within it) does not mix two jobs there: no trace in it stays
/// beside the new ones, and none is replaced but those of the same job, which a file as `mark` says shows. With `force`
/// the same is no error but told in the result: the traces that stay. Errors: kUsage, and kFailed where the folder
/// cannot be made.
Result<std::vector<std::string>> prepare_trace_folder(const std::string& folder, const std::vector<std::string>& files,
                                                      const FolderMark& mark, bool force);

/// Whether a file can be written where `command` was told to, by its options that name one: long work should not come
/// before that is known. Errors: kFailed with the system's reason.
Status check_output_files(const Command& command);

}  // namespace lumos
