#include "lumos/base/json_value.h"

#include <simdjson.h>

namespace lumos {

namespace {

Value convert(simdjson::dom::element element) {
  using simdjson::dom::element_type;
  switch (element.type()) {
    case element_type::ARRAY: {
      Value::Array out;
      for (simdjson::dom::element item : simdjson::dom::array(element)) out.push_back(convert(item));
      return Value(std::move(out));
    }
    case element_type::OBJECT: {
      Value out{Value::Object{}};
      for (auto [key, member] : simdjson::dom::object(element)) out.set(key, convert(member));
      return out;
    }
    case element_type::INT64:
      return Value(int64_t(element));
    case element_type::UINT64:
      return Value(static_cast<double>(uint64_t(element)));
    case element_type::DOUBLE:
      return Value(double(element));
    case element_type::STRING:
      return Value(std::string(std::string_view(element)));
    case element_type::BOOL:
      return Value(bool(element));
    case element_type::NULL_VALUE:
      break;
  }
  return Value();
}

}  // namespace

Result<Value> parse_json(std::string_view text, std::string_view source) {
  // simdjson's conversions throw on a wrong kind, which convert() has ruled out; parsing itself returns an error code.
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (text.data() == nullptr) text = "";  // an empty view may point nowhere, which a copy of it must not
  const simdjson::error_code error = parser.parse(text.data(), text.size()).get(root);
  if (error != simdjson::SUCCESS) {
    return fail(ErrorKind::kUnreadable, "{}: not valid JSON: {}", source, simdjson::error_message(error));
  }
  return convert(root);
}

}  // namespace lumos
