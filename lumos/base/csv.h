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
  std::vector<std::vector<std::string>> rows;
  std::vector<uint32_t> lines;  ///< line of each row, from 1

  /// Index of a column, or -1.
  int find_column(std::string_view name) const;
};

/// Parses comma-separated text; cells may be quoted with doubled quotes inside. Empty lines and lines that begin with #
/// are skipped. Errors (kUsage) name the line.
Result<CsvTable> parse_csv(std::string_view text, std::string_view source);
Result<CsvTable> read_csv_file(const std::string& path);

}  // namespace lumos
