#include "lumos/trace/kineto/byte_source.h"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>
#ifdef LUMOS_HAVE_ZSTD
#include <zstd.h>
#endif

namespace lumos {

namespace {

constexpr size_t kInputBytes = 256 * 1024;  // A few read calls per decoded block, and small beside the blocks.

enum class Format : uint8_t { kPlain, kGzip, kZstd };

constexpr uint8_t kGzipMagic[] = {0x1f, 0x8b};
constexpr uint8_t kZstdMagic[] = {0x28, 0xb5, 0x2f, 0xfd};

template <size_t N>
bool starts_with(const uint8_t* bytes, size_t size, const uint8_t (&magic)[N]) {
  return size >= N && std::memcmp(bytes, magic, N) == 0;
}

}  // namespace

struct ByteSource::State {
  std::string path;
  int file = -1;  // -1: the bytes come from memory
  std::string_view memory;
  std::vector<uint8_t> input;
  const uint8_t* next = nullptr;  // undecoded bytes
  size_t available = 0;
  bool input_ended = false;
  Format format = Format::kPlain;
  bool decoder_finished = false;  // at the end of a gzip member or zstd frame
  bool ended = false;
  uint64_t consumed_bytes = 0;
  uint64_t size_bytes = 0;
  uint64_t decoded_bytes = 0;
  std::string damage;
  std::unique_ptr<inflate_state> gzip;
#ifdef LUMOS_HAVE_ZSTD
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> zstd{nullptr, ZSTD_freeDCtx};
#endif

  ~State() {
    if (file > STDIN_FILENO) ::close(file);
  }

