// The program `lumos-mpi`: a search or a link by all ranks that mpirun or srun starts. Rank 0 deals parts to whoever is
// free, collects what they made and finishes the work; the others run `lumos search --shard` or `lumos link --shard` in
// a folder of their own, so that of what is written nothing but rank 0's disk has to be seen by anybody else. All of
// MPI is in this file.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "lumos/base/file.h"
#include "lumos/cli/arguments/command.h"
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

/// What the ranks share: parts of a command that each writes to a file.
struct Work {
  Words words;           // of the command, without what parts are written to
  std::string out_name;  // the option that takes the file: "--results", "--out"
  int num_parts = 1;
};

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

/// MPI counts in int: a file goes in pieces, and the one that is not full is the last.
constexpr size_t kPieceBytes = size_t{256} << 20;

void send(const std::string& text, Tag tag) {
  size_t begin = 0, size = 0;
  do {
    size = std::min(kPieceBytes, text.size() - begin);
    MPI_Send(text.data() + begin, static_cast<int>(size), MPI_CHAR, 0, tag, MPI_COMM_WORLD);
    begin += size;
  } while (size == kPieceBytes);
}

/// The file of one part.
Result<std::string> do_part(const Work& work, const Shard& shard, const ScratchFolder& scratch) {
  Console silent{[](std::string_view) {}, [](std::string_view) {}};
  const std::string out = scratch.file("part");
  TRY_STATUS(run_lumos(
      with(work.words, {work.out_name, out, "--shard", fmt::format("{}/{}", shard.index, shard.count)}), silent));
  const std::string path = shard_path(out, shard);
  Result<std::string> content = read_file(path);
  unlink(path.c_str());
  return content;
}

void serve(const Work& work) {
  const ScratchFolder scratch;
  send("", kFirstRequest);
  for (;;) {
    int part = kNoMore;
    MPI_Recv(&part, 1, MPI_INT, 0, kOrder, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (part == kNoMore) return;
    const Result<std::string> found = do_part(work, {part, work.num_parts}, scratch);
    found ? send(*found, kPartDone) : send(found.error().message, kPartFailed);
  }
}

struct Message {
  int from = 0;
  int tag = 0;
  std::string text;
};

Message receive() {
  Message message{MPI_ANY_SOURCE, MPI_ANY_TAG, ""};
  int size = 0;
  do {
    MPI_Status status;
    MPI_Probe(message.from, message.tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &size);
    message.from = status.MPI_SOURCE;
    message.tag = status.MPI_TAG;
    const size_t before = message.text.size();
    message.text.resize(before + static_cast<size_t>(size));
    MPI_Recv(message.text.data() + before, size, MPI_CHAR, message.from, message.tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  } while (static_cast<size_t>(size) == kPieceBytes);
  return message;
}

/// Deals the parts that are not on disk yet and stores what comes back. Every worker is told to stop, also when one has
/// failed; then the first failure is the error.
Status deal_parts(int num_ranks, int num_parts, const std::string& out) {
  std::vector<int> waiting;
  for (int part = num_parts; part >= 1; --part) {
    if (access(shard_path(out, {part, num_parts}).c_str(), F_OK) != 0) waiting.push_back(part);
  }
  std::vector<int> part_of(static_cast<size_t>(num_ranks), kNoMore);
  Status outcome;
  for (int working = num_ranks - 1; working > 0;) {
    const Message message = receive();
    int& part = part_of[static_cast<size_t>(message.from)];
    Status stored;
    if (message.tag == kPartDone) stored = write_file(shard_path(out, {part, num_parts}), message.text);
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

Console talking_console() {
  return {[](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); },
          [](std::string_view text) {
            std::fprintf(stderr, "lumos-mpi: %.*s\n", static_cast<int>(text.size()), text.data());
          }};
}

/// Joins the parts and searches what is still missing, which is nothing but the simulation of the best.
Status lead_search(const Work& work, std::string results, int num_ranks) {
  const ScratchFolder scratch;
  if (results.empty()) results = scratch.file("results.jsonl");
  TRY_STATUS(deal_parts(num_ranks, work.num_parts, results));
  if (num_ranks > 1) TRY_STATUS(join_parts(work.num_parts, results));
  Console console = talking_console();
  TRY_STATUS(run_lumos(with(work.words, {"--results", results}), console));
  // The simulated ones came last; in order, the file is the same for any number of ranks.
  Words dropped;
  return num_ranks > 1 ? write_file(results, TRY(merge_results({results}, &dropped))) : Status();
}

/// Links the ranks of all parts with each other.
Status lead_link(const Work& work, const std::string& out, bool as_json, int num_ranks) {
  Console console = talking_console();
  const Words kept = with(out.empty() ? Words{} : Words{"--out", out}, as_json ? Words{"--json"} : Words{});
  if (num_ranks == 1) return run_lumos(with(work.words, kept), console);
  const ScratchFolder scratch;
  const std::string part = scratch.file("part.lumos");
  TRY_STATUS(deal_parts(num_ranks, work.num_parts, part));
  Words words = {"link"};
  for (int i = 1; i <= work.num_parts; ++i) words.push_back(shard_path(part, {i, work.num_parts}));
  return run_lumos(with(words, kept), console);
}

/// Takes a switch out of `words`; whether it was there.
bool take_switch(Words& words, const std::string& name) { return std::erase(words, name) > 0; }

Status run(Words words, int rank, int num_ranks) {
  if (words.empty() || (words[0] != "search" && words[0] != "link")) {
    return fail(
        ErrorKind::kUsage,
        "usage: mpirun -n N lumos-mpi search ... or link ...; see 'lumos search --help' and 'lumos link --help'");
  }
  if (!take_option(words, "--shard").empty()) return fail(ErrorKind::kUsage, "--shard is what lumos-mpi does itself");
  Work work;
  if (words[0] == "search") {
    const std::string results = take_option(words, "--results");
    work = {std::move(words), "--results", std::max(1, (num_ranks - 1) * kPartsPerWorker)};
    return rank > 0 ? (serve(work), Status()) : lead_search(work, results, num_ranks);
  }
  const std::string out = take_option(words, "--out");
  const bool as_json = take_switch(words, "--json");
  // One part per worker: whoever links many ranks reads them once, and a part cannot be empty.
  work = {std::move(words), "--out", std::max(1, num_ranks - 1)};
  return rank > 0 ? (serve(work), Status()) : lead_link(work, out, as_json, num_ranks);
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
