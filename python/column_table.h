// A table as columns that are shared, not copied: numbers stay where the event table, the graph or the timeline has
// them, texts are an index into a dictionary. Made by python/tables; handed to Python as Arrow by python/arrow_stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lumos {

/// Texts one behind the other, as Arrow has them: text i is bytes[offsets[i], offsets[i + 1]).
struct TextArray {
  std::vector<int32_t> offsets = {0};
  std::string bytes;

  /// Appends one; what is not valid UTF-8 becomes U+FFFD, because Arrow's readers refuse it. Returns its index.
  int32_t add(std::string_view text);
  int64_t size() const { return static_cast<int64_t>(offsets.size()) - 1; }
};

enum class ColumnType : uint8_t { kInt8, kInt32, kUint32, kInt64, kDouble };

/// One column of one batch. `owner` keeps `data` alive.
struct Column {
  std::string name;
  ColumnType type = ColumnType::kInt64;
  const void* data = nullptr;
  int64_t length = 0;
  std::shared_ptr<const void> owner;
  std::shared_ptr<const TextArray> texts;  ///< the dictionary that an integer column points into; none: numbers
  std::vector<uint8_t> valid = {};         ///< a bit per value; empty: all are
  int64_t nulls = 0;
};

/// Rows in one or more batches, all with the same columns.
struct ColumnTable {
  std::vector<std::vector<Column>> batches;

  int64_t num_rows() const;
};

template <class T>
constexpr ColumnType column_type() {
  if constexpr (std::is_enum_v<T>) {
    return column_type<std::underlying_type_t<T>>();
  } else if constexpr (std::is_same_v<T, double>) {
    return ColumnType::kDouble;
  } else if constexpr (std::is_same_v<T, int8_t> || std::is_same_v<T, uint8_t>) {
    return ColumnType::kInt8;
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    return ColumnType::kUint32;
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return ColumnType::kInt32;
  } else {
    static_assert(std::is_same_v<T, int64_t>);
    return ColumnType::kInt64;
  }
}

/// `length` values of `values` from `begin` on, as they lie in what `owner` owns.
template <class T>
Column view_column(std::string name, const std::vector<T>& values, std::shared_ptr<const void> owner, size_t begin,
                   size_t length) {
  return {std::move(name),  column_type<T>(), values.data() + begin, static_cast<int64_t>(length),
          std::move(owner), nullptr};
}

/// A column of its own values.
template <class T>
Column own_column(std::string name, std::vector<T> values, std::shared_ptr<const TextArray> texts = nullptr) {
  const int64_t length = static_cast<int64_t>(values.size());
  auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  const void* data = owner->data();
  return {std::move(name), column_type<T>(), data, length, std::move(owner), std::move(texts)};
}

/// Distinct texts and their indexes. Damaged texts that become equal once they are valid UTF-8 are one: readers refuse
/// a dictionary that says something twice.
class Dictionary {
 public:
  int32_t index(std::string_view text);
  std::shared_ptr<const TextArray> finish() { return std::make_shared<const TextArray>(std::move(texts_)); }

 private:
  std::unordered_map<std::string, int32_t> known_;
  TextArray texts_;
};

/// A column of texts while it is being filled.
class TextColumn {
 public:
  explicit TextColumn(std::string name) : name_(std::move(name)) {}

  void add(std::string_view text) { indexes_.push_back(dictionary_.index(text)); }
  Column finish() { return own_column(name_, std::move(indexes_), dictionary_.finish()); }

 private:
  std::string name_;
  Dictionary dictionary_;
  std::vector<int32_t> indexes_;
};

}  // namespace lumos