  /// Makes at least one undecoded byte available, unless the input has ended.
  Status refill() {
    if (available > 0 || input_ended) return {};
    if (file < 0) {
      next = reinterpret_cast<const uint8_t*>(memory.data());
      available = memory.size();
      consumed_bytes += available;
      memory = {};
      input_ended = available == 0;
      return {};
    }
    ssize_t got;
    do {
      got = ::read(file, input.data(), input.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      return fail(ErrorKind::kUnreadable, "{}: cannot read at byte {}: {}", path, consumed_bytes, std::strerror(errno));
    }
    next = input.data();
    available = static_cast<size_t>(got);
    consumed_bytes += available;
    input_ended = got == 0;
    return {};
  }

  Status detect() {
    TRY_STATUS(refill());
    if (starts_with(next, available, kGzipMagic)) {
      format = Format::kGzip;
      gzip = std::make_unique<inflate_state>();
      isal_inflate_init(gzip.get());
      gzip->crc_flag = ISAL_GZIP;
    } else if (starts_with(next, available, kZstdMagic)) {
#ifdef LUMOS_HAVE_ZSTD
      format = Format::kZstd;
      zstd.reset(ZSTD_createDCtx());
#else
      return fail(ErrorKind::kUnreadable, "{}: zstd compression is not built in; decompress it first with `unzstd`",
                  path);
#endif
    }
    return {};
  }

  size_t decode_plain(char* out, size_t size) {
    size_t taken = std::min(size, available);
    if (taken > 0) std::memcpy(out, next, taken);
    next += taken;
    available -= taken;
    ended = input_ended;
    return taken;
  }

  /// After a member only another member may follow; zero padding and foreign bytes end the stream, as gzip does.
  bool begin_next_member() {
    if (!starts_with(next, available, kGzipMagic)) return false;
    isal_inflate_reset(gzip.get());
    gzip->crc_flag = ISAL_GZIP;
    decoder_finished = false;
    return true;
  }

  size_t decode_gzip(char* out, size_t size) {
    if (decoder_finished && (available == 0 || !begin_next_member())) {
      ended = available > 0 || input_ended;
      return 0;
    }
    gzip->next_in = const_cast<uint8_t*>(next);
    gzip->avail_in = static_cast<uint32_t>(std::min<size_t>(available, UINT32_MAX));
    gzip->next_out = reinterpret_cast<uint8_t*>(out);
    gzip->avail_out = static_cast<uint32_t>(std::min<size_t>(size, UINT32_MAX));
    uint32_t room = gzip->avail_out;
    uint32_t offered = gzip->avail_in;
    int code = isal_inflate(gzip.get());
    size_t produced = room - gzip->avail_out;
    next += offered - gzip->avail_in;
    available -= offered - gzip->avail_in;
    decoder_finished = code == ISAL_DECOMP_OK && gzip->block_state == ISAL_BLOCK_FINISH;
    if (code < 0) {
      damage = code == ISAL_INCORRECT_CHECKSUM ? "the gzip checksum does not match" : "the gzip data is damaged";
      ended = true;
    } else if (input_ended && available == 0 && produced == 0 && !decoder_finished) {
      damage = "the gzip stream is cut short";
      ended = true;
    }
    return produced;
  }

  size_t decode_zstd([[maybe_unused]] char* out, [[maybe_unused]] size_t size) {
#ifdef LUMOS_HAVE_ZSTD
    if (decoder_finished && available == 0) {  // Another call would begin another frame.
      ended = input_ended;
      return 0;
    }
    ZSTD_inBuffer in{next, available, 0};
    ZSTD_outBuffer result{out, size, 0};
    size_t code = ZSTD_decompressStream(zstd.get(), &result, &in);
    next += in.pos;
    available -= in.pos;
    if (ZSTD_isError(code)) {
      damage = fmt::format("the zstd data is damaged ({})", ZSTD_getErrorName(code));
      ended = true;
    } else {
      decoder_finished = code == 0;
      if (input_ended && available == 0 && result.pos == 0 && !decoder_finished) {
        damage = "the zstd stream is cut short";
        ended = true;
      }
    }
    return result.pos;
#else
    ended = true;
    return 0;
#endif
  }

  size_t decode(char* out, size_t size) {
    switch (format) {
      case Format::kPlain:
        return decode_plain(out, size);
      case Format::kGzip:
        return decode_gzip(out, size);
      case Format::kZstd:
        return decode_zstd(out, size);
    }
    return 0;
  }
};

ByteSource::ByteSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

Result<ByteSource> ByteSource::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path == "-" ? "standard input" : path;
  state->file = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (state->file < 0) return fail(ErrorKind::kUnreadable, "{}: cannot open: {}", path, std::strerror(errno));
  struct stat status {};
  if (::fstat(state->file, &status) == 0) {
    if (S_ISDIR(status.st_mode)) {
      return fail(ErrorKind::kUnreadable, "{}: is a folder, not a trace file; name a file in it", state->path);
    }
    if (S_ISREG(status.st_mode)) state->size_bytes = static_cast<uint64_t>(status.st_size);
  }
  state->input.resize(kInputBytes);
  TRY_STATUS(state->detect());
  if (state->input_ended) {
    return fail(ErrorKind::kUnreadable, "{}: the file is empty; was the profiler stopped before it exported?",
                state->path);
  }
  return ByteSource(std::move(state));
}

Result<ByteSource> ByteSource::of_memory(std::string_view bytes) {
  auto state = std::make_unique<State>();
  state->path = "memory";
  state->memory = bytes;
  state->size_bytes = bytes.size();
  TRY_STATUS(state->detect());
  if (state->input_ended) return fail(ErrorKind::kUnreadable, "memory: the trace is empty");
  return ByteSource(std::move(state));
}

Result<size_t> ByteSource::read(char* out, size_t size) {
  State& s = *state_;
  size_t filled = 0;
  while (filled < size && !s.ended) {
    TRY_STATUS(s.refill());
    filled += s.decode(out + filled, size - filled);
  }
  s.decoded_bytes += filled;
  if (s.decoded_bytes == 0 && !s.damage.empty()) {
    return fail(ErrorKind::kUnreadable, "{}: {} from its beginning; copy or export the file again", s.path, s.damage);
  }
  return filled;
}

const std::string& ByteSource::damage() const { return state_->damage; }
uint64_t ByteSource::raw_consumed_bytes() const { return state_->consumed_bytes; }
uint64_t ByteSource::raw_size_bytes() const { return state_->size_bytes; }

}  // namespace lumos
