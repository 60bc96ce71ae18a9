#include "lumos/base/value.h"

#include <cmath>

#include "lumos/base/suggest.h"

namespace lumos {

namespace {

constexpr double kInt64Limit = 9223372036854775808.0;  // 2^63, the first double that no int64 holds

std::string describe(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kBool:
      return *value.get<bool>() ? "true" : "false";
    case Value::Kind::kInt:
      return fmt::format("{}", *value.get<int64_t>());
    case Value::Kind::kDouble:
      return fmt::format("{}", *value.get<double>());
    case Value::Kind::kString:
      return fmt::format("\"{}\"", *value.get<std::string>());
    default:
      return std::string(kind_name(value.kind()));
  }
}

}  // namespace

std::string_view kind_name(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kBool:
      return "true or false";
    case Value::Kind::kInt:
      return "an integer";
    case Value::Kind::kDouble:
      return "a number";
    case Value::Kind::kString:
      return "text";
    case Value::Kind::kArray:
      return "a list";
    case Value::Kind::kObject:
      return "an object";
  }
  return "a value";
}

const Value* Value::find(std::string_view key) const {
  const Object* object = get<Object>();
  if (object == nullptr) return nullptr;
  for (const Member& member : *object) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

void Value::set(std::string_view key, Value value) {
  if (is_null()) data_ = Object{};
  Object* object = get<Object>();
  CHECK(object != nullptr);
  for (Member& member : *object) {
    if (member.first == key) {
      member.second = std::move(value);
      return;
    }
  }
  object->emplace_back(std::string(key), std::move(value));
}

ValueView ValueView::at(std::string_view key) const {
  const Value* member = value_ == nullptr ? nullptr : value_->find(key);
  return ValueView(member, source_, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key));
}

tl::unexpected<Error> ValueView::error(std::string_view message) const {
  std::string place = source_;
  if (value_ != nullptr && value_->line > 0) place += fmt::format(":{}", value_->line);
  if (!path_.empty()) place += fmt::format("{}{}", place.empty() ? "" : ": ", path_);
  return fail(ErrorKind::kUsage, "{}{}{}", place, place.empty() ? "" : ": ", message);
}

tl::unexpected<Error> ValueView::wrong_kind(std::string_view wanted) const {
  if (!exists()) return error(fmt::format("missing; give {}", wanted));
  return error(fmt::format("must be {}, not {}", wanted, describe(*value_)));
}

Result<bool> ValueView::as_bool() const {
  const bool* value = exists() ? value_->get<bool>() : nullptr;
  if (value == nullptr) return wrong_kind("true or false");
  return *value;
}

Result<int64_t> ValueView::as_int() const {
  if (!exists()) return wrong_kind("an integer");
  if (const int64_t* value = value_->get<int64_t>()) return *value;
  const double* value = value_->get<double>();
  if (value == nullptr || std::trunc(*value) != *value || !(std::fabs(*value) < kInt64Limit)) {
    return wrong_kind("an integer");
  }
  return static_cast<int64_t>(*value);
}

Result<double> ValueView::as_double() const {
  if (!exists()) return wrong_kind("a number");
  if (const int64_t* value = value_->get<int64_t>()) return static_cast<double>(*value);
  if (const double* value = value_->get<double>()) return *value;
  return wrong_kind("a number");
}

Result<std::string> ValueView::as_string() const {
  const std::string* value = exists() ? value_->get<std::string>() : nullptr;
  if (value == nullptr) return wrong_kind("text");
  return *value;
}

Result<std::vector<ValueView>> ValueView::items() const {
  const Value::Array* array = exists() ? value_->get<Value::Array>() : nullptr;
  if (array == nullptr) return wrong_kind("a list");
  std::vector<ValueView> out;
  out.reserve(array->size());
  for (size_t i = 0; i < array->size(); ++i) {
    out.push_back(ValueView(&(*array)[i], source_, fmt::format("{}[{}]", path_, i)));
  }
  return out;
}

Result<std::vector<std::pair<std::string, ValueView>>> ValueView::members() const {
  const Value::Object* object = exists() ? value_->get<Value::Object>() : nullptr;
  if (object == nullptr) return wrong_kind("an object");
  std::vector<std::pair<std::string, ValueView>> out;
  out.reserve(object->size());
  for (const Value::Member& member : *object) out.emplace_back(member.first, at(member.first));
  return out;
}

Result<bool> ValueView::bool_or(bool otherwise) const { return exists() ? as_bool() : otherwise; }
Result<int64_t> ValueView::int_or(int64_t otherwise) const { return exists() ? as_int() : otherwise; }
Result<double> ValueView::double_or(double otherwise) const { return exists() ? as_double() : otherwise; }
Result<std::string> ValueView::string_or(std::string otherwise) const {
  return exists() ? as_string() : Result<std::string>(std::move(otherwise));
}

Status ValueView::only_keys(std::initializer_list<std::string_view> known) const {
  return only_keys(std::vector<std::string_view>(known));
}

Status ValueView::only_keys(const std::vector<std::string_view>& known) const {
  if (!exists()) return {};
  for (const auto& [key, member] : TRY(members())) {
    bool found = false;
    for (std::string_view name : known) found = found || name == key;
    if (found) continue;
    const std::string_view near = nearest(key, known);
    return member.error(near.empty() ? "no such key" : fmt::format("no such key; did you mean '{}'?", near));
  }
  return {};
}

}  // namespace lumos
