#include "lumos/base/names.h"

#include <tsl/robin_map.h>

#include <cstring>

#include "lumos/base/result.h"

namespace lumos {

namespace {
constexpr size_t kArenaBytes = 64 * 1024;  // One allocation serves about a thousand names.
}

struct NamePool::Index {
  tsl::robin_map<std::string_view, NameId> ids;
};

NamePool::NamePool() : index_(std::make_unique<Index>()) { intern(""); }
NamePool::~NamePool() = default;
NamePool::NamePool(NamePool&&) noexcept = default;
NamePool& NamePool::operator=(NamePool&&) noexcept = default;

NameId NamePool::intern(std::string_view text) {
  if (auto it = index_->ids.find(text); it != index_->ids.end()) return it->second;
  if (text.size() > arena_left_) {
    arena_left_ = text.size() > kArenaBytes ? text.size() : kArenaBytes;
    arena_.push_back(std::make_unique<char[]>(arena_left_));
    arena_next_ = arena_.back().get();
  }
  if (!text.empty()) std::memcpy(arena_next_, text.data(), text.size());
  std::string_view kept(arena_next_, text.size());
  arena_next_ += text.size();
  arena_left_ -= text.size();
  text_bytes_ += text.size();
  CHECK(texts_.size() < UINT32_MAX);
  NameId id{static_cast<uint32_t>(texts_.size())};
  texts_.push_back(kept);
  index_->ids.emplace(kept, id);
  return id;
}

NameId NamePool::find(std::string_view text) const {
  auto it = index_->ids.find(text);
  return it == index_->ids.end() ? kNoName : it->second;
}

}  // namespace lumos
