#include "lumos/whatif/gains/host_layers.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "lumos/graph/host/host_program.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

namespace {

/// A stretch of a thread's measured time.
struct Span {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

/// A part of an operator sequence that repeats: `period` operators, as often as there are layers.
struct Repetition {
  uint32_t first = 0;
  uint32_t period = 0;
  int64_t time_ns = 0;
};

/// One step of one rank: its outermost operators, in order.
struct StepOperators {
  uint32_t lane = 0;
  Span window;
  std::vector<uint32_t> rows;
};

bool begins_with(const EventTable& table, uint32_t row, std::string_view prefix) {
  return table.name_of(row).starts_with(prefix);
}

/// Elements of the first tensor of "[[512,128]]".
int64_t first_elements(std::string_view dims) {
  const size_t begin = dims.find_first_of("0123456789");
  if (begin == std::string_view::npos) return 0;
  int64_t product = 1, value = 0;
  for (char c : dims.substr(begin)) {
    if (c >= '0' && c <= '9') {
      value = 10 * value + (c - '0');
    } else if (c == ',' || c == ']') {
      product *= value;
      value = 0;
      if (c == ']') break;
    }
  }
  return product;
}

/// What changes in the steps of one rank.
class RankLayers {
 public:
  RankLayers(const RankTasks& rank, int64_t layers)
      : table_(*rank.table), host_(build_host_program(table_)), layers_(static_cast<size_t>(layers)) {}

