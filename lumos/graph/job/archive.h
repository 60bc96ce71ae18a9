// Two archives with one interface: a function that visits every part of a value once both writes it and reads it back.
// On top of graph/job/sections; used by graph/graph_file.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lumos/base/result.h"
#include "lumos/graph/job/sections.h"

namespace lumos {

/// Writes what a visit names. Scalars and texts gather in a column each, the first two of the file.
class ArchiveWriter {
 public:
  static constexpr bool kReads = false;

  template <class T>
  void number(const T& value) {
    if constexpr (std::is_same_v<T, double>) {
      numbers_.push_back(std::bit_cast<int64_t>(value));
    } else {
      numbers_.push_back(static_cast<int64_t>(value));
    }
  }
  void text(const std::string& value) {
    numbers_.push_back(static_cast<int64_t>(value.size()));
    texts_.insert(texts_.end(), value.begin(), value.end());
  }
  template <class T>
  void column(const std::vector<T>& values) {
    later_.push_back([&values](SectionWriter& out) { out.column(values); });
  }
  /// One column per member, for rows whose padding would carry stray bytes into the file.
  template <class Row, class... Members>
  void fields(const std::vector<Row>& rows, Members Row::*... members) {
    (field(rows, members), ...);
  }
  template <class T>
  size_t length(const std::vector<T>& values) {
    number(values.size());
    return values.size();
  }
  Status write(const std::string& path, uint32_t version) const {
    SectionWriter out;
    out.column(numbers_);
    out.column(texts_);
    for (const auto& add : later_) add(out);
    return out.write(path, version);
  }

 private:
  template <class Row, class Member>
  void field(const std::vector<Row>& rows, Member Row::*member) {
    later_.push_back([&rows, member](SectionWriter& out) {
      using Stored = std::conditional_t<std::is_same_v<Member, bool>, uint8_t, Member>;
      std::vector<Stored> values(rows.size());
      for (size_t i = 0; i < rows.size(); ++i) values[i] = static_cast<Stored>(rows[i].*member);
      out.owned(std::move(values));
    });
  }

  std::vector<int64_t> numbers_;
  std::vector<char> texts_;
  std::vector<std::function<void(SectionWriter&)>> later_;
};

/// Reads what ArchiveWriter wrote, in the same order. After a mismatch it hands out nothing; complete() tells.
class ArchiveReader {
 public:
  static constexpr bool kReads = true;

  explicit ArchiveReader(SectionReader sections) : sections_(std::move(sections)) {
    sections_.column(numbers_);
    sections_.column(texts_);
  }

  template <class T>
  void number(T& value) {
    const int64_t read = next_number();
    if constexpr (std::is_same_v<T, double>) {
      value = std::bit_cast<double>(read);
    } else {
      value = static_cast<T>(read);
    }
  }
  void text(std::string& value) {
    const uint64_t bytes = static_cast<uint64_t>(next_number());
    if (bytes > texts_.size() - text_) {
      good_ = false;
      return;
    }
    value.assign(texts_.data() + text_, bytes);
    text_ += bytes;
  }
  template <class T>
  void column(std::vector<T>& values) {
    sections_.column(values);
  }
  template <class Row, class... Members>
  void fields(std::vector<Row>& rows, Members Row::*... members) {
    (field(rows, members), ...);
  }
  template <class T>
  size_t length(std::vector<T>& values) {
    // Nothing has more entries than the file has numbers and texts: a wrong length must not eat the memory.
    const uint64_t length = static_cast<uint64_t>(next_number());
    if (length > numbers_.size()) {
      good_ = false;
      return 0;
    }
    values.resize(length);
    return length;
  }
  bool complete() const {
    return good_ && number_ == numbers_.size() && text_ == texts_.size() && sections_.complete();
  }

 private:
  int64_t next_number() {
    if (number_ < numbers_.size()) return numbers_[number_++];
    good_ = false;
    return 0;
  }
  template <class Row, class Member>
  void field(std::vector<Row>& rows, Member Row::*member) {
    using Stored = std::conditional_t<std::is_same_v<Member, bool>, uint8_t, Member>;
    std::vector<Stored> values;
    sections_.column(values);
    if (rows.empty()) rows.resize(values.size());
    if (rows.size() != values.size()) {
      good_ = false;
      return;
    }
    for (size_t i = 0; i < rows.size(); ++i) rows[i].*member = static_cast<Member>(values[i]);
  }

  SectionReader sections_;
  std::vector<int64_t> numbers_;
  std::vector<char> texts_;
  size_t number_ = 0, text_ = 0;
  bool good_ = true;
};

}  // namespace lumos
