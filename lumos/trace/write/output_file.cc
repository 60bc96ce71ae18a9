#include "lumos/trace/write/output_file.h"

#include <isa-l/igzip_lib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "lumos/base/file.h"

namespace lumos {

namespace {
constexpr size_t kOutputBytes = 256 * 1024;  // One system call per this much compressed data.
constexpr int kCompressionLevel = 1;         // Level 2 and 3 of ISA-L gain a few percent for twice the time.
}  // namespace

struct OutputFile::State {
  std::string path;
  std::string draft;  // what is written until close() renames it; empty where `path` itself is
  FILE* file = nullptr;
  int first_error = 0;
  bool compressed = false;
  isal_zstream stream;
  std::vector<uint8_t> level_buffer;
  std::vector<uint8_t> output;

  ~State() {
    if (file != nullptr && file != stdout) std::fclose(file);
    if (!draft.empty()) unlink(draft.c_str());
  }

  void put(const void* bytes, size_t size) {
    if (first_error == 0 && std::fwrite(bytes, 1, size, file) != size) first_error = errno != 0 ? errno : EIO;
  }

  void begin_gzip() {
    compressed = true;
    level_buffer.resize(ISAL_DEF_LVL1_DEFAULT);
    output.resize(kOutputBytes);
    isal_deflate_init(&stream);
    stream.level = kCompressionLevel;
    stream.level_buf = level_buffer.data();
    stream.level_buf_size = static_cast<uint32_t>(level_buffer.size());
    stream.gzip_flag = IGZIP_GZIP;
  }

  void deflate(std::string_view bytes, bool last) {
    stream.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uint32_t>(bytes.size());
    stream.end_of_stream = last ? 1 : 0;
    do {
      stream.next_out = output.data();
      stream.avail_out = static_cast<uint32_t>(output.size());
      isal_deflate(&stream);
      put(output.data(), output.size() - stream.avail_out);
    } while (stream.avail_in > 0 || stream.avail_out == 0 || (last && stream.internal_state.state != ZSTATE_END));
  }
};

OutputFile::OutputFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputFile::~OutputFile() = default;
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;

Result<OutputFile> OutputFile::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  if (path != "-" && !is_special_file(path)) state->draft = draft_name(path);
  const std::string& written = state->draft.empty() ? path : state->draft;
  state->file = path == "-" ? stdout : std::fopen(written.c_str(), "wb");
  if (state->file == nullptr) return fail(ErrorKind::kFailed, "{}: cannot be written: {}", path, std::strerror(errno));
  if (path.ends_with(".gz")) state->begin_gzip();
  return OutputFile(std::move(state));
}

void OutputFile::write(std::string_view bytes) {
  // ISA-L counts input in 32 bits.
  constexpr size_t kMostAtOnce = size_t{1} << 30;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kMostAtOnce);
    if (state_->compressed) {
      state_->deflate(part, false);
    } else {
      state_->put(part.data(), part.size());
    }
    bytes.remove_prefix(part.size());
  }
}

Status OutputFile::close() {
  CHECK(state_ != nullptr && state_->file != nullptr);
  if (state_->compressed) state_->deflate({}, true);
  FILE* file = std::exchange(state_->file, nullptr);
  const bool flushed = std::fflush(file) == 0;
  const int flush_error = errno;
  const bool closed = file == stdout || std::fclose(file) == 0;
  if (state_->first_error == 0 && !flushed) state_->first_error = flush_error;
  if (state_->first_error == 0 && !closed) state_->first_error = errno;
  if (state_->first_error != 0) {
    return fail(ErrorKind::kFailed, "{}: could not be written whole: {}", state_->path,
                std::strerror(state_->first_error));
  }
  const std::string draft = std::exchange(state_->draft, {});
  return draft.empty() ? Status{} : rename_draft(draft, state_->path);
}

}  // namespace lumos
