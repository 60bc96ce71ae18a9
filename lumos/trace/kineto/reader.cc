#include "lumos/trace/kineto/reader.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <new>

#include "lumos/base/parallel.h"
#include "lumos/trace/kineto/byte_source.h"
#include "lumos/trace/kineto/event_parser.h"
#include "lumos/trace/kineto/metadata.h"
#include "lumos/trace/kineto/splitter.h"
#include "lumos/trace/kineto/table_builder.h"

namespace lumos {

namespace {

// Decompression is serial and as fast as a few parsers: more workers would only hold memory.
constexpr int kMaxWorkersPerFile = 8;
constexpr size_t kSparesPerFile = 2;  // Blocks beyond one per worker, so that nobody waits for a slow neighbour.

/// One file on its way through the stages. Any number of workers call run(); each takes whatever is to be done next:
/// append the oldest block when it is parsed, parse a block, or split off the next one. Splitting and appending are
/// serial, parsing is not. Blocks are appended in file order, so the table does not depend on who did what when.
class Pipeline {
 public:
  Pipeline(ByteSource source, const ReadOptions& options, size_t max_blocks)
      : splitter_(std::move(source), options.block_bytes), max_blocks_(max_blocks), stop_(options.stop) {}

  /// Where memory ends, one worker's end is the end of all: the others must not wait for its block.
  void run() {
    try {
      work_through();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      out_of_memory_ = true;
      changed_.notify_all();
      throw;
    }
  }

  const Status& status() const { return status_; }
  const DocumentInfo& document() const { return splitter_.info(); }
  TableBuilder& builder() { return builder_; }

 private:
  enum class Stage : uint8_t { kSplit, kParsing, kParsed };

  struct Work {
    TextBlock block;
    ParsedBlock parsed;
    Stage stage = Stage::kSplit;
    double progress = 1;
  };

  void work_through() {
    EventParser parser;
    std::unique_lock lock(mutex_);
    // Who waits is woken by whoever ends a block, and so sees a stop too.
    while (!out_of_memory_ && !stop_.stop_requested()) {
      if (can_append()) {
        append(lock);
      } else if (Work* work = next_to_parse()) {
        parse(lock, parser, *work);
      } else if (can_split()) {
        split(lock);
      } else if (is_done()) {
        return;
      } else {
        changed_.wait(lock);
      }
    }
  }

  bool can_append() const { return !is_appending_ && !queue_.empty() && queue_.front()->stage == Stage::kParsed; }
  bool can_split() const { return !is_splitting_ && !is_split_done_ && queue_.size() < max_blocks_; }
  bool is_done() const { return is_split_done_ && !is_splitting_ && queue_.empty(); }

  Work* next_to_parse() {
    for (auto& work : queue_) {
      if (work->stage == Stage::kSplit) return work.get();
    }
    return nullptr;
  }

  void append(std::unique_lock<std::mutex>& lock) {
    is_appending_ = true;
    Work& work = *queue_.front();
    lock.unlock();
    builder_.append(work.parsed, work.progress);
    lock.lock();
    spares_.push_back(std::move(queue_.front()));
    queue_.pop_front();
    is_appending_ = false;
    changed_.notify_all();
  }

  void parse(std::unique_lock<std::mutex>& lock, EventParser& parser, Work& work) {
    work.stage = Stage::kParsing;
    lock.unlock();
    parser.parse(work.block, work.parsed);
    lock.lock();
    work.stage = Stage::kParsed;
    changed_.notify_all();
  }

  void split(std::unique_lock<std::mutex>& lock) {
    is_splitting_ = true;
    std::unique_ptr<Work> work;
    if (spares_.empty()) {
      work = std::make_unique<Work>();
    } else {
      work = std::move(spares_.back());
      spares_.pop_back();
    }
    lock.unlock();
    Result<bool> more = splitter_.next(work->block);
    uint64_t size = splitter_.source().raw_size_bytes();
    if (size > 0)
      work->progress = static_cast<double>(splitter_.source().raw_consumed_bytes()) / static_cast<double>(size);
    lock.lock();
    is_splitting_ = false;
    if (more && *more) {
      work->stage = Stage::kSplit;
      queue_.push_back(std::move(work));
    } else {
      if (!more) status_ = tl::unexpected<Error>(std::move(more).error());
      is_split_done_ = true;
    }
    changed_.notify_all();
  }

