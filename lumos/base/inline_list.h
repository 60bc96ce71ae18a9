// A list of at most N elements that lives where it is declared: no allocation for the two or three that most lists of
// small descriptions have.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "lumos/base/result.h"

namespace lumos {

template <class T, size_t N>
class InlineList {
 public:
  InlineList() = default;
  InlineList(std::initializer_list<T> elements) {
    for (const T& element : elements) push_back(element);
  }

  void push_back(const T& element) {
    CHECK(count_ < N);
    elements_[count_++] = element;
  }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  T& operator[](size_t index) { return elements_[index]; }
  const T& operator[](size_t index) const { return elements_[index]; }
  const T& front() const { return elements_[0]; }

  T* begin() { return elements_.data(); }
  T* end() { return elements_.data() + count_; }
  const T* begin() const { return elements_.data(); }
  const T* end() const { return elements_.data() + count_; }

 private:
  std::array<T, N> elements_ = {};
  size_t count_ = 0;
};

}  // namespace lumos
