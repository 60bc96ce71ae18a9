// Equal things stored once: details of events and the names of one block. An index over a vector that the caller sees
// as a plain column. Used by trace/kineto/event_parser per block and by trace/kineto/table_builder per trace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace lumos {

/// Multiplies and folds: enough to spread names and small structs over a power-of-two table.
inline uint64_t mix_hash(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 32);
}

inline uint64_t hash_bytes(const void* data, size_t size) {
  const char* p = static_cast<const char*>(data);
  uint64_t hash = size * 0xff51afd7ed558ccd;
  uint64_t word;
  for (; size >= 8; size -= 8, p += 8) {
    std::memcpy(&word, p, 8);
    hash = mix_hash(hash, word);
  }
  word = 0;
  if (size > 0) std::memcpy(&word, p, size);
  return mix_hash(hash, word);
}

/// Open addressing from hashes to indexes of items that live elsewhere. 8 bytes a slot, at most half full.
class DistinctIndex {
 public:
  /// The index of an item with this hash for which same(index) holds; else `fresh`, which is entered.
  template <class Same>
  uint32_t find_or_enter(uint64_t hash, uint32_t fresh, Same same) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    auto tag = static_cast<uint32_t>(hash >> 32);
    for (size_t at = tag & mask_;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.item == 0) {
        slot = {tag, fresh + 1};
        ++count_;
        return fresh;
      }
      if (slot.tag == tag && same(slot.item - 1)) return slot.item - 1;
    }
  }

  void clear() {
    if (count_ > 0) std::fill(slots_.begin(), slots_.end(), Slot{});
    count_ = 0;
  }

 private:
  struct Slot {
    uint32_t tag = 0;
    uint32_t item = 0;  // 0: free; else index + 1
  };

  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.empty() ? 1024 : old.size() * 2, Slot{});
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.item == 0) continue;
      size_t at = slot.tag & mask_;
      while (slots_[at].item != 0) at = (at + 1) & mask_;
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t count_ = 0;
};

/// Appends `item` to `items` unless an equal one is there; returns its index.
template <class T>
uint32_t enter_distinct(DistinctIndex& index, std::vector<T>& items, const T& item, uint64_t hash) {
  auto fresh = static_cast<uint32_t>(items.size());
  uint32_t at = index.find_or_enter(hash, fresh, [&](uint32_t known) { return items[known] == item; });
  if (at == fresh) items.push_back(item);
  return at;
}

}  // namespace lumos
