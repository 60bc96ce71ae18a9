// The container of graph files: numbered sections of fixed-size elements behind a checked header. Knows nothing of what
// is in them; graph_file decides that.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "lumos/base/result.h"

namespace lumos {

/// 64-bit checksum of bytes, four lanes wide: as fast as memory, and any changed bit changes it.
uint64_t checksum(const void* data, size_t bytes);

inline constexpr char kSectionMagic[8] = {'L', 'U', 'M', 'O', 'S', 'J', 'O', 'B'};

/// Collects sections and writes them. Columns are referenced, not copied: they must live until write().
class SectionWriter {
 public:
  template <class T>
  void column(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    add(values.data(), values.size(), sizeof(T));
  }
  /// A column that is made for the file and owned by the writer.
  template <class T>
  void owned(std::vector<T> values) {
    auto kept = std::make_shared<std::vector<T>>(std::move(values));
    column(*kept);
    kept_.push_back(std::move(kept));
  }
  /// Errors: kFailed.
  Status write(const std::string& path, uint32_t version) const;

 private:
  struct Part {
    const void* data;
    uint64_t count;
    uint64_t element_bytes;
  };
  void add(const void* data, uint64_t count, uint64_t element_bytes) { parts_.push_back({data, count, element_bytes}); }

  std::vector<Part> parts_;
  std::vector<std::shared_ptr<void>> kept_;
};

/// Maps a file and hands its sections out in the order in which they were written.
class SectionReader {
 public:
  /// Checks header, version, length and all checksums. Errors: kUnreadable.
  static Result<SectionReader> open(const std::string& path, uint32_t version);

  /// The next section; false (and nothing read from then on) if there is none or its elements have another size.
  template <class T>
  bool column(std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const Section* section = next(sizeof(T));
    if (section == nullptr) return false;
    values.resize(section->count);
    // An empty vector has no storage to copy into.
    if (section->count > 0) std::memcpy(values.data(), data_.get() + section->offset, section->count * sizeof(T));
    return true;
  }
  /// True if every section was read with the right element size and none is left.
  bool complete() const { return good_ && next_ == sections_.size(); }

 private:
  struct Section {
    uint64_t offset = 0;
    uint64_t count = 0;
    uint64_t element_bytes = 0;
    uint64_t checksum = 0;
  };
  friend class SectionWriter;

  const Section* next(uint64_t element_bytes);

  std::shared_ptr<const char> data_;
  std::vector<Section> sections_;
  size_t next_ = 0;
  bool good_ = true;
};

}  // namespace lumos
