#include "lumos/whatif/times/kernel_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

#include "lumos/base/csv.h"
#include "lumos/sim/overlap.h"
#include "lumos/trace/table/nesting.h"
#include "lumos/whatif/times/launching_operator.h"
#include "lumos/whatif/times/name_match.h"

namespace lumos {

namespace {

constexpr int64_t kLongestUs = 3'600'000'000;  // an hour: longer is another unit

std::string without_spaces(std::string_view text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out), [](char c) { return c != ' '; });
  return out;
}

std::string grid_text(const GpuDetail* detail) {
  return detail == nullptr ? "" : fmt::format("{}x{}x{}", detail->grid[0], detail->grid[1], detail->grid[2]);
}

Result<int64_t> time_ns_of(std::string_view text, const std::string& where) {
  double us = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), us);
  if (error != std::errc() || end != text.data() + text.size() || !(us > 0) || us > kLongestUs) {
    return fail(ErrorKind::kUsage,
                "{}: time_us '{}' is no time that a kernel takes: write microseconds above 0, up to an hour", where,
                text);
  }
  return std::llround(us * 1e3);
}

Result<KernelTime> row_of(const CsvTable& table, size_t row) {
  const std::string where = fmt::format("{}:{}", table.source, table.lines[row]);
  const auto cell = [&](std::string_view name) {
    const int column = table.find_column(name);
    return column < 0 ? std::string() : table.rows[row][static_cast<size_t>(column)];
  };
  KernelTime time;
  time.line = table.lines[row];
  if (cell("kernel").empty()) return fail(ErrorKind::kUsage, "{}: the cell of column kernel is empty", where);
  time.kernel = TRY(compile_pattern(where, cell("kernel")));
  if (!cell("op").empty()) time.op = TRY(compile_pattern(where, cell("op")));
  time.input_dims = without_spaces(cell("input_dims"));
  time.grid = without_spaces(cell("grid"));
  time.time_ns = TRY(time_ns_of(cell("time_us"), where));
  return time;
}

/// Rows against the kernels of one rank; a regular expression sees each name once.
class RowMatcher {
 public:
  RowMatcher(const EventTable& table, const KernelTimes& times)
      : table_(table), nested_(nesting(table)), times_(times) {
    for (const KernelTime& time : times.rows) {
      kernels_.emplace_back(*table.names, time.kernel);
      if (time.op) ops_.try_emplace(ops_.size(), *table.names, *time.op);
      op_of_row_.push_back(time.op ? static_cast<int>(ops_.size()) - 1 : -1);
    }
  }

  bool matches(size_t r, uint32_t kernel_row, uint32_t launching_row) {
    const KernelTime& time = times_.rows[r];
    if (!kernels_[r].matches(table_.name[kernel_row])) return false;
    if (!time.grid.empty() && grid_text(table_.gpu_detail(kernel_row)) != time.grid) return false;
    if (time.op) {
      NameMatcher& op = ops_.at(static_cast<size_t>(op_of_row_[r]));
      const auto wanted = [&](uint32_t at) {
        return table_.kind[at] == EventKind::kCpuOp && op.matches(table_.name[at]);
      };
      if (first_around(nested_, launching_row, wanted) == kNoIndex) return false;
    }
    if (time.input_dims.empty()) return true;
    const auto same_dims = [&](uint32_t at) {
      const OpDetail* detail = table_.op_detail(at);
      return detail != nullptr && detail->input_dims != kNoName &&
             without_spaces(table_.text(detail->input_dims)) == time.input_dims;
    };
    return first_around(nested_, launching_row, same_dims) != kNoIndex;
  }

 private:
  const EventTable& table_;
  const Nesting nested_;
  const KernelTimes& times_;
  std::vector<NameMatcher> kernels_;
  std::map<size_t, NameMatcher> ops_;
  std::vector<int> op_of_row_;
};

}  // namespace

Result<KernelTimes> read_kernel_times(const std::string& path) {
  const CsvTable table = TRY(read_csv_file(path));
  constexpr std::string_view kColumns[] = {"kernel", "op", "input_dims", "grid", "time_us"};
  for (const std::string& column : table.columns) {
    if (std::find(std::begin(kColumns), std::end(kColumns), column) == std::end(kColumns)) {
      return fail(ErrorKind::kUsage,
                  "{}:{}: column '{}' is not known; there are kernel, op, input_dims, grid and time_us", path,
                  table.header_line, column);
    }
  }
  for (std::string_view required : {"kernel", "time_us"}) {
    if (table.find_column(required) < 0) {
      return fail(ErrorKind::kUsage, "{}:{}: no column {}", path, table.header_line, required);
    }
  }
  KernelTimes times;
  times.source = path;
  for (size_t row = 0; row < table.rows.size(); ++row) times.rows.push_back(TRY(row_of(table, row)));
  return times;
}

Retiming with_kernel_times(const LinkedJob& job, const KernelTimes& times) {
  const ExecGraph& graph = job.linked.graph;
  Retiming out(graph.size());
  std::vector<bool> used(times.rows.size(), false);
  for (const RankTasks& rank : graph.ranks) {
    RowMatcher matcher(*rank.table, times);
    const std::vector<uint32_t> launched_by = launching_rows(graph, rank);
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      if (!is_compute_task(graph.kind[task]) || graph.event[task] == kNoIndex || graph.duration_ns[task] <= 0) continue;
      for (size_t r = 0; r < times.rows.size(); ++r) {
        if (!matcher.matches(r, graph.event[task], launched_by[task - rank.first_task])) continue;
        used[r] = true;
        out.touch(task, static_cast<double>(times.rows[r].time_ns) / static_cast<double>(graph.duration_ns[task]));
      }
    }
  }
  for (size_t r = 0; r < used.size(); ++r) {
    if (!used[r]) out.notes.push_back(fmt::format("{}:{} means no kernel", times.source, times.rows[r].line));
  }
  return out;
}

}  // namespace lumos
