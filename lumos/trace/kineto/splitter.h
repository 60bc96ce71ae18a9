// Cuts a trace document into blocks of whole events, and picks the metadata around them. Made by trace/kineto/reader on
// top of a ByteSource; the blocks go to trace/kineto/event_parser, the metadata to trace/metadata. Holds one block at a
// time, so a file of any length passes through. Where damage has lost the track (a quote too few, a bracket too many)
// it is found again at the next text that looks like the beginning of an event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lumos/trace/kineto/byte_source.h"
#include "lumos/trace/kineto/event_scan.h"
#include "lumos/trace/kineto/read_issue.h"

namespace lumos {

/// A stretch of the traceEvents array that holds whole events, separated by commas.
struct TextBlock {
  std::unique_ptr<char[]> data;
  size_t capacity = 0;
  size_t size = 0;
  uint64_t offset = 0;         ///< of data[0] in the decoded stream
  std::vector<uint32_t> ends;  ///< offsets behind the closing bracket of each event
  bool is_cut_short = false;   ///< the document ended here without closing the array

  std::string_view text() const { return {data.get(), size}; }
  void reserve(size_t bytes);
};

/// What a document is, besides its events. Complete when Splitter::next has returned false.
struct DocumentInfo {
  bool is_array = false;  ///< a bare array: of events, if has_events
  bool has_events = false;
  bool is_truncated = false;  ///< ended before its last closing bracket
  uint64_t decoded_bytes = 0;
  std::vector<std::string> top_keys;  ///< the first few, to tell what a file is that is no trace
  std::vector<std::pair<std::string, std::string>> metadata;  ///< the values that somebody reads, as JSON text
  std::string first_bytes;
  DamageCounts damage;
};

class Splitter {
 public:
  /// Blocks aim at `block_bytes`; one grows beyond it only for an event that is longer.
  Splitter(ByteSource source, size_t block_bytes);

  /// Fills `block` with the next events; false when the document has ended. Reuses the memory of `block`.
  /// Errors: kUnreadable, from the source.
  Result<bool> next(TextBlock& block);

  const DocumentInfo& info() const { return info_; }
  const ByteSource& source() const { return source_; }

 private:
  enum class Place : uint8_t { kStart, kOutside, kEvents, kDone };

  // Outside of the events: byte by byte over window_.
  Result<bool> scan_outside();
  Status begin_document();
  Result<int> peek();
  Result<bool> starts_with(std::string_view text);
  Status skip_spaces();
  Status take_quote(std::string* into);
  Status take_string(std::string* into);
  Status take_value(std::string& into);
  Status finish();

  // Among the events.
  Status fill(TextBlock& block, size_t size);
  Result<size_t> find_array_end(EventScan& scan, TextBlock& block);
  bool skip_to_last_event(EventScan& scan, TextBlock& block) const;
  Result<bool> is_array_end(TextBlock& block, size_t position);
  size_t choose_cut(TextBlock& block) const;
  void return_rest(TextBlock& block, size_t from);

  ByteSource source_;
  size_t block_bytes_;
  Place place_ = Place::kStart;
  DocumentInfo info_;
  std::string window_;          // read but not used
  size_t at_ = 0;               // next byte in window_
  uint64_t window_offset_ = 0;  // of window_[0] in the decoded stream
  bool source_ended_ = false;
  bool at_events_ = false;  // just behind the bracket that opens traceEvents
  int64_t depth_ = 0;       // open brackets outside of the events
};

}  // namespace lumos
