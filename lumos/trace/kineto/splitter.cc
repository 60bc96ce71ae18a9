#include "lumos/trace/kineto/splitter.h"

#include <algorithm>
#include <cstring>

#include "lumos/trace/kineto/json_scan.h"

namespace lumos {

namespace {

constexpr size_t kWindowBytes = 64 * 1024;              // One read while outside of the events.
constexpr size_t kMaxEventBytes = 256 * 1024 * 1024;    // Longer than any event; damage beyond it is given up.
constexpr size_t kLostTrackBytes = 256 * 1024;          // An ordinary event has some hundred bytes.
constexpr size_t kMaxMetadataBytes = 32 * 1024 * 1024;  // Rank lists of all groups of 100,000 ranks are a tenth of it.
constexpr size_t kMaxKeys = 16;
constexpr size_t kMaxKeyBytes = 64;
constexpr std::string_view kEventsKey = "traceEvents\"";

/// Top-level values that trace/kineto/metadata reads; others are skipped without being kept.
bool is_wanted(std::string_view key) {
  return key == "distributedInfo" || key == "deviceProperties" || key == "baseTimeNanoseconds" || key == "traceName";
}

/// True when the text behind an event goes on like a list of events.
bool continues_as_list(const char* p, const char* end) {
  p = skip_space(p, end);
  if (p == end || *p != ',') return false;
  p = skip_space(p + 1, end);
  return p < end && *p == '{';
}

}  // namespace

void TextBlock::reserve(size_t bytes) {
  if (bytes <= capacity) return;
  auto larger = std::make_unique_for_overwrite<char[]>(bytes);
  if (size > 0) std::memcpy(larger.get(), data.get(), size);
  data = std::move(larger);
  capacity = bytes;
}

Splitter::Splitter(ByteSource source, size_t block_bytes) : source_(std::move(source)), block_bytes_(block_bytes) {}

Result<bool> Splitter::next(TextBlock& block) {
  block.size = 0;
  block.ends.clear();
  block.is_cut_short = false;
  if (place_ == Place::kStart) TRY_STATUS(begin_document());
  if (place_ == Place::kOutside && !TRY(scan_outside())) TRY_STATUS(finish());
  if (place_ == Place::kDone) return false;

  place_ = Place::kEvents;
  block.offset = window_offset_ + at_;
  size_t kept = window_.size() - at_;
  block.reserve(std::max(block_bytes_, kept));
  std::memcpy(block.data.get(), window_.data() + at_, kept);
  block.size = kept;
  window_.clear();
  at_ = 0;
  window_offset_ = block.offset + kept;

  EventScan scan;
  for (size_t target = std::max(block_bytes_, kept);; target = block.size * 2) {
    TRY_STATUS(fill(block, target));
    size_t closing = TRY(find_array_end(scan, block));
    // The track may have been lost on the way to the end: once more from the last event. A file that is cut has none;
    // what lies behind its last event is then left for the parser to look through.
    size_t events = block.ends.size();
    if (closing == kNowhere && source_ended_ && skip_to_last_event(scan, block)) {
      closing = TRY(find_array_end(scan, block));
      if (closing == kNowhere) block.ends.resize(events);
    }
    if (closing != kNowhere) {
      return_rest(block, closing + 1);
      block.size = closing;
      place_ = Place::kOutside;
      return true;
    }
    if (source_ended_) {
      block.is_cut_short = true;
      info_.is_truncated = true;
      TRY_STATUS(finish());
      return true;
    }
    if (size_t cut = choose_cut(block); cut > 0) {
      return_rest(block, cut);
      block.size = cut;
      return true;
    }
  }
}

/// Reads until the block holds `size` bytes or the source ends.
Status Splitter::fill(TextBlock& block, size_t size) {
  if (block.size >= size || source_ended_) return {};
  block.reserve(size);
  size_t wanted = size - block.size;
  size_t got = TRY(source_.read(block.data.get() + block.size, wanted));
  block.size += got;
  window_offset_ += got;
  source_ended_ = got < wanted;
  return {};
}

/// Walks over all events that the block holds. Returns where the array of events closes, if it does.
Result<size_t> Splitter::find_array_end(EventScan& scan, TextBlock& block) {
  for (;;) {
    size_t closing = scan.advance(block.data.get(), block.size, source_ended_, block.ends);
    if (closing == kNowhere || TRY(is_array_end(block, closing))) return closing;
    scan.restart(closing + 1);
  }
}

/// Moves `scan` to the last text behind the known events that looks like an event's beginning, which makes what it
/// passes over one suspect stretch. False when there is none to pass over.
bool Splitter::skip_to_last_event(EventScan& scan, TextBlock& block) const {
  const char* end = block.data.get() + block.size;
  const char* begin = block.data.get() + (block.ends.empty() ? 0 : block.ends.back());
  begin = skip_space(begin, end);
  if (begin < end && *begin == ',') begin = skip_space(begin + 1, end);
  const char* last = begin == end ? nullptr : find_last_event_start(begin + 1, end);
  // Behind an opening bracket it would be the first of a list inside an event.
  const char* before = last == nullptr ? begin : last;
  while (before > begin && is_json_space(before[-1])) --before;
  if (before == begin || before[-1] != ',') return false;
  auto position = static_cast<uint32_t>(last - block.data.get());
  block.ends.push_back(position);
  scan.restart(position);
  return true;
}

/// Whether the unmatched bracket at `position` closes the array of events, rather than being part of some damage.
Result<bool> Splitter::is_array_end(TextBlock& block, size_t position) {
  if (block.data[position] != ']') return false;
  for (;;) {
    const char* end = block.data.get() + block.size;
    const char* p = skip_space(block.data.get() + position + 1, end);
    bool is_comma = p < end && *p == ',';
    if (is_comma) p = skip_space(p + 1, end);
    if (p < end) return info_.is_array ? false : *p == '}' || (is_comma && *p == '"');
    if (source_ended_) return true;
    TRY_STATUS(fill(block, block.size + kWindowBytes));
  }
}

/// Where to end a full block: behind an event that another follows. Without one the track is lost, or one event is
/// longer than the block: then at the last text that looks like an event's beginning. 0: read on.
size_t Splitter::choose_cut(TextBlock& block) const {
  const char* begin = block.data.get();
  const char* end = begin + block.size;
  for (size_t i = block.ends.size(); i > 0; --i) {
    if (continues_as_list(begin + block.ends[i - 1], end)) return block.ends[i - 1];
  }
  if (block.size < kLostTrackBytes) return 0;
  const char* first = skip_space(begin, end);
  if (first < end && *first == ',') first = skip_space(first + 1, end);
  const char* resume = first == end ? nullptr : find_last_event_start(first + 1, end);
  if (resume == nullptr) return block.size >= kMaxEventBytes ? block.size : 0;
  auto cut = static_cast<uint32_t>(resume - begin);
  while (!block.ends.empty() && block.ends.back() > cut) block.ends.pop_back();
  if (block.ends.empty() || block.ends.back() < cut) block.ends.push_back(cut);
  return cut;
}

/// Puts what lies behind `from` back, for the next block or the metadata.
void Splitter::return_rest(TextBlock& block, size_t from) {
  window_.assign(block.data.get() + from, block.size - from);
  at_ = 0;
  window_offset_ = block.offset + from;
  while (!block.ends.empty() && block.ends.back() > from) block.ends.pop_back();
}

Status Splitter::begin_document() {
  place_ = Place::kOutside;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (TRY(starts_with(kByteOrderMark))) at_ += kByteOrderMark.size();
  TRY_STATUS(skip_spaces());
  int c = TRY(peek());
  info_.first_bytes = window_.substr(at_, kMaxKeyBytes);
  if (c == '[') {
    ++at_;
    info_.is_array = true;
    TRY_STATUS(skip_spaces());
    int first = TRY(peek());
    at_events_ = first == '{' || first == ']' || first < 0;
    if (!at_events_) return finish();
    return {};
  }
  if (c != '{') return finish();
  return {};
}

/// Walks the document outside of the events, keeping the metadata, until an array of events begins (true) or the
/// document ends (false). "traceEvents" counts wherever it stands, so that damage before it does not hide the events.
Result<bool> Splitter::scan_outside() {
  if (info_.is_array && info_.has_events) return false;  // The events were the document.
  std::string key;
  while (!at_events_) {
    TRY_STATUS(skip_spaces());
    int c = TRY(peek());
    if (c < 0) {
      info_.is_truncated = true;
      return false;
    }
    if (c == '"') {
      key.clear();
      TRY_STATUS(take_string(&key));
      if (at_events_) break;
      TRY_STATUS(skip_spaces());
      if (TRY(peek()) != ':') continue;
      ++at_;
      if (depth_ != 1) continue;
      if (info_.top_keys.size() < kMaxKeys) info_.top_keys.push_back(key);
      if (!is_wanted(key)) continue;
      std::string value;
      TRY_STATUS(take_value(value));
      info_.metadata.emplace_back(key, std::move(value));
      continue;
    }
    ++at_;
    if (c == '{' || c == '[') ++depth_;
    if ((c == '}' || c == ']') && --depth_ <= 0) return false;
  }
  at_events_ = false;
  info_.has_events = true;
  return true;
}

/// The next byte outside of the events, or -1 at the end.
Result<int> Splitter::peek() {
  if (at_ == window_.size()) {
    window_offset_ += at_;
    at_ = 0;
    window_.clear();
    if (source_ended_) return -1;
    window_.resize(kWindowBytes);
    size_t got = TRY(source_.read(window_.data(), kWindowBytes));
    window_.resize(got);
    source_ended_ = got < kWindowBytes;
    if (got == 0) return -1;
  }
  return static_cast<unsigned char>(window_[at_]);
}

/// Whether the unread bytes begin with `text`.
Result<bool> Splitter::starts_with(std::string_view text) {
  while (window_.size() - at_ < text.size() && !source_ended_) {
    size_t size = window_.size();
    window_.resize(size + kWindowBytes);
    size_t got = TRY(source_.read(window_.data() + size, kWindowBytes));
    window_.resize(size + got);
    source_ended_ = got < kWindowBytes;
  }
  return std::string_view(window_).substr(at_, text.size()) == text;
}

Status Splitter::skip_spaces() {
  for (;;) {
    int c = TRY(peek());
    if (c < 0 || !is_json_space(static_cast<char>(c))) return {};
    ++at_;
  }
}

/// Takes a quote, opening or closing. Behind damage the two may be mistaken, so the key of the events is looked for
/// behind both.
Status Splitter::take_quote(std::string* into) {
  ++at_;
  if (into != nullptr) *into += '"';
  if (!TRY(starts_with(kEventsKey))) return {};
  std::string undo = window_.substr(at_, kEventsKey.size());
  at_ += kEventsKey.size();
  TRY_STATUS(skip_spaces());
  if (TRY(peek()) == ':') {
    ++at_;
    TRY_STATUS(skip_spaces());
    if (TRY(peek()) == '[') {
      ++at_;
      at_events_ = true;
      return {};
    }
    undo += ':';
  }
  // A text that only happens to say traceEvents: give it back.
  window_.replace(0, at_, undo);
  window_offset_ += at_ - undo.size();
  at_ = 0;
  return {};
}

/// Takes a string with its quotes; appends the text between them to `into`, up to kMaxKeyBytes of it.
Status Splitter::take_string(std::string* into) {
  TRY_STATUS(take_quote(nullptr));
  while (!at_events_) {
    int c = TRY(peek());
    if (c < 0 || c == '\n') return {};  // A raw line break: the closing quote is missing.
    if (c == '"') return take_quote(nullptr);
    for (int taken = c == '\\' ? 2 : 1; taken > 0 && TRY(peek()) >= 0; --taken) {
      if (into->size() < kMaxKeyBytes) *into += window_[at_];
      ++at_;
    }
  }
  return {};
}

/// Takes a value of the metadata as JSON text.
Status Splitter::take_value(std::string& into) {
  TRY_STATUS(skip_spaces());
  int64_t nested = 0;
  bool in_string = false;
  while (!at_events_ && into.size() < kMaxMetadataBytes) {
    int c = TRY(peek());
    if (c < 0) return {};
    if (c == '"') {
      TRY_STATUS(take_quote(&into));
      in_string = !in_string;
      if (!in_string && nested == 0) return {};
      continue;
    }
    if (in_string && c == '\\') {
      into += '\\';
      ++at_;
      c = TRY(peek());
      if (c < 0) return {};
    } else if (in_string && c == '\n') {
      in_string = false;
    } else if (!in_string) {
      bool closes = c == '}' || c == ']';
      if (nested == 0 && (closes || c == ',')) return {};
      nested += (c == '{' || c == '[') - closes;
      if (closes && nested == 0) {
        into += static_cast<char>(c);
        ++at_;
        return {};
      }
    }
    into += static_cast<char>(c);
    ++at_;
  }
  return {};
}

/// Reads what is left, so that the checksum of a compressed file is looked at.
Status Splitter::finish() {
  place_ = Place::kDone;
  bool foreign = false;
  for (;;) {
    TRY_STATUS(skip_spaces());
    if (TRY(peek()) < 0) break;
    if (!foreign && info_.has_events) info_.damage.add(Damage::kForeignText, window_offset_ + at_);
    foreign = true;
    at_ = window_.size();
  }
  info_.decoded_bytes = window_offset_;
  if (!source_.damage().empty()) {
    info_.damage.add(Damage::kBadCompression, info_.decoded_bytes);
    info_.is_truncated = info_.is_truncated || !info_.has_events;
  }
  return {};
}

}  // namespace lumos
