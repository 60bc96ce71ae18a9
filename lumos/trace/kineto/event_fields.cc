#include "lumos/trace/kineto/event_fields.h"

#include "lumos/trace/kineto/event_scan.h"
#include "lumos/trace/kineto/json_scan.h"

namespace lumos {

namespace {

constexpr std::string_view kModulePrefix = "nn.Module";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_number_or_literal(std::string_view text) {
  if (text.empty()) return false;
  if (is_digit(text[0]) || (text[0] == '-' && text.size() > 1 && is_digit(text[1]))) return true;
  return text == "true" || text == "false" || text == "null";
}

bool is_not_finite(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return text == "NaN" || text == "nan" || text == "Infinity" || text == "inf" || text == "Inf";
}

/// Parses any value at `p` into `token`. Returns the byte behind it, or nullptr.
const char* parse_value(const char* p, const char* end, Token& token, EventFields& fields) {
  if (p == end) return nullptr;
  token = Token{};
  const char* begin = p;
  if (*p == '"') {
    JsonString string;
    p = scan_string(p + 1, end, string);
    token = {string.raw, true, string.has_escapes};
    return p;
  }
  if (*p == '[' || *p == '{') {
    p = skip_nested(p, end);
    if (p != nullptr) token.text = std::string_view(begin, static_cast<size_t>(p - begin));
    return p;
  }
  p = scan_scalar(p, end);
  token.text = std::string_view(begin, static_cast<size_t>(p - begin));
  if (is_number_or_literal(token.text)) return p;
  if (!is_not_finite(token.text)) return nullptr;
  fields.has_not_finite = true;
  token.text = {};
  return p;
}

/// Walks the members of the object whose opening bracket is before `p`: handle(key, value_begin) returns the byte
/// behind the value, nullptr for a broken one, or `end` to stop early.
template <class Handle>
const char* parse_members(const char* p, const char* end, EventFields& fields, Handle handle) {
  p = skip_space(p, end);
  if (p < end && *p == '}') return p + 1;
  for (;;) {
    if (p == end || *p != '"') return nullptr;
    JsonString key;
    p = scan_string(p + 1, end, key);
    if (p == nullptr) return nullptr;
    p = skip_space(p, end);
    if (p == end || *p != ':') return nullptr;
    p = handle(key.raw, skip_space(p + 1, end));
    if (p == nullptr || fields.is_left_out) return p;
    p = skip_space(p, end);
    if (p == end) return nullptr;
    if (*p == '}') return p + 1;
    if (*p != ',') return nullptr;
    p = skip_space(p + 1, end);
    if (p < end && *p == '}') {
      fields.has_trailing_comma = true;
      return p + 1;
    }
  }
}

const char* parse_args(const char* p, const char* end, EventFields& fields) {
  if (p == end || *p != '{') {
    Token ignored;  // Some producers write null or a string.
    return parse_value(p, end, ignored, fields);
  }
  return parse_members(p + 1, end, fields, [&](std::string_view key, const char* value) {
    ArgKey known = arg_key(key);
    Token ignored;
    Token& token = known == ArgKey::kCount ? ignored : fields.args[static_cast<size_t>(known)];
    const char* behind = parse_value(value, end, token, fields);
    // An absent number (null, NaN) counts as no argument at all.
    bool is_absent = !token.is_string && (token.text.empty() || token.text == "null");
    if (known != ArgKey::kCount && !is_absent) fields.present |= uint64_t{1} << static_cast<unsigned>(known);
    return behind;
  });
}

Token* field_token(FieldKey key, EventFields& fields) {
  switch (key) {
    case FieldKey::kPhase:
      return &fields.phase;
    case FieldKey::kCategory:
      return &fields.category;
    case FieldKey::kName:
      return &fields.name;
    case FieldKey::kPid:
      return &fields.pid;
    case FieldKey::kTid:
      return &fields.tid;
    case FieldKey::kTs:
      return &fields.ts;
    case FieldKey::kDur:
      return &fields.dur;
    case FieldKey::kId:
      return &fields.id;
    case FieldKey::kArgs:
    case FieldKey::kOther:
      break;
  }
  return nullptr;
}

/// Whether phase, category and name, as far as they are known, already say that nobody reads this event.
bool is_surely_left_out(const EventFields& fields) {
  if (fields.phase.text.size() != 1 || fields.category.text.empty()) return false;
  switch (fields.phase.text[0]) {
    case 'X':
      break;
    case 's':
    case 'f':
    case 't':
      return flow_meaning(fields.category.text) == FlowMeaning::kNone;
    case 'i':
    case 'I':
    case 'C':
      return true;
    default:
      return false;
  }
  if (fields.meaning.category == Category::kOther) return true;
  return fields.meaning.category == Category::kPython && !fields.name.text.empty() &&
         !fields.name.text.starts_with(kModulePrefix);
}

/// The arguments of a module call are a copy of its stack; nobody reads them once the rest is known.
bool needs_no_arguments(const EventFields& fields) {
  return fields.meaning.category == Category::kPython && !fields.ts.text.empty() && !fields.dur.text.empty() &&
         !fields.pid.text.empty() && !fields.tid.text.empty();
}

}  // namespace

bool parse_event_fields(std::string_view text, bool is_whole, EventFields& fields) {
  const char* p = text.data();
  const char* end = p + text.size();
  while (p < end && (is_json_space(*p) || *p == ',')) ++p;
  if (p == end || *p != '{') return false;
  fields.text = std::string_view(p, static_cast<size_t>(end - p));
  fields.phase = fields.category = fields.name = fields.pid = fields.tid = fields.ts = fields.dur = fields.id = Token{};
  fields.present = 0;
  fields.is_left_out = fields.has_trailing_comma = fields.has_not_finite = false;
  fields.meaning = {};
  bool stopped = false;
  p = parse_members(p + 1, end, fields, [&](std::string_view key, const char* value) {
    FieldKey known = field_key(key);
    if (known == FieldKey::kArgs) {
      if (is_whole && needs_no_arguments(fields)) stopped = fields.is_left_out = true;
      return stopped ? value : parse_args(value, end, fields);
    }
    Token ignored;
    Token* token = field_token(known, fields);
    const char* behind = parse_value(value, end, token == nullptr ? ignored : *token, fields);
    if (known == FieldKey::kCategory) fields.meaning = category_meaning(fields.category.text);
    bool tells = known == FieldKey::kPhase || known == FieldKey::kCategory || known == FieldKey::kName;
    if (is_whole && behind != nullptr && tells) fields.is_left_out = is_surely_left_out(fields);
    return behind;
  });
  if (p == nullptr) return false;
  if (stopped) fields.is_left_out = false;
  // A lost quote may have glued the next events to this one; they must not go with it.
  if (stopped || fields.is_left_out) return find_event_start(p, end) == nullptr;
  while (p < end && (is_json_space(*p) || *p == ',')) ++p;
  return p == end;
}

}  // namespace lumos
