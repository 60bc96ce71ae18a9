#include "lumos/base/toml.h"

// Errors as values from the library too; its exceptions would leave this file otherwise.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <sstream>

#include "lumos/base/file.h"
#include "lumos/base/json_value.h"

namespace lumos {

namespace {

std::string as_text(const toml::node& node) {
  std::ostringstream out;
  node.visit([&](const auto& value) {
    if constexpr (toml::is_date<decltype(value)> || toml::is_time<decltype(value)> ||
                  toml::is_date_time<decltype(value)>) {
      out << value.get();
    }
  });
  return out.str();
}

Value convert(const toml::node& node) {
  Value out;
  if (const toml::table* table = node.as_table()) {
    out = Value(Value::Object{});
    for (const auto& [key, member] : *table) out.set(key.str(), convert(member));
  } else if (const toml::array* array = node.as_array()) {
    Value::Array items;
    for (const toml::node& item : *array) items.push_back(convert(item));
    out = Value(std::move(items));
  } else if (const auto* text = node.as_string()) {
    out = Value(text->get());
  } else if (const auto* integer = node.as_integer()) {
    out = Value(integer->get());
  } else if (const auto* number = node.as_floating_point()) {
    out = Value(number->get());
  } else if (const auto* flag = node.as_boolean()) {
    out = Value(flag->get());
  } else {
    out = Value(as_text(node));
  }
  out.line = node.source().begin.line;
  return out;
}

}  // namespace

Result<Value> parse_toml(std::string_view text, std::string_view source) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail(ErrorKind::kUnreadable, "{}:{}: not valid TOML: {}", source, error.source().begin.line,
                error.description());
  }
  return convert(parsed.table());
}

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (code < 0x20 || code == 0x7f) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += letter;
    }
  }
  return out += '"';
}

Result<Value> read_value_file(const std::string& path) {
  const std::string text = TRY(read_file(path));
  return path.ends_with(".json") ? parse_json(text, path) : parse_toml(text, path);
}

}  // namespace lumos
