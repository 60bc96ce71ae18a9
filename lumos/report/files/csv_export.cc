#include "lumos/report/files/csv_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "lumos/graph/host/collective.h"
#include "lumos/report/figures/breakdown.h"
#include "lumos/report/figures/busy.h"
#include "lumos/report/figures/kind_names.h"
#include "lumos/report/figures/row_times.h"
#include "lumos/report/figures/steps.h"
#include "lumos/report/files/overlay.h"
#include "lumos/sim/replayed_table.h"
#include "lumos/trace/table/collective_names.h"
#include "lumos/trace/write/output_file.h"

namespace lumos {

namespace {

/// A file of lines with the same number of fields.
class CsvFile {
 public:
  static Result<CsvFile> open(const std::string& path, std::string_view header) {
    CsvFile csv(TRY(OutputFile::open(path)));
    csv.line_ = std::string(header) + "\n";
    return csv;
  }

  CsvFile& text(std::string_view value) { return raw(csv_field(value)); }
  CsvFile& number(int64_t value) { return raw(fmt::format_int(value).c_str()); }
  CsvFile& real(double value) { return raw(fmt::format("{:.6g}", value)); }
  CsvFile& number_unless(int64_t value, int64_t unknown) { return value == unknown ? raw("") : number(value); }
  CsvFile& raw(std::string_view field) {
    if (!first_) line_ += ',';
    first_ = false;
    line_ += field;
    return *this;
  }
  void end_line() {
    constexpr size_t kBufferBytes = 1 << 18;
    line_ += '\n';
    first_ = true;
    if (line_.size() > kBufferBytes) flush();
  }
  Status close() {
    flush();
    return file_.close();
  }

 private:
  explicit CsvFile(OutputFile file) : file_(std::move(file)) {}
  void flush() {
    file_.write(line_);
    line_.clear();
  }

