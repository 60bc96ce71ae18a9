#include "lumos/base/csv.h"

#include "lumos/base/file.h"

namespace lumos {
namespace {

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The cells of one line. A quote opens only at the start of a cell.
Result<std::vector<std::string>> split_cells(std::string_view line, std::string_view source, uint32_t number) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c != '"') {
        cells.back() += c;
      } else if (i + 1 < line.size() && line[i + 1] == '"') {
        cells.back() += line[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"' && cells.back().empty()) {
      quoted = true;
    } else if (c == ',') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  if (quoted) return fail(ErrorKind::kUsage, "{}:{}: a quote is not closed", source, number);
  for (std::string& cell : cells) cell = trimmed(cell);
  return cells;
}

Status check_header(const CsvTable& table) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].empty() || table.find_column(table.columns[i]) == static_cast<int>(i)) continue;
    return fail(ErrorKind::kUsage, "{}:{}: column {} is there twice", table.source, table.header_line,
                table.columns[i]);
  }
  return {};
}

}  // namespace

int CsvTable::find_column(std::string_view name) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] == name) return static_cast<int>(i);
  }
  return -1;
}

Result<CsvTable> parse_csv(std::string_view text, std::string_view source) {
  CsvTable table;
  table.source = source;
  uint32_t number = 0;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // as spreadsheets put first
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> cells = TRY(split_cells(line, source, number));
    if (table.columns.empty()) {
      table.columns = std::move(cells);
      table.header_line = number;
      TRY_STATUS(check_header(table));
    } else if (cells.size() != table.columns.size()) {
      return fail(ErrorKind::kUsage, "{}:{}: {} cells, but the header has {}", source, number, cells.size(),
                  table.columns.size());
    } else {
      table.rows.push_back(std::move(cells));
      table.lines.push_back(number);
    }
  }
  if (table.columns.empty()) return fail(ErrorKind::kUsage, "{}: no header line", source);
  return table;
}

Result<CsvTable> read_csv_file(const std::string& path) { return parse_csv(TRY(read_file(path)), path); }

}  // namespace lumos
