// Tables of plain text for a terminal of 80 columns: aligned, cut rather than wrapped, no colour. Used by every
// renderer of text output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lumos {

inline constexpr size_t kTextWidth = 80;

enum class Align : uint8_t { kLeft, kRight };

/// Rows of cells under a header. The first column is cut with "..." where the lines would pass kTextWidth.
class TextTable {
 public:
  struct Column {
    std::string header;
    Align align = Align::kRight;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell per column; missing ones stay empty. What would break a line or command a terminal is shown instead.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  /// Header and rows, each line indented by `indent` and ended; no line has trailing spaces.
  std::string text(size_t indent = 2) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Lines of more than kTextWidth characters broken at spaces, the rest indented two more than the line it belongs to; a
/// word that is longer than the width stays whole. What every renderer of prose returns passes through it.
std::string fold_lines(std::string_view text);

/// Milliseconds for people: "1234.5", "12.35", "0.0123": about four digits. Negative values keep their sign.
std::string human_ms(double ms);
/// "+0.52 %", always with a sign.
std::string signed_percent(double percent);
/// Characters (not bytes) of UTF-8 text, for alignment.
size_t text_width(std::string_view utf8);
/// `text` cut to `width` characters, the cut shown by "...".
std::string cut_text(std::string_view text, size_t width);
/// The same with the middle cut out: names of one library begin alike and differ at the end.
std::string cut_middle(std::string_view text, size_t width);

}  // namespace lumos
