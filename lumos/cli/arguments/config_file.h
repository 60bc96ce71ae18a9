// Where a cluster or job file is: a path as it stands, or the name of one that comes with Lumos, "dgx-h100".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lumos/base/result.h"

namespace lumos {

/// Folders that hold the files of `kind` ("clusters", "jobs"), nearest to the program first: $LUMOS_CONFIGS, configs/
/// beside or above the program, share/lumos/configs of an installation, and configs/ beside the library that this is
/// part of.
std::vector<std::string> config_folders(std::string_view kind);

/// The path of `word`: the file itself if there is one, else <folder>/<word>.toml of the first folder that has it.
/// Errors (kUnreadable) list the names there are, or say where they were looked for.
Result<std::string> find_config(std::string_view kind, const std::string& word);

/// The same among `folders`, whatever config_folders says.
Result<std::string> find_config_in(const std::vector<std::string>& folders, std::string_view kind,
                                   const std::string& word);

}  // namespace lumos
