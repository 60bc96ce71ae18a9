// A trace file as a stream of decoded bytes: plain, gzip (several members too) or zstd, told apart by content and not
// by name. Made by trace/kineto/reader, read by trace/splitter. What can be decoded of a cut or damaged file is
// delivered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lumos/base/result.h"

namespace lumos {

class ByteSource {
 public:
  /// Opens `path`; "-" is standard input. Errors: kUnreadable for a missing file, a folder, an empty file, or a
  /// compression that cannot be undone.
  static Result<ByteSource> open(const std::string& path);
  /// Decodes `bytes`, which must outlive the source. Used where a file is already in memory.
  static Result<ByteSource> of_memory(std::string_view bytes);

  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;
  ~ByteSource();

  /// Decodes up to `size` bytes into `out`; fewer only at the end of the input. Errors: kUnreadable when the system
  /// cannot read on, or when the very first bytes do not decode.
  Result<size_t> read(char* out, size_t size);

  /// Why decoding stopped before the end of the compressed stream; empty when it did not.
  const std::string& damage() const;
  /// Bytes taken from the file so far, and its length (0: unknown, as for a pipe). Their ratio is the progress.
  uint64_t raw_consumed_bytes() const;
  uint64_t raw_size_bytes() const;

 private:
  struct State;
  explicit ByteSource(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lumos
