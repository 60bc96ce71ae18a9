// A tree of values as JSON and TOML have them. Made by json_value and toml from small files (jobs, clusters, results,
// schemas); read by everybody who takes such a file, through ValueView, whose errors name the file and the key.
// Traces never become such a tree: they are far too large.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lumos/base/result.h"

namespace lumos {

/// One value. Objects keep the order of the file; a key occurs once.
class Value {
 public:
  enum class Kind : uint8_t { kNull, kBool, kInt, kDouble, kString, kArray, kObject };
  using Array = std::vector<Value>;
  using Member = std::pair<std::string, Value>;
  using Object = std::vector<Member>;

  Value() = default;
  explicit Value(bool value) : data_(value) {}
  explicit Value(int64_t value) : data_(value) {}
  explicit Value(double value) : data_(value) {}
  explicit Value(std::string value) : data_(std::move(value)) {}
  explicit Value(Array value) : data_(std::move(value)) {}
  explicit Value(Object value) : data_(std::move(value)) {}

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_object() const { return kind() == Kind::kObject; }
  bool is_array() const { return kind() == Kind::kArray; }

  /// The payload, or nullptr when the value is of another kind.
  template <class T>
  const T* get() const {
    return std::get_if<T>(&data_);
  }
  template <class T>
  T* get() {
    return std::get_if<T>(&data_);
  }

  /// The member of an object, or nullptr: not an object, or no such key. O(members).
  const Value* find(std::string_view key) const;
  /// Sets a member, new ones last. The value becomes an object if it was null.
  void set(std::string_view key, Value value);

  /// Line of the file where the value begins, from 1; 0 where the parser does not tell (JSON).
  uint32_t line = 0;

  bool operator==(const Value& other) const { return data_ == other.data_; }

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> data_;
};

/// "an integer", "text" ... as error messages say it.
std::string_view kind_name(Value::Kind kind);

/// A place in a tree and how to name it: "jobs/gpt3.toml:12: model.num_layers". The place may be missing, which only
/// the getters without a default object to. Errors are of kind kUsage. Copies are cheap; the tree must outlive them.
class ValueView {
 public:
  /// The root of a tree; `source` is the file's name for messages.
  ValueView(const Value& root, std::string source) : value_(&root), source_(std::move(source)) {}

  /// True when there is a value and it is not null.
  bool exists() const { return value_ != nullptr && !value_->is_null(); }
  /// The value, or nullptr where missing.
  const Value* value() const { return value_; }
  /// The key's path below the root, "" for the root itself.
  const std::string& path() const { return path_; }

  /// The member `key`; missing when this is missing or not an object.
  ValueView at(std::string_view key) const;

  Result<bool> as_bool() const;
  /// Integers, and doubles that are whole numbers (1e9).
  Result<int64_t> as_int() const;
  /// Any number.
  Result<double> as_double() const;
  Result<std::string> as_string() const;
  /// The elements of an array.
  Result<std::vector<ValueView>> items() const;
  /// The members of an object, in order.
  Result<std::vector<std::pair<std::string, ValueView>>> members() const;

  /// As above, with a default for what is missing or null; a value of the wrong kind is still an error.
  Result<bool> bool_or(bool otherwise) const;
  Result<int64_t> int_or(int64_t otherwise) const;
  Result<double> double_or(double otherwise) const;
  Result<std::string> string_or(std::string otherwise) const;

  /// An error when the object has a key that is not among `known`; names the nearest known one.
  Status only_keys(std::initializer_list<std::string_view> known) const;
  Status only_keys(const std::vector<std::string_view>& known) const;

  /// An error about this place: "<source>:<line>: <path>: <message>".
  tl::unexpected<Error> error(std::string_view message) const;

 private:
  ValueView(const Value* value, std::string source, std::string path)
      : value_(value), source_(std::move(source)), path_(std::move(path)) {}
  tl::unexpected<Error> wrong_kind(std::string_view wanted) const;

  const Value* value_;
  std::string source_;
  std::string path_;
};

}  // namespace lumos
