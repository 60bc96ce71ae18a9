#include "lumos/graph/job/sections.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "lumos/base/file.h"

namespace lumos {

namespace {

constexpr uint64_t kAlignment = 64;          // a cache line, and more than any element needs
constexpr uint32_t kByteOrder = 0x01020304;  // reads differently on a machine of the other byte order

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t byte_order;
  uint64_t file_bytes;
  uint64_t sections;
  uint64_t table_checksum;
  uint64_t reserved[3];
};
static_assert(sizeof(Header) == kAlignment);

uint64_t aligned(uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

uint64_t mix(uint64_t lane, uint64_t word) {
  return std::rotl(lane ^ (word * 0x9E3779B97F4A7C15ull), 27) * 0xC2B2AE3D27D4EB4Full + 0x165667B19E3779F9ull;
}

/// Bytes at places that are multiples of kAlignment, into a draft.
class AlignedFile {
 public:
  explicit AlignedFile(const std::string& path) : draft_(path), file_(std::fopen(draft_.name().c_str(), "wb")) {}
  ~AlignedFile() {
    if (file_ != nullptr) std::fclose(file_);
  }
  AlignedFile(const AlignedFile&) = delete;
  AlignedFile& operator=(const AlignedFile&) = delete;

  bool opened() const { return file_ != nullptr; }
  bool put(const void* data, size_t bytes) {
    at_ += bytes;
    return bytes == 0 || std::fwrite(data, 1, bytes, file_) == bytes;
  }
  bool pad() {
    static constexpr char kZeros[kAlignment] = {};
    return put(kZeros, aligned(at_) - at_);
  }
  bool close() { return std::fclose(std::exchange(file_, nullptr)) == 0; }
  Status put_in_place() { return draft_.put_in_place(); }

 private:
  Draft draft_;
  std::FILE* file_;
  uint64_t at_ = 0;
};

/// A copy, not a mapping: a file that somebody cuts while it is mapped ends the program. nullptr where there are fewer
/// bytes.
std::shared_ptr<const char> read_whole(int descriptor, uint64_t bytes) {
  std::shared_ptr<char> data(static_cast<char*>(std::malloc(std::max<uint64_t>(bytes, 1))), std::free);
  for (uint64_t at = 0; data != nullptr && at < bytes;) {
    const ssize_t got = pread(descriptor, data.get() + at, bytes - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return nullptr;
    at += static_cast<uint64_t>(got);
  }
  return data;
}

}  // namespace

uint64_t checksum(const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  uint64_t lanes[4] = {1, 2, 3, 4};
  size_t left = bytes;
  for (; left >= 32; left -= 32, at += 32) {
    uint64_t words[4];
    std::memcpy(words, at, 32);
    for (int i = 0; i < 4; ++i) lanes[i] = mix(lanes[i], words[i]);
  }
  uint64_t sum = mix(lanes[0], lanes[1]) ^ mix(lanes[2], lanes[3]) ^ bytes;
  for (; left > 0; --left, ++at) sum = mix(sum, static_cast<unsigned char>(*at));
  return mix(sum, bytes);
}

Status SectionWriter::write(const std::string& path, uint32_t version) const {
  std::vector<SectionReader::Section> table(parts_.size());
  uint64_t offset = sizeof(Header) + aligned(table.size() * sizeof(table[0]));
  for (size_t i = 0; i < parts_.size(); ++i) {
    const uint64_t bytes = parts_[i].count * parts_[i].element_bytes;
    table[i] = {offset, parts_[i].count, parts_[i].element_bytes, checksum(parts_[i].data, bytes)};
    offset = aligned(offset + bytes);
  }
  Header header = {};
  std::memcpy(header.magic, kSectionMagic, sizeof(kSectionMagic));
  header.version = version;
  header.byte_order = kByteOrder;
  header.file_bytes = offset;
  header.sections = table.size();
  header.table_checksum = checksum(table.data(), table.size() * sizeof(table[0]));
  AlignedFile file(path);
  bool good = file.opened() && file.put(&header, sizeof(header)) &&
              file.put(table.data(), table.size() * sizeof(table[0])) && file.pad();
  for (const Part& part : parts_) good = good && file.put(part.data, part.count * part.element_bytes) && file.pad();
  if (!good || !file.close()) return fail(ErrorKind::kFailed, "cannot write {}: {}", path, std::strerror(errno));
  return file.put_in_place();
}

Result<SectionReader> SectionReader::open(const std::string& path, uint32_t version) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    const int reason = errno;
    if (descriptor >= 0) close(descriptor);
    return fail(ErrorKind::kUnreadable, "cannot read {}: {}", path, std::strerror(reason));
  }
  const uint64_t bytes = S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
  SectionReader reader;
  reader.data_ = read_whole(descriptor, bytes);
  close(descriptor);
  if (reader.data_ == nullptr) return fail(ErrorKind::kUnreadable, "{} cannot be read whole: it shrank", path);
  Header header;
  if (bytes < sizeof(header) || std::memcmp(reader.data_.get(), kSectionMagic, sizeof(kSectionMagic)) != 0) {
    return fail(ErrorKind::kUnreadable, "{} is no graph file", path);
  }
  std::memcpy(&header, reader.data_.get(), sizeof(header));
  if (header.byte_order != kByteOrder) {
    return fail(ErrorKind::kUnreadable, "{} was written on a machine of another byte order; link the traces again",
                path);
  }
  if (header.version != version) {
    return fail(ErrorKind::kUnreadable,
                "{} is a graph file of version {}, this program reads {}; link the traces again", path, header.version,
                version);
  }
  const uint64_t most = (bytes - sizeof(header)) / sizeof(Section);
  if (header.file_bytes != bytes || header.sections > most) {
    return fail(ErrorKind::kUnreadable, "{} is cut: {} of {} bytes", path, bytes, header.file_bytes);
  }
  reader.sections_.resize(header.sections);
  const size_t table_bytes = header.sections * sizeof(Section);
  if (table_bytes > 0) std::memcpy(reader.sections_.data(), reader.data_.get() + sizeof(header), table_bytes);
  if (checksum(reader.sections_.data(), table_bytes) != header.table_checksum) {
    return fail(ErrorKind::kUnreadable, "{} is damaged: its table of sections does not match its checksum", path);
  }
  for (size_t i = 0; i < reader.sections_.size(); ++i) {
    const Section& section = reader.sections_[i];
    const bool inside = section.element_bytes > 0 && section.offset <= bytes &&
                        section.count <= (bytes - section.offset) / section.element_bytes;
    if (!inside ||
        checksum(reader.data_.get() + section.offset, section.count * section.element_bytes) != section.checksum) {
      return fail(ErrorKind::kUnreadable, "{} is damaged: section {} at byte {} does not match its checksum", path, i,
                  section.offset);
    }
  }
  return reader;
}

const SectionReader::Section* SectionReader::next(uint64_t element_bytes) {
  if (!good_ || next_ >= sections_.size() || sections_[next_].element_bytes != element_bytes) {
    good_ = false;
    return nullptr;
  }
  return &sections_[next_++];
}

}  // namespace lumos
