// A file being written, gzip-compressed on the fly when its name ends with ".gz"; "-" is standard output. Used by the
// trace writers. Hides ISA-L, which compresses several times faster than zlib.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "lumos/base/result.h"

namespace lumos {

/// Errors of the system are kept and returned by close(), so that writers need not look at every write.
class OutputFile {
 public:
  /// Begins a draft beside `path` that close() renames to it: until then what was there before stays, so that a file
  /// may be read and written over, and nobody sees half of one. Devices and pipes are written through. Errors: kFailed
  /// with the system's reason.
  static Result<OutputFile> open(const std::string& path);
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;

  void write(std::string_view bytes);
  /// Ends the compressed stream and puts the file in place; without it nothing is left. Errors: kFailed when any byte
  /// could not be written.
  Status close();

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lumos
