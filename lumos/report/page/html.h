// Pieces of HTML: escaped text, figures that keep their exact value beside the rounded one, tables. Used by the page.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lumos {

/// `text` for content and for attributes in double quotes.
std::string html_escape(std::string_view text);

/// Milliseconds as people read them, with the exact number in the element's value: <data value="6.126724">6.127</data>.
std::string html_ms(double ms);
/// "+0.52 %" with the exact number in the element's value; "-" for what is not finite.
std::string html_signed_percent(double percent);
std::string html_count(uint64_t count);
/// A name escaped and, where it is long, cut in the middle; the whole of it shows when one points at it.
std::string html_name(std::string_view name);
/// Any figure: `shown` with `value` behind it.
std::string html_data(double value, std::string_view shown);

/// JSON for inside of a script element, which a "<" could end in the wrong place.
std::string html_script_json(std::string_view json);

/// The beginning of a document up to the open body: encoding, title, style. It asks the network for nothing.
std::string html_head(const std::string& title);

/// A part of the page under its heading; `id` is what links lead to.
std::string html_section(const char* id, const char* title, const std::string& body);

/// A table that scrolls sideways on its own where it is too wide. Cells are HTML; text goes through html_escape first.
class HtmlTable {
 public:
  struct Column {
    std::string header;
    bool is_number = true;
  };
  HtmlTable(std::string caption, std::vector<Column> columns)
      : caption_(std::move(caption)), columns_(std::move(columns)) {}

  /// One cell per column; the first names the line.
  void add(const std::vector<std::string>& cells);
  bool empty() const { return rows_.empty(); }
  std::string text() const;

 private:
  std::string caption_;
  std::vector<Column> columns_;
  std::string rows_;
};

}  // namespace lumos
