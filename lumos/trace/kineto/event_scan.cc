#include "lumos/trace/kineto/event_scan.h"

#include <cstring>
#include <string_view>

#include "lumos/trace/kineto/json_scan.h"

namespace lumos {

namespace {

constexpr size_t kChunk = 64;

/// One bit per byte of a chunk.
struct ChunkMasks {
  uint64_t quote = 0;
  uint64_t backslash = 0;
  uint64_t open = 0;   // { and [
  uint64_t close = 0;  // } and ]
  uint64_t newline = 0;
};

#if defined(__SSE2__)
ChunkMasks classify(const char* chunk) {
  ChunkMasks out;
  const __m128i case_bit = _mm_set1_epi8(0x20);  // '[' | 0x20 == '{' and ']' | 0x20 == '}'
  for (size_t part = 0; part < 4; ++part) {
    __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(chunk + part * 16));
    __m128i folded = _mm_or_si128(bytes, case_bit);
    auto mask = [&](__m128i value, char c) {
      auto bits = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(value, _mm_set1_epi8(c))));
      return static_cast<uint64_t>(bits) << (part * 16);
    };
    out.quote |= mask(bytes, '"');
    out.backslash |= mask(bytes, '\\');
    out.open |= mask(folded, '{');
    out.close |= mask(folded, '}');
    out.newline |= mask(bytes, '\n');
  }
  return out;
}
#else
ChunkMasks classify(const char* chunk) {
  ChunkMasks out;
  for (size_t i = 0; i < kChunk; ++i) {
    char c = chunk[i];
    out.quote |= static_cast<uint64_t>(c == '"') << i;
    out.backslash |= static_cast<uint64_t>(c == '\\') << i;
    out.open |= static_cast<uint64_t>((c | 0x20) == '{') << i;
    out.close |= static_cast<uint64_t>((c | 0x20) == '}') << i;
    out.newline |= static_cast<uint64_t>(c == '\n') << i;
  }
  return out;
}
#endif

/// Bit i of the result: the parity of bits 0..i. Between quotes that is 1 from the opening one on.
uint64_t prefix_parity(uint64_t bits) {
  for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

/// Bits of the bytes that follow an odd run of backslashes (Lemire and Langdale, "Parsing gigabytes of JSON per
/// second").
uint64_t escaped_bytes(uint64_t backslash, uint64_t& carry) {
  if (backslash == 0) {
    uint64_t escaped = carry;
    carry = 0;
    return escaped;
  }
  constexpr uint64_t kEven = 0x5555555555555555;
  backslash &= ~carry;
  uint64_t follows = (backslash << 1) | carry;
  uint64_t odd_starts = backslash & ~kEven & ~follows;
  uint64_t even_sequences;
  carry = __builtin_add_overflow(odd_starts, backslash, &even_sequences);
  return (kEven ^ (even_sequences << 1)) & follows;
}

/// A raw line break inside a string: true when what follows looks like JSON, so that the string had lost its end.
bool line_break_ends_string(const char* behind, const char* end) {
  behind = skip_space(behind, end);
  return behind == end || *behind == '"' || *behind == '{' || *behind == '}' || *behind == '[' || *behind == ']' ||
         *behind == ',';
}

bool is_first_key(std::string_view key) {
  // Of Kineto, its older writers, Ascend, AIU and Python's json with sorted keys.
  static constexpr std::string_view kKeys[] = {"ph", "name", "cat", "args", "pid", "tid",
                                               "ts", "dur",  "id",  "bp",   "s",   "attr"};
  for (std::string_view known : kKeys) {
    if (key == known) return true;
  }
  return false;
}

bool is_event_start(const char* region, const char* brace, const char* end) {
  const char* p = skip_space(brace + 1, end);
  if (p == end || *p != '"') return false;
  const char* key = ++p;
  while (p < end && p - key < 8 && *p != '"') ++p;
  if (p == end || *p != '"' || !is_first_key({key, static_cast<size_t>(p - key)})) return false;
  p = skip_space(p + 1, end);
  if (p == end || *p != ':') return false;
  const char* before = brace;
  while (before > region && is_json_space(before[-1])) --before;
  return before == region || before[-1] != ':';
}

}  // namespace