  OutputFile file_;
  std::string line_;
  bool first_ = true;
};

Status write_steps(const ExecGraph& graph, const Timeline& timeline, const std::string& path) {
  CsvFile csv = TRY(CsvFile::open(
      path, "rank,step,chosen,left_out_reason,measured_start_ns,measured_ns,replayed_start_ns,replayed_ns"));
  for (const RankTasks& rank : graph.ranks) {
    for (const Step& step : rank.steps) {
      const Window measured = measured_window(graph, rank, step);
      const Window replayed = simulated_window(timeline, step);
      csv.number(rank.rank).text(step.name).number(int64_t{step.chosen}).text(step.left_out_reason);
      csv.number(measured.start_ns).number(measured.length_ns());
      csv.number(replayed.start_ns).number(replayed.length_ns()).end_line();
    }
  }
  return csv.close();
}

void breakdown_line(CsvFile& csv, const RankTasks& rank, const Step& step, std::string_view run, const Breakdown& b) {
  csv.number(rank.rank).text(step.name).raw(run).number(b.exposed_compute_ns).number(b.overlapped_ns);
  csv.number(b.exposed_comm_ns).number(b.other_ns).number(b.total_ns()).end_line();
}

Status write_breakdown(const ExecGraph& graph, const Timeline& timeline, const std::string& path) {
  CsvFile csv =
      TRY(CsvFile::open(path, "rank,step,run,exposed_compute_ns,overlapped_ns,exposed_comm_ns,other_ns,step_ns"));
  for (uint32_t r = 0; r < graph.ranks.size(); ++r) {
    const RankTasks& rank = graph.ranks[r];
    const std::vector<BusyInterval> measured = busy_intervals(*rank.table);
    const std::vector<BusyInterval> replayed = busy_intervals(replayed_table(graph, timeline, r));
    std::span<const BusyInterval> measured_left = measured, replayed_left = replayed;
    for (uint32_t s : chosen_steps(rank)) {
      const Step& step = rank.steps[s];
      const Window before = measured_window(graph, rank, step), after = simulated_window(timeline, step);
      skip_before(measured_left, before.start_ns);
      skip_before(replayed_left, after.start_ns);
      breakdown_line(csv, rank, step, "measured", breakdown(measured_left, before));
      breakdown_line(csv, rank, step, "replayed", breakdown(replayed_left, after));
    }
  }
  return csv.close();
}

void collective_line(CsvFile& csv, const RankTasks& rank, uint32_t row, const RowTimes& replayed) {
  const EventTable& table = *rank.table;
  const CollectiveDetail silent;
  const CollectiveDetail* detail = table.collective_detail(row);
  const CollectiveDetail& c = detail != nullptr ? *detail : silent;
  const int64_t bytes = collective_bytes(table, c);
  csv.number(rank.rank).text(table.text(c.collective)).text(table.text(c.group_name)).text(table.text(c.group_desc));
  csv.number_unless(c.group_size, -1).number_unless(c.sequence, -1).text(table.text(c.dtype)).number_unless(bytes, 0);
  csv.text(table.text(table.lanes[table.lane[row]].tid_text)).text(table.name_of(row));
  csv.number(table.ts_ns[row]).number(table.dur_ns[row]);
  const bool simulated = replayed.start_ns <= replayed.end_ns;
  csv.number_unless(simulated ? replayed.start_ns : -1, -1);
  csv.number_unless(simulated ? replayed.end_ns - replayed.start_ns : -1, -1);
  if (bytes > 0 && table.dur_ns[row] > 0) {
    csv.real(static_cast<double>(bytes) / static_cast<double>(table.dur_ns[row]));  // bytes per ns are GB/s
  } else {
    csv.raw("");
  }
  csv.end_line();
}

Status write_collectives(const ExecGraph& graph, const Timeline& timeline, const std::string& path) {
  CsvFile csv =
      TRY(CsvFile::open(path,
                        "rank,collective,group,group_description,group_size,sequence,dtype,bytes,stream,kernel,"
                        "measured_start_ns,measured_ns,replayed_start_ns,replayed_ns,measured_gb_per_s"));
  for (const RankTasks& rank : graph.ranks) {
    const std::vector<uint8_t> communicates = communication_rows(*rank.table);
    const std::vector<RowTimes> replayed = replayed_rows(graph, timeline, rank);
    for (uint32_t row = 0; row < rank.table->size(); ++row) {
      if (communicates[row] != 0) collective_line(csv, rank, row, replayed[row]);
    }
  }
  return csv.close();
}

void task_line(CsvFile& csv, const ExecGraph& graph, const Timeline& timeline, const RankTasks& rank, uint32_t task) {
  const EventTable& table = *rank.table;
  const uint32_t row = graph.event[task];
  csv.number(rank.rank).number(int64_t{task}).raw(task_kind_name(graph.kind[task]));
  csv.text(row == kNoIndex ? "" : table.name_of(row));
  if (graph.processor[task] == kNoProcessor) {
    csv.raw("").raw("");
  } else {
    const Processor& processor = graph.processors[graph.processor[task]];
    csv.raw(processor.is_gpu ? "stream" : "thread").text(table.text(table.lanes[processor.lane].tid_text));
  }
  csv.number(graph.measured_start_ns[task]).number(measured_end_ns(graph, rank, task));
  csv.number(timeline.start_ns[task]).number(timeline.end_ns[task]);
  const uint32_t binding = timeline.binding[task];
  if (binding == kNoIndex) {
    csv.raw("").raw("");
  } else {
    csv.number(int64_t{graph.edges[binding].source}).raw(edge_kind_name(graph.edges[binding].kind));
  }
  csv.end_line();
}

Status write_tasks(const ExecGraph& graph, const Timeline& timeline, const std::string& path) {
  CsvFile csv = TRY(CsvFile::open(path,
                                  "rank,task,kind,name,processor,processor_id,measured_start_ns,measured_end_ns,"
                                  "replayed_start_ns,replayed_end_ns,waited_for_task,waited_for"));
  for (const RankTasks& rank : graph.ranks) {
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) task_line(csv, graph, timeline, rank, task);
  }
  return csv.close();
}

}  // namespace

Result<std::vector<std::string>> write_csv_files(const ExecGraph& graph, const Timeline& timeline,
                                                 const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorKind::kFailed, "{}: cannot make this folder: {}", folder, error.message());
  std::vector<std::string> files;
  using Writer = Status (*)(const ExecGraph&, const Timeline&, const std::string&);
  static constexpr std::pair<const char*, Writer> kFiles[] = {{"steps.csv", write_steps},
                                                              {"breakdown.csv", write_breakdown},
                                                              {"collectives.csv", write_collectives},
                                                              {"tasks.csv", write_tasks}};
  for (const auto& [name, write] : kFiles) {
    files.push_back(fmt::format("{}/{}", folder, name));
    TRY_STATUS(write(graph, timeline, files.back()));
  }
  return files;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace lumos
