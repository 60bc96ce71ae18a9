#include "lumos/trace/kineto/byte_source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "lumos/trace/kineto/test_files.h"

namespace lumos {
namespace {

std::string read_all(ByteSource& source, size_t at_once) {
  std::string out;
  std::string buffer(at_once, '\0');
  for (;;) {
    auto got = source.read(buffer.data(), at_once);
    if (!got || *got == 0) return out;
    out.append(buffer, 0, *got);
  }
}

std::string sample(size_t size) {
  std::string text;
  for (uint32_t i = 0; text.size() < size; ++i) text += fmt::format("{{\"ph\": {}}},", i * 2654435761u);
  return text;
}

TEST(ByteSource, PlainAndGzipReadTheSameInPiecesOfAnySize) {
  std::string text = sample(300'000);
  std::string packed = gzipped(text);
  EXPECT_LT(packed.size(), text.size());
  for (size_t at_once : {1000, 65536, 1 << 20}) {
    for (const std::string& bytes : {text, packed}) {
      auto source = ByteSource::of_memory(bytes);
      ASSERT_TRUE(source);
      EXPECT_EQ(read_all(*source, at_once), text);
      EXPECT_EQ(source->damage(), "");
    }
  }
}

TEST(ByteSource, GzipMembersFollowEachOtherAndPaddingEndsThem) {
  std::string bytes = gzipped("first ") + gzipped("") + gzipped(sample(100'000)) + std::string(512, '\0');
  auto source = ByteSource::of_memory(bytes);
  ASSERT_TRUE(source);
  EXPECT_EQ(read_all(*source, 4096), "first " + sample(100'000));
  EXPECT_EQ(source->damage(), "");
}

TEST(ByteSource, ACutGzipGivesItsBeginningAndSaysSo) {
  std::string text = sample(300'000);
  std::string packed = gzipped(text);
  size_t before = 0;
  for (size_t cut : {packed.size() / 4, packed.size() / 2, packed.size() - 9}) {
    auto source = ByteSource::of_memory(std::string_view(packed).substr(0, cut));
    ASSERT_TRUE(source);
    std::string got = read_all(*source, 1 << 16);
    EXPECT_GT(got.size(), before);
    EXPECT_EQ(got, text.substr(0, got.size()));
    EXPECT_EQ(source->damage(), "the gzip stream is cut short");
    before = got.size();
  }
}

TEST(ByteSource, DamagedGzipStopsThere) {
  std::string packed = gzipped(sample(300'000));
  std::string broken_sum = packed;
  broken_sum[packed.size() - 6] ^= 1;
  auto source = ByteSource::of_memory(broken_sum);
  ASSERT_TRUE(source);
  EXPECT_EQ(read_all(*source, 1 << 16), sample(300'000));
  EXPECT_EQ(source->damage(), "the gzip checksum does not match");
}

// A file is read in pieces of 256 KiB: a member may end at, just before or just behind the end of one.
TEST(ByteSource, GzipMembersMayEndWhereAPieceOfTheFileDoes) {
  constexpr size_t kPiece = 256 * 1024;
  TraceFolder folder;
  const std::string second = gzipped("second");
  for (size_t end : {kPiece - 2, kPiece - 1, kPiece, kPiece + 1}) {
    // The name in the header makes a member of any length; it ends with a zero byte.
    std::string first = gzipped("first ");
    first[3] = static_cast<char>(first[3] | 8);
    first.insert(10, std::string(end - first.size() - 1, 'x') + std::string(1, '\0'));
    ASSERT_EQ(first.size(), end);
    folder.write("edge.json", first + second);
    auto source = ByteSource::open(folder.path("edge.json"));
    ASSERT_TRUE(source);
    EXPECT_EQ(read_all(*source, 4096), "first second") << end;
    EXPECT_EQ(source->damage(), "") << end;
  }
}

// Pipes give what was written at once, be it one byte.
TEST(ByteSource, APipeMayGiveItsFirstByteAlone) {
  TraceFolder folder;
  const std::string path = folder.path("pipe.json.gz");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const std::string bytes = gzipped("through a pipe");
  std::thread writer([&] {
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    for (const char& byte : bytes) ASSERT_EQ(::write(file, &byte, 1), 1);
    ::close(file);
  });
  auto source = ByteSource::open(path);
  ASSERT_TRUE(source);
  EXPECT_EQ(read_all(*source, 4096), "through a pipe");
  writer.join();
}

/// A zstd frame that holds `text` (under 256 bytes) in one raw block.
std::string zstd_frame(const std::string& text) {
  auto block_header = static_cast<uint32_t>(text.size() << 3 | 1);  // the last block, of raw bytes
  std::string frame("\x28\xb5\x2f\xfd\x20", 5);
  frame += static_cast<char>(text.size());
  for (int byte = 0; byte < 3; ++byte) frame += static_cast<char>(block_header >> (8 * byte));
  return frame + text;
}

TEST(ByteSource, ZstdFramesReadOrSayWhatToDo) {
  std::string bytes = zstd_frame("first ") + zstd_frame("second");
  auto source = ByteSource::of_memory(bytes);
  if (!source) {  // built without zstd
    EXPECT_NE(source.error().message.find("unzstd"), std::string::npos);
    return;
  }
  EXPECT_EQ(read_all(*source, 4), "first second");
  EXPECT_EQ(source->damage(), "");
  auto cut = ByteSource::of_memory(std::string_view(bytes).substr(0, bytes.size() - 3));
  ASSERT_TRUE(cut);
  EXPECT_EQ(read_all(*cut, 4).substr(0, 6), "first ");
  EXPECT_EQ(cut->damage(), "the zstd stream is cut short");
}

TEST(ByteSource, GarbageBehindAGzipHeaderIsAnError) {
  std::string bytes = "\x1f\x8b\x08\xff garbage that is no deflate stream at all";
  auto source = ByteSource::of_memory(bytes);
  ASSERT_TRUE(source);
  char out[100];
  auto got = source->read(out, sizeof(out));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::kUnreadable);
}

TEST(ByteSource, MissingEmptyAndFolderAreOneClearMessage) {
  TraceFolder folder;
  folder.write("empty.json", "");
  auto missing = ByteSource::open(folder.path("missing.json"));
  auto empty = ByteSource::open(folder.path("empty.json"));
  auto directory = ByteSource::open(folder.path(""));
  ASSERT_FALSE(missing);
  ASSERT_FALSE(empty);
  ASSERT_FALSE(directory);
  EXPECT_NE(missing.error().message.find("No such file"), std::string::npos);
  EXPECT_NE(empty.error().message.find("empty"), std::string::npos);
  EXPECT_NE(directory.error().message.find("folder"), std::string::npos);
}

}  // namespace
}  // namespace lumos