  Splitter splitter_;
  TableBuilder builder_;
  size_t max_blocks_;
  std::stop_token stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Work>> queue_;  // in file order
  std::vector<std::unique_ptr<Work>> spares_;
  bool is_splitting_ = false;
  bool is_split_done_ = false;
  bool is_appending_ = false;
  bool out_of_memory_ = false;
  Status status_;
};

/// --strict: the first thing that was repaired or skipped, as an error.
Status check_strict(const EventTable& table) {
  const TraceInfo& info = table.info;
  if (!info.issues.empty()) {
    const ReadIssue& issue = info.issues.front();
    return fail(ErrorKind::kUnreadable, "{}: {} ({} in all, the first at byte {}); read it without --strict to go on",
                info.file, issue.reason, issue.count, issue.first_byte);
  }
  if (info.truncated) {
    return fail(ErrorKind::kUnreadable, "{}: the file is cut short after {} bytes; read it without --strict to go on",
                info.file, info.decoded_bytes);
  }
  return {};
}

Result<EventTable> read_source(ByteSource source, const std::string& label, const ReadOptions& options) {
  int workers = options.threads > 0 ? options.threads : default_threads();
  workers = std::min(workers, kMaxWorkersPerFile);
  Pipeline pipeline(std::move(source), options, static_cast<size_t>(workers) + kSparesPerFile);
  run_workers(static_cast<size_t>(workers), [&] { pipeline.run(); });
  if (options.stop.stop_requested()) return fail_interrupted();
  if (!pipeline.status()) {
    const Error& error = pipeline.status().error();
    return fail(error.kind, "{}", error.message);
  }
  const DocumentInfo& document = pipeline.document();
  if (!document.has_events && !document.is_truncated) {
    return fail(ErrorKind::kUnreadable, "{}: {}", label, describe_document(document));
  }
  if (!document.has_events) {
    return fail(ErrorKind::kUnreadable, "{}: cut short after {} bytes, before its first event; copy or export it again",
                label, document.decoded_bytes);
  }
  EventTable table = pipeline.builder().finish(document.damage);
  table.info.file = label;
  table.info.decoded_bytes = document.decoded_bytes;
  table.info.truncated = document.is_truncated;
  read_metadata(document, table.info);
  // Damage can look like an event; an array where nothing at all was readable is something else.
  if (table.info.events > 0 && table.info.events == table.info.skipped()) {
    return fail(ErrorKind::kUnreadable, "{}: not a Kineto trace: none of its {} array elements is a trace event", label,
                table.info.events);
  }
  if (options.strict) TRY_STATUS(check_strict(table));
  return table;
}

}  // namespace

Result<EventTable> read_trace_file(const std::string& path, const ReadOptions& options) {
  return read_source(TRY(ByteSource::open(path)), path, options);
}

Result<EventTable> read_trace_bytes(std::string_view bytes, const std::string& label, const ReadOptions& options) {
  return read_source(TRY(ByteSource::of_memory(bytes)), label, options);
}

Result<bool> looks_like_trace(const std::string& path) {
  constexpr size_t kLookBytes = 16 * 1024;  // Whoever looks reads the file afterwards, and so decodes this twice.
  Splitter splitter(TRY(ByteSource::open(path)), kLookBytes);
  TextBlock block;
  if (!TRY(splitter.next(block))) return splitter.info().is_truncated;
  // Any list of objects is a bare array; only events have a phase.
  return !splitter.info().is_array || block.text().find("\"ph\"") != std::string_view::npos;
}

}  // namespace lumos
