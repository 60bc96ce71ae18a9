#include "lumos/report/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lumos/base/utf8.h"

namespace lumos {

namespace {

constexpr std::string_view kColumnGap = "  ";
constexpr std::string_view kEllipsis = "...";

std::string padded(const std::string& cell, size_t width, Align align) {
  const size_t own = text_width(cell);
  const std::string space(width > own ? width - own : 0, ' ');
  return align == Align::kLeft ? cell + space : space + cell;
}

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = terminal_line(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(size_t indent) const {
  if (columns_.empty()) return "";
  std::vector<size_t> widths;
  size_t total = indent;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = text_width(columns_[c].header);
    for (const auto& row : rows_) {
      if (c < row.size()) width = std::max(width, text_width(row[c]));
    }
    widths.push_back(width);
    total += width + (c > 0 ? kColumnGap.size() : 0);
  }
  constexpr size_t kLeastFirstColumn = 8;
  if (total > kTextWidth) {
    const size_t excess = total - kTextWidth;
    widths[0] = widths[0] > excess + kLeastFirstColumn ? widths[0] - excess : std::min(widths[0], kLeastFirstColumn);
  }
  std::string out;
  const auto line = [&](const auto& cell_of) {
    std::string text(indent, ' ');
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) text += kColumnGap;
      text += padded(cut_text(cell_of(c), widths[c]), widths[c], columns_[c].align);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  line([&](size_t c) { return columns_[c].header; });
  for (const auto& row : rows_) line([&](size_t c) { return c < row.size() ? row[c] : std::string(); });
  return out;
}

namespace {

// One line without its end, at most kTextWidth wide where its words allow.
void fold_line(std::string_view line, std::string& out) {
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::string hanging(indent + 2, ' ');
  size_t column = 0;
  for (size_t at = 0; at < line.size();) {
    // A word with the spaces before it: columns inside a line stay as they are.
    const size_t word = std::min(line.find_first_not_of(' ', at), line.size());
    size_t end = std::min(line.find(' ', word), line.size());
    while (line.substr(end).starts_with(" %"))
      end = std::min(line.find(' ', end + 1), line.size());  // "0.5 %" stays whole.
    const size_t width = text_width(line.substr(at, end - at));
    if (column > hanging.size() && column + width > kTextWidth) {
      out.append("\n").append(hanging);
      column = hanging.size();
      at = word;
      continue;
    }
    out.append(line.substr(at, end - at));
    column += width;
    at = end;
  }
}

}  // namespace

std::string fold_lines(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (text_width(line) > kTextWidth) {
      fold_line(line, out);
    } else {
      out.append(line);
    }
    if (end < text.size()) out.push_back('\n');
    at = end + 1;
  }
  return out;
}

std::string human_ms(double ms) {
  if (!std::isfinite(ms)) return "-";
  const double size = std::abs(ms);
  const int decimals = size >= 1000 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;
  std::string text = fmt::format("{:.{}f}", ms, decimals);
  return text.find_first_not_of("-0.") == std::string::npos ? "0" : text;
}

std::string signed_percent(double percent) {
  if (!std::isfinite(percent)) return "-";
  std::string text = fmt::format("{:+.2f} %", percent);
  return text == "-0.00 %" ? "+0.00 %" : text;
}

size_t text_width(std::string_view utf8) {
  // Continuation bytes of UTF-8 take no column of their own.
  return static_cast<size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string cut_text(std::string_view text, size_t width) {
  if (text_width(text) <= width) return std::string(text);
  const size_t room = width > kEllipsis.size() ? width - kEllipsis.size() : 0;
  size_t bytes = 0;
  for (size_t taken = 0; bytes < text.size(); ++bytes) {
    const bool begins_character = (static_cast<unsigned char>(text[bytes]) & 0xc0) != 0x80;
    if (begins_character && taken++ == room) break;
  }
  return std::string(text.substr(0, bytes)) + std::string(kEllipsis.substr(0, width));
}

std::string cut_middle(std::string_view text, size_t width) {
  if (text_width(text) <= width || text_width(text) != text.size()) return cut_text(text, width);
  const size_t head = (width - 3) / 2;
  const size_t tail = width - 3 - head;
  return fmt::format("{}...{}", text.substr(0, head), text.substr(text.size() - tail));
}

}  // namespace lumos