void EventScan::restart(size_t position) {
  position_ = position;
  depth_ = 0;
  in_string_ = 0;
  is_escaped_ = 0;
}

size_t EventScan::advance(const char* data, size_t size, bool is_final, std::vector<uint32_t>& ends) {
  while (size - position_ >= kChunk) {
    size_t closing = scan_chunk(data + position_, data + size, ends);
    if (closing != kNowhere) return closing;
  }
  if (!is_final || position_ >= size) return kNowhere;
  // The rest, one byte at a time: a padded copy would need its offsets corrected.
  return scan_bytewise(data + position_, data + size, ends);
}

size_t EventScan::scan_chunk(const char* chunk, const char* data_end, std::vector<uint32_t>& ends) {
  ChunkMasks masks = classify(chunk);
  uint64_t carry = is_escaped_;
  uint64_t quotes = masks.quote & ~escaped_bytes(masks.backslash, carry);
  uint64_t inside = prefix_parity(quotes) ^ in_string_;
  // The newline rule and stray backslashes need a look at the bytes one by one; both are rare.
  if ((masks.newline & inside) != 0) return scan_bytewise(chunk, data_end, ends);
  is_escaped_ = carry;
  in_string_ = static_cast<uint64_t>(static_cast<int64_t>(inside) >> 63);
  uint64_t open = masks.open & ~inside;
  uint64_t close = masks.close & ~inside;
  for (uint64_t brackets = open | close; brackets != 0; brackets &= brackets - 1) {
    auto bit = static_cast<unsigned>(__builtin_ctzll(brackets));
    if ((open >> bit) & 1) {
      ++depth_;
    } else if (depth_ == 0 || (depth_ == 1 && chunk[bit] == ']')) {
      return position_ + bit;
    } else if (--depth_ == 0) {
      ends.push_back(static_cast<uint32_t>(position_ + bit + 1));
    }
  }
  position_ += kChunk;
  return kNowhere;
}

size_t EventScan::scan_bytewise(const char* chunk, const char* data_end, std::vector<uint32_t>& ends) {
  size_t length = static_cast<size_t>(data_end - chunk);
  if (length > kChunk) length = kChunk;
  bool in_string = in_string_ != 0;
  bool escaped = is_escaped_ != 0;
  for (size_t i = 0; i < length; ++i) {
    char c = chunk[i];
    if (escaped) {
      escaped = false;
    } else if (c == '\\') {
      escaped = true;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (in_string) {
      if (c == '\n' && line_break_ends_string(chunk + i + 1, data_end)) in_string = false;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      if (depth_ == 0 || (depth_ == 1 && c == ']')) return position_ + i;
      if (--depth_ == 0) ends.push_back(static_cast<uint32_t>(position_ + i + 1));
    }
  }
  in_string_ = in_string ? ~uint64_t{0} : 0;
  is_escaped_ = escaped;
  position_ += length;
  return kNowhere;
}

const char* find_event_start(const char* begin, const char* end) {
  for (const char* p = begin; p < end; ++p) {
    p = static_cast<const char*>(std::memchr(p, '{', static_cast<size_t>(end - p)));
    if (p == nullptr) return nullptr;
    if (is_event_start(begin, p, end)) return p;
  }
  return nullptr;
}

const char* find_last_event_start(const char* begin, const char* end) {
  for (const char* p = end; p > begin;) {
    p = static_cast<const char*>(::memrchr(begin, '{', static_cast<size_t>(p - begin)));
    if (p == nullptr) return nullptr;
    if (is_event_start(begin, p, end)) return p;
  }
  return nullptr;
}

}  // namespace lumos
