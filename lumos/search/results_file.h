// Results of a search on disk: one JSON object per line and evaluated configuration, appended as they come, so that a
// search that was killed goes on where it was. Written and read by search; parts of several searches are joined by
// merge_results.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/search/search.h"

namespace lumos {

/// One line without its end. `names` are the settings of the job that go into it, for people and for other tools.
std::string result_line(const Outcome& outcome, const Job& job, const std::vector<std::string>& names);

/// The outcome of a line. Errors (kUnreadable) say what is wrong with it.
Result<Outcome> parse_result_line(std::string_view line);

/// The whole lines of a results file, in order.
struct ResultLines {
  struct Line {
    Outcome outcome;
    std::string text;
  };
  std::vector<Line> lines;
  size_t size_bytes = 0;      ///< of the whole lines
  bool dropped_last = false;  ///< what follows them is a line that a killed process did not finish
};

/// Reads a results file. A last line without its end, or that cannot be read, is left out; any other such line is an
/// error (kUnreadable), because it is not what a killed search leaves behind.
Result<ResultLines> read_results(const std::string& path);

/// A results file that grows, locked against other searches while it is open.
class ResultsFile {
 public:
  /// Goes on with `path`, or begins it. With `final_path`, the file has that name once finish() has been called, and
  /// what already has it is gone on with. A damaged last line is cut off. Errors: kFailed where another search writes
  /// to it, and with the system's reason.
  static Result<ResultsFile> open(const std::string& path, const std::string& final_path);

  const KnownOutcomes& known() const { return known_; }
  bool dropped_last() const { return dropped_last_; }
  const std::string& path() const { return path_; }

  /// Appends whole lines and hands them to the system, which keeps them if this process dies.
  Status append(const std::vector<std::string>& lines);
  Status finish();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string path_, final_path_;
  KnownOutcomes known_;
  bool dropped_last_ = false;
  std::unique_ptr<std::FILE, Closer> file_;
};

/// Lines of all files, each id once, sorted by id: the same text for any order of the files. Errors: kUnreadable as
/// read_results, kFailed when two files say different things about one id. `dropped` receives the files whose last line
/// was damaged.
Result<std::string> merge_results(const std::vector<std::string>& paths, std::vector<std::string>* dropped);

}  // namespace lumos
