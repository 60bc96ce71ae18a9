// Small tables of text with a header line: measured runs, lists of jobs, measured collectives. Traces never come this
// way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lumos/base/result.h"

namespace lumos {

/// Rows have as many cells as the header.
struct CsvTable {
  std::string source;  ///< file name, for messages
  std::vector<std::string> columns;
  uint32_t header_line = 1;
  std::vector<std::vector<std::string>> rows;
  std::vector<uint32_t> lines;  ///< line of each row, from 1

  /// Index of a column, or -1.
  int find_column(std::string_view name) const;
};

/// Parses comma-separated text; cells may be quoted with doubled quotes inside. Empty lines and lines that begin with #
/// are skipped; spaces around a cell are not part of it. Errors (kUsage) name the line, and a column that is there
/// twice.
Result<CsvTable> parse_csv(std::string_view text, std::string_view source);
Result<CsvTable> read_csv_file(const std::string& path);

}  // namespace lumos