  void find() {
    for (const StepOperators& step : find_steps()) {
      const std::vector<Repetition> found = repetitions(step.rows);
      for (const Repetition& each : found) {
        const uint32_t last = each.first + each.period * static_cast<uint32_t>(layers_) - 1;
        layer_spans.push_back({table_.ts_ns[step.rows[each.first]], table_.end_ns(step.rows[last])});
      }
      lane = step.lane;
      count_parameters(step);
    }
    std::sort(layer_spans.begin(), layer_spans.end(),
              [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
  }

  static bool inside(const std::vector<Span>& spans, int64_t time_ns) {
    const auto after = std::upper_bound(spans.begin(), spans.end(), time_ns,
                                        [](int64_t time, const Span& span) { return time < span.start_ns; });
    return after != spans.begin() && time_ns < (after - 1)->end_ns;
  }

  /// True for a row that handles parameters or gradients, or lies in one that does.
  bool handles_parameters(uint32_t row) const {
    for (; row != kNoIndex; row = host_.parent[row]) {
      if (begins_with(table_, row, "Optimizer.") || begins_with(table_, row, "torch.distributed.ddp.reducer::") ||
          begins_with(table_, row, "aten::_foreach_") || begins_with(table_, row, "aten::_fused_")) {
        return true;
      }
    }
    return false;
  }

  uint32_t lane = kNoIndex;
  std::vector<Span> layer_spans;
  double parameters = 0, layer_parameters = 0;  ///< whose gradients the steps make

 private:
  std::vector<StepOperators> find_steps() const {
    std::vector<StepOperators> steps;
    for (uint32_t row = 0; row < table_.size(); ++row) {
      if (table_.kind[row] != EventKind::kAnnotation || !begins_with(table_, row, "ProfilerStep#")) continue;
      steps.push_back({table_.lane[row], {table_.ts_ns[row], table_.end_ns(row)}, {}});
    }
    std::sort(steps.begin(), steps.end(),
              [](const StepOperators& a, const StepOperators& b) { return a.window.start_ns < b.window.start_ns; });
    for (uint32_t row = 0; row < table_.size(); ++row) {
      if (table_.kind[row] != EventKind::kCpuOp || !outermost(row)) continue;
      for (StepOperators& step : steps) {
        const bool in = table_.ts_ns[row] >= step.window.start_ns && table_.ts_ns[row] < step.window.end_ns;
        if (in && table_.lane[row] == step.lane) step.rows.push_back(row);
      }
    }
    for (StepOperators& step : steps) {
      std::sort(step.rows.begin(), step.rows.end(),
                [&](uint32_t a, uint32_t b) { return std::pair(table_.ts_ns[a], a) < std::pair(table_.ts_ns[b], b); });
    }
    return steps;
  }

  /// Annotations only bracket.
  bool outermost(uint32_t row) const {
    for (uint32_t p = host_.parent[row]; p != kNoIndex; p = host_.parent[p]) {
      if (table_.kind[p] == EventKind::kCpuOp) return false;
    }
    return true;
  }

  bool alike(uint32_t a, uint32_t b) const {
    if (table_.name[a] != table_.name[b]) return false;
    const OpDetail* x = table_.op_detail(a);
    const OpDetail* y = table_.op_detail(b);
    return (x == nullptr ? kNoName : x->input_dims) == (y == nullptr ? kNoName : y->input_dims);
  }

  /// What repeats exactly as often as there are layers, without overlap, most time first. O(operators^2 / layers).
  std::vector<Repetition> repetitions(const std::vector<uint32_t>& rows) const {
    std::vector<Repetition> all;
    const uint32_t count = static_cast<uint32_t>(rows.size());
    for (uint32_t period = 1; period * layers_ <= count; ++period) {
      uint32_t length = 0;  // of the run of operators that equal the one a period later
      for (uint32_t i = 0; i + period <= count; ++i) {
        if (i + period < count && alike(rows[i], rows[i + period])) {
          ++length;
          continue;
        }
        if (length >= (layers_ - 1) * period && length < layers_ * period) {
          const uint32_t first = i - length, last = first + period * static_cast<uint32_t>(layers_) - 1;
          all.push_back({first, period, table_.end_ns(rows[last]) - table_.ts_ns[rows[first]]});
        }
        length = 0;
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Repetition& a, const Repetition& b) { return a.time_ns > b.time_ns; });
    std::vector<Repetition> kept;
    for (const Repetition& each : all) {
      const bool free = std::all_of(kept.begin(), kept.end(), [&](const Repetition& other) {
        return each.first >= other.first + other.period * layers_ || other.first >= each.first + each.period * layers_;
      });
      if (free) kept.push_back(each);
    }
    return kept;
  }

  void count_parameters(const StepOperators& step) {
    std::vector<Span> spans = layer_spans;
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
    for (uint32_t row = 0; row < table_.size(); ++row) {
      const bool in = table_.ts_ns[row] >= step.window.start_ns && table_.ts_ns[row] < step.window.end_ns;
      if (!in || table_.name_of(row) != "torch::autograd::AccumulateGrad") continue;
      const OpDetail* op = table_.op_detail(row);
      const double elements = op == nullptr ? 0 : static_cast<double>(first_elements(table_.text(op->input_dims)));
      parameters += elements;
      if (inside(spans, table_.ts_ns[row])) layer_parameters += elements;
    }
  }

  const EventTable& table_;
  HostProgram host_;
  size_t layers_;
};

int64_t times(int64_t duration_ns, double factor) { return std::llround(static_cast<double>(duration_ns) * factor); }

}  // namespace

bool runs_on_cpus_alone(const LinkedJob& job) {
  const std::vector<Processor>& processors = job.linked.graph.processors;
  return std::none_of(processors.begin(), processors.end(), [](const Processor& p) { return p.is_gpu; });
}

Result<ExecGraph> with_layers(const LinkedJob& job, int64_t layers, int64_t new_layers) {
  ExecGraph graph = job.linked.graph;
  const double more = static_cast<double>(new_layers) / static_cast<double>(layers);
  for (const RankTasks& rank : graph.ranks) {
    RankLayers found(rank, layers);
    found.find();
    if (found.layer_spans.empty()) {
      return fail(ErrorKind::kFailed, "{}: nothing in its steps repeats {} times, so its layers were not found",
                  rank.table->info.file, layers);
    }
    if (found.layer_parameters <= 0) {
      return fail(ErrorKind::kFailed,
                  "{}: no gradient has a shape, so the layers' parameters are not known; profile with "
                  "record_shapes=True",
                  rank.table->info.file);
    }
    const double parameters = 1 + (more - 1) * found.layer_parameters / found.parameters;
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      int64_t& duration_ns = graph.duration_ns[task];
      if (graph.kind[task] == TaskKind::kTransfer) {
        duration_ns = times(duration_ns, parameters);
      } else if (graph.kind[task] == TaskKind::kHost && graph.processor[task] != kNoProcessor &&
                 graph.processors[graph.processor[task]].lane == found.lane) {
        const uint32_t row = graph.event[task];
        if (RankLayers::inside(found.layer_spans, graph.measured_start_ns[task])) {
          duration_ns = times(duration_ns, more);
        } else if (row != kNoIndex && found.handles_parameters(row)) {
          duration_ns = times(duration_ns, parameters);
        }
      }
    }
  }
  return graph;
}

}  // namespace lumos
