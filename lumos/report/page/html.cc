#include "lumos/report/page/html.h"

#include <fmt/format.h>

#include <cmath>

#include "lumos/base/json_writer.h"
#include "lumos/report/text_table.h"
#include "web_assets.h"

namespace lumos {

std::string html_escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        // Control bytes, which names in damaged traces hold, are no characters of HTML.
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

std::string html_data(double value, std::string_view shown) {
  std::string number;
  append_json_number(number, value, 6);  // As --json writes it, so that both can be compared.
  return fmt::format("<data value=\"{}\">{}</data>", number, html_escape(shown));
}

std::string html_ms(double ms) { return html_data(ms, human_ms(ms)); }

std::string html_count(uint64_t count) { return html_data(static_cast<double>(count), std::to_string(count)); }

std::string html_name(std::string_view name) {
  constexpr size_t kWidth = 64;  // With the numbers beside it, a line of the page.
  const std::string cut = cut_middle(name, kWidth);
  if (cut == name) return html_escape(name);
  return fmt::format("<span title=\"{}\">{}</span>", html_escape(name), html_escape(cut));
}

std::string html_head(const std::string& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      // A browser asks for an icon unless the page has one.
      "<link rel=\"icon\" href=\"data:,\">\n<title>Lumos: {}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
      title, kReportCss);
}

std::string html_script_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string html_section(const char* id, const char* title, const std::string& body) {
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n", id, title,
      body);
}

std::string html_signed_percent(double percent) {
  return std::isfinite(percent) ? html_data(percent, signed_percent(percent)) : "-";
}

void HtmlTable::add(const std::vector<std::string>& cells) {
  rows_ += "<tr>";
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string cell = i < cells.size() ? cells[i] : "";
    if (i == 0) {
      rows_ += "<th scope=\"row\">" + cell + "</th>";
    } else {
      rows_ += (columns_[i].is_number ? "<td>" : "<td class=\"text\">") + cell + "</td>";
    }
  }
  rows_ += "</tr>\n";
}

std::string HtmlTable::text() const {
  std::string out = fmt::format("<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>\n",
                                html_escape(caption_));
  out += fmt::format("<caption><span>{}</span></caption>\n<thead><tr>", html_escape(caption_));
  for (const Column& column : columns_) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", column.is_number ? "" : " class=\"text\"",
                       html_escape(column.header));
  }
  return out + "</tr></thead>\n<tbody>\n" + rows_ + "</tbody></table></div>\n";
}

}  // namespace lumos
