// Interned strings. A NamePool turns each distinct text into a dense 32-bit NameId, so that tables hold
// four bytes instead of a string. The reader fills one pool per trace; everybody else only reads it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lumos {

enum class NameId : uint32_t {};
inline constexpr NameId kNoName{0};  ///< the empty text, present in every pool

/// Not safe for concurrent interning; reading is safe from any thread once filled. 4-byte ids, O(1) both ways.
class NamePool {
 public:
  NamePool();
  ~NamePool();
  NamePool(NamePool&&) noexcept;
  NamePool& operator=(NamePool&&) noexcept;
  NamePool(const NamePool&) = delete;
  NamePool& operator=(const NamePool&) = delete;

  /// The id of `text`, new or known.
  NameId intern(std::string_view text);
  /// The id of `text` if it is known, else kNoName.
  NameId find(std::string_view text) const;
  std::string_view text(NameId id) const { return texts_[static_cast<uint32_t>(id)]; }
  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }
  /// Bytes held by the texts themselves.
  size_t text_bytes() const { return text_bytes_; }

 private:
  struct Index;
  std::vector<std::string_view> texts_;
  std::vector<std::unique_ptr<char[]>> arena_;
  size_t arena_left_ = 0;
  char* arena_next_ = nullptr;
  size_t text_bytes_ = 0;
  std::unique_ptr<Index> index_;
};

}  // namespace lumos
