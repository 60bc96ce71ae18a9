// The program `lumos-mpi`: a search by all ranks that mpirun or srun starts. Rank 0 deals parts of the search to
// whoever is free, collects what they found and prints the answer; the others run `lumos search --shard` in a folder of
// their own, so that nothing but rank 0's disk has to be seen by anybody else. All of MPI is in this file.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "lumos/base/file.h"
#include "lumos/cli/command.h"
#include "lumos/cli/parse.h"
#include "lumos/search/results_file.h"

namespace {

using namespace lumos;

/// Parts per worker: enough that a slow machine or an expensive part does not hold up the others for long.
constexpr int kPartsPerWorker = 4;

enum Tag : int { kFirstRequest, kPartDone, kPartFailed, kOrder };
constexpr int kNoMore = 0;

using Words = std::vector<std::string>;

Status run_lumos(const Words& words, Console& console) {
  // The table holds what the options are stored in, so every run makes its own.
  const std::vector<Command> commands = make_commands();
  const Invocation invocation = TRY(parse_command_line(commands, words));
  if (invocation.command != nullptr) return invocation.command->run(console);
  console.print(invocation.text);
  return {};
}

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The value of "--name VALUE" or "--name=VALUE", which is taken out of `words`; "" when it is not there.
std::string take_option(Words& words, const std::string& name) {
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t length = words[i] == name && i + 1 < words.size() ? 2 : 1;
    if (length == 1 && !words[i].starts_with(name + "=")) continue;
    const std::string value = length == 2 ? words[i + 1] : words[i].substr(name.size() + 1);
    words.erase(words.begin() + static_cast<long>(i), words.begin() + static_cast<long>(i + length));
    return value;
  }
  return "";
}

/// A folder that is gone with the object.
class ScratchFolder {
 public:
  ScratchFolder() : path_(std::filesystem::temp_directory_path() / fmt::format("lumos-mpi-{}", getpid())) {
    std::error_code ignored;  // writing into a folder that could not be made says why
    std::filesystem::create_directories(path_, ignored);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

void send(const std::string& text, Tag tag) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, tag, MPI_COMM_WORLD);
}

/// The results of one part as a file's text.
Result<std::string> search_part(const Words& words, const Shard& shard, const ScratchFolder& scratch) {
  Console silent{[](std::string_view) {}, [](std::string_view) {}};
  const std::string results = scratch.file("results.jsonl");
  TRY_STATUS(run_lumos(with(words, {"--results", results, "--shard", fmt::format("{}/{}", shard.index, shard.count)}),
                       silent));
  return read_file(shard_path(results, shard));
}

void work(const Words& words, int num_parts) {
  const ScratchFolder scratch;
  send("", kFirstRequest);
  for (;;) {
    int part = kNoMore;
    MPI_Recv(&part, 1, MPI_INT, 0, kOrder, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (part == kNoMore) return;
    const Result<std::string> found = search_part(words, {part, num_parts}, scratch);
    found ? send(*found, kPartDone) : send(found.error().message, kPartFailed);
  }
}

struct Message {
  int from = 0;
  int tag = 0;
  std::string text;
};

Message receive() {
  MPI_Status status;
  MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  Message message{status.MPI_SOURCE, status.MPI_TAG, std::string(static_cast<size_t>(size), '\0')};
  MPI_Recv(message.text.data(), size, MPI_CHAR, message.from, message.tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return message;
}

/// Deals the parts that are not on disk yet and stores what comes back. Every worker is told to stop, also when one has
/// failed; then the first failure is the error.
Status deal_parts(int num_ranks, int num_parts, const std::string& results) {
  std::vector<int> waiting;
  for (int part = num_parts; part >= 1; --part) {
    if (access(shard_path(results, {part, num_parts}).c_str(), F_OK) != 0) waiting.push_back(part);
  }
  std::vector<int> part_of(static_cast<size_t>(num_ranks), kNoMore);
  Status outcome;
  for (int working = num_ranks - 1; working > 0;) {
    const Message message = receive();
    int& part = part_of[static_cast<size_t>(message.from)];
    Status stored;
    if (message.tag == kPartDone) stored = write_file(shard_path(results, {part, num_parts}), message.text);
    if (message.tag == kPartFailed) stored = fail(ErrorKind::kFailed, "rank {}: {}", message.from, message.text);
    if (!stored && outcome) outcome = stored;
    part = kNoMore;
    if (outcome && !waiting.empty()) {
      part = waiting.back();
      waiting.pop_back();
    } else {
      --working;
    }
    MPI_Send(&part, 1, MPI_INT, message.from, kOrder, MPI_COMM_WORLD);
  }
  return outcome;
}

/// Joins the parts with what `results` held before, and takes them away.
Status join_parts(int num_parts, const std::string& results) {
  Words parts;
  for (int part = 1; part <= num_parts; ++part) parts.push_back(shard_path(results, {part, num_parts}));
  Words sources = parts;
  if (access(results.c_str(), F_OK) == 0) sources.push_back(results);
  Words dropped;
  TRY_STATUS(write_file(results, TRY(merge_results(sources, &dropped))));
  for (const std::string& part : parts) unlink(part.c_str());
  return {};
}

Status lead(Words words, std::string results, int num_ranks, int num_parts) {
  const ScratchFolder scratch;
  if (results.empty()) results = scratch.file("results.jsonl");
  TRY_STATUS(deal_parts(num_ranks, num_parts, results));
  if (num_ranks > 1) TRY_STATUS(join_parts(num_parts, results));
  Console console{[](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); },
                  [](std::string_view text) {
                    std::fprintf(stderr, "lumos-mpi: %.*s\n", static_cast<int>(text.size()), text.data());
                  }};
  return run_lumos(with(std::move(words), {"--results", results}), console);
}

Status run(Words words, int rank, int num_ranks) {
  if (words.empty() || words[0] != "search") {
    return fail(ErrorKind::kUsage, "usage: mpirun -n N lumos-mpi search ...; see 'lumos search --help'");
  }
  if (!take_option(words, "--shard").empty()) return fail(ErrorKind::kUsage, "--shard is what lumos-mpi does itself");
  const std::string results = take_option(words, "--results");
  const int num_parts = std::max(1, (num_ranks - 1) * kPartsPerWorker);
  if (rank > 0) return work(words, num_parts), Status();
  return lead(std::move(words), results, num_ranks, num_parts);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, num_ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  const Status status = run(Words(argv + 1, argv + argc), rank, num_ranks);
  // Errors before any part is dealt are the same on all ranks; one says it.
  if (!status && rank == 0) std::fprintf(stderr, "lumos-mpi: %s\n", status.error().message.c_str());
  std::fflush(stdout);
  MPI_Finalize();
  return status ? 0 : static_cast<int>(status.error().kind);
}
