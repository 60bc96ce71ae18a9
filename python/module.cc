// The Python module lumos._lumos: classes Job, Timeline and Columns and the function run_command, thin enough to read
// beside python/lumos/*.py, which give them their public form.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lumos/base/file.h"
#include "lumos/cli/arguments/command.h"
#include "lumos/cli/arguments/config_file.h"
#include "lumos/cli/arguments/find_step.h"
#include "lumos/cli/parse.h"
#include "lumos/graph/job/graph_file.h"
#include "lumos/model/job/job.h"
#include "lumos/report/files/trace_files.h"
#include "lumos/report/text_table.h"
#include "python/arrow_stream.h"
#include "python/failure.h"
#include "python/long_call.h"
#include "python/session.h"
#include "python/tables.h"

namespace nb = nanobind;

namespace lumos {

void warn(const Notes& notes) {
  for (const std::string& line : notes.lines) {
    if (PyErr_WarnEx(PyExc_UserWarning, line.c_str(), 1) != 0) throw nb::python_error();
  }
}

void show_progress(const std::string& label, double seconds) {
  nb::module_::import_("lumos.progress").attr("show")(label, seconds);
}

void end_progress() { nb::module_::import_("lumos.progress").attr("end")(); }

namespace {

using Pair = std::pair<std::string, std::string>;  ///< JSON and text of an answer

/// The text as the command prints it.
Pair pair_of(Answer answer) { return {std::move(answer.json), fold_lines(answer.text)}; }

/// An answer that cannot fail, as a long call.
template <class Make>
Pair answer_of(const char* label, Make make) {
  return pair_of(long_call(label, [make = std::move(make)](Console&) -> Result<Answer> { return make(); }));
}

// ---- tables

struct Columns {
  std::shared_ptr<const ColumnTable> table;
};

Columns columns_of(const char* label, std::function<Result<ColumnTable>()> make) {
  return {std::make_shared<const ColumnTable>(long_call(label, [make](Console&) { return make(); }))};
}

/// The capsule releases the stream if nobody has taken it.
nb::object stream_of(const Columns& columns, nb::object /*requested_schema*/) {
  auto* stream = new ArrowArrayStream;
  export_stream(columns.table, stream);
  return nb::steal(PyCapsule_New(stream, "arrow_array_stream", [](PyObject* capsule) {
    auto* held = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
    if (held->release != nullptr) held->release(held);
    delete held;
  }));
}

/// A column of Python values: numbers where all of them are, else texts; None is null.
Column column_of_list(const std::string& name, const nb::list& values) {
  bool all_int = true, all_numbers = true;
  std::vector<uint8_t> valid((values.size() + 7) / 8, 0);
  int64_t nulls = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const nb::handle value = values[i];
    if (value.is_none()) {
      ++nulls;
      continue;
    }
    valid[i / 8] |= static_cast<uint8_t>(1u << (i % 8));
    all_int = all_int && PyLong_Check(value.ptr());
    all_numbers = all_numbers && (PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr()));
  }
  Column column;
  if (all_int) {
    std::vector<int64_t> numbers;
    for (nb::handle value : values) numbers.push_back(value.is_none() ? 0 : nb::cast<int64_t>(value));
    column = own_column(name, std::move(numbers));
  } else if (all_numbers) {
    std::vector<double> numbers;
    for (nb::handle value : values) numbers.push_back(value.is_none() ? 0 : nb::cast<double>(value));
    column = own_column(name, std::move(numbers));
  } else {
    TextColumn texts(name);
    for (nb::handle value : values) texts.add(value.is_none() ? "" : nb::str(value).c_str());
    column = texts.finish();
  }
  if (nulls > 0) column.valid = std::move(valid), column.nulls = nulls;
  return column;
}

Columns columns_of_lists(const std::vector<std::pair<std::string, nb::list>>& lists) {
  ColumnTable table;
  std::vector<Column>& batch = table.batches.emplace_back();
  for (const auto& [name, values] : lists) batch.push_back(column_of_list(name, values));
  return {std::make_shared<const ColumnTable>(std::move(table))};
}

const Column& find_column(const Columns& columns, const std::string& name, size_t batch) {
  if (batch >= columns.table->batches.size()) throw nb::index_error("no such batch");
  for (const Column& column : columns.table->batches[batch]) {
    if (column.name == name) return column;
  }
  throw nb::key_error(name.c_str());
}

void bind_columns(nb::module_& module) {
  nb::class_<Columns>(module, "Columns", "A table in memory; the Arrow PyCapsule interface reads it without a copy.")
      .def_static("of_lists", columns_of_lists, nb::arg("lists"), "A column per name and list of values.")
      .def("__arrow_c_stream__", stream_of, nb::arg("requested_schema") = nb::none())
      .def("__len__", [](const Columns& columns) { return columns.table->num_rows(); })
      .def_prop_ro("column_names",
                   [](const Columns& columns) {
                     std::vector<std::string> names;
                     if (!columns.table->batches.empty()) {
                       for (const Column& column : columns.table->batches.front()) names.push_back(column.name);
                     }
                     return names;
                   })
      .def(
          "address",
          [](const Columns& columns, const std::string& name, size_t batch) {
            return reinterpret_cast<uintptr_t>(find_column(columns, name, batch).data);
          },
          nb::arg("name"), nb::arg("batch") = 0, "Where the values of a column begin in memory.");
}

// ---- job

LoadedJob load_paths(std::vector<std::string> paths, bool strict, std::string rank_regex, int64_t threads,
                     bool inter_stream) {
  ReadArguments read{std::move(paths), strict, std::move(rank_regex), threads};
  return long_call("reading and linking traces",
                   [read, inter_stream](Console& console) { return load(read, inter_stream, console); });
}

Columns events_of(const LoadedJob& job, const std::vector<int64_t>& ranks) {
  return columns_of("gathering events", [job, ranks]() -> Result<ColumnTable> {
    std::vector<uint32_t> indexes;
    for (int64_t rank : ranks) indexes.push_back(TRY(find_rank(job.graph(), rank)));
    if (ranks.empty()) {
      for (uint32_t r = 0; r < job.graph().ranks.size(); ++r) indexes.push_back(r);
    }
    return event_table(job.graph(), indexes);
  });
}

Pair predict_with(const LoadedJob& job, const ChangeArguments& changes, const std::string& jitter, int64_t samples,
                  int64_t seed, const std::string& out) {
  return pair_of(long_call("simulating", [job, request = PredictRequest{changes, jitter, samples, seed, out}](
                                             Console& console) { return predict(job, request, console); }));
}

Pair predict_job_with(const LoadedJob& job, const JobChange& change) {
  return pair_of(long_call("recovering and predicting",
                           [job, change](Console& console) { return predict_configuration(job, change, console); }));
}

void bind_changes(nb::module_& module) {
  nb::class_<ChangeArguments>(module, "Changes", "What `lumos predict` changes of a graph, by its options' names.")
      .def(nb::init<>())
      .def_rw("scales", &ChangeArguments::scales)
      .def_rw("remove", &ChangeArguments::remove)
      .def_rw("fuse", &ChangeArguments::fuse)
      .def_rw("drop_sync", &ChangeArguments::drop_sync)
      .def_rw("overlap", &ChangeArguments::overlap)
      .def_rw("bandwidth", &ChangeArguments::bandwidth)
      .def_rw("latency", &ChangeArguments::latency)
      .def_rw("scale_batch", &ChangeArguments::scale_batch)
      .def_rw("cluster", &ChangeArguments::cluster)
      .def_rw("kernel_times", &ChangeArguments::kernel_times)
      .def_rw("from_cluster", &ChangeArguments::from_cluster)
      .def_rw("batch_size", &ChangeArguments::batch_size)
      .def_rw("no_launch_overhead", &ChangeArguments::no_launch_overhead)
      .def_rw("gpus_per_node", &ChangeArguments::gpus_per_node)
      .def_rw("file", &ChangeArguments::file);
  nb::class_<JobChange>(module, "JobChange", "What `lumos predict --job` changes of a job, by its options' names.")
      .def(nb::init<>())
      .def_rw("job", &JobChange::job_file)
      .def_rw("settings", &JobChange::settings)
      .def_rw("seeds", &JobChange::seeds)
      .def_rw("plain", &JobChange::plain)
      .def_rw("out", &JobChange::out)
      .def_rw("ignore", &JobChange::ignore)
      .def_rw("cluster", &JobChange::cluster);
}

void bind_job(nb::module_& module) {
  nb::class_<LoadedJob>(module, "Job", "All ranks of a job, linked.")
      .def_prop_ro("ranks",
                   [](const LoadedJob& job) {
                     std::vector<int32_t> ranks;
                     for (const RankTasks& rank : job.graph().ranks) ranks.push_back(rank.rank);
                     return ranks;
                   })
      .def_prop_ro("files",
                   [](const LoadedJob& job) {
                     std::vector<std::string> files;
                     for (const RankTasks& rank : job.graph().ranks) files.push_back(rank.table->info.file);
                     return files;
                   })
      .def_prop_ro("failures",
                   [](const LoadedJob& job) {
                     std::vector<Pair> failures;
                     for (const auto& failure : job.job->failures) {
                       failures.emplace_back(failure.file, failure.error.message);
                     }
                     return failures;
                   })
      .def("events", events_of, nb::arg("ranks"))
      .def("inspect", [](const LoadedJob& job) { return answer_of("inspecting", [job] { return inspect(job); }); })
      .def("link", [](const LoadedJob& job) { return answer_of("summing up", [job] { return link_answer(job); }); })
      .def(
          "gains",
          [](const LoadedJob& job, bool all) {
            return pair_of(
                long_call("trying what gains", [job, all](Console& console) { return gains(job, all, console); }));
          },
          nb::arg("all"))
      .def(
          "validate",
          [](const LoadedJob& job, const std::string& prediction, const std::string& label, bool all) {
            return pair_of(long_call("comparing", [job, prediction, label, all](Console&) {
              return validate(job, prediction, label, all);
            }));
          },
          nb::arg("prediction"), nb::arg("label"), nb::arg("all"))
      .def("stragglers",
           [](const LoadedJob& job) { return answer_of("looking for stragglers", [job] { return stragglers(job); }); })
      .def("predict", predict_with, nb::arg("changes"), nb::arg("jitter"), nb::arg("samples"), nb::arg("seed"),
           nb::arg("out"))
      .def("predict_job", predict_job_with, nb::arg("change"))
      .def(
          "replay",
          [](const LoadedJob& job, const std::string& steps, bool keep) {
            return long_call("simulating", [job, steps, keep](Console&) { return replay(job, steps, keep); });
          },
          nb::arg("steps"), nb::arg("keep_residuals"))
      .def(
          "save",
          [](const LoadedJob& job, const std::string& path) {
            long_call("writing", [job, path](Console&) -> Result<bool> {
              TRY_STATUS(write_graph_file(*job.job, path));
              return true;
            });
          },
          nb::arg("path"));
}

// ---- timeline

void bind_timeline(nb::module_& module) {
  nb::class_<ReplayedJob>(module, "Timeline", "A replayed job.")
      .def("result", [](const ReplayedJob& timeline) { return pair_of(replay_answer(timeline)); })
      .def("tasks",
           [](const ReplayedJob& timeline) {
             return columns_of("gathering tasks", [timeline] { return task_table(timeline.replayed); });
           })
      .def("collectives",
           [](const ReplayedJob& timeline) {
             return columns_of("gathering collectives", [timeline] { return collective_table(timeline.replayed); });
           })
      .def("steps",
           [](const ReplayedJob& timeline) {
             return columns_of("gathering steps", [timeline] { return step_table(timeline.replayed); });
           })
      .def(
          "critical_path",
          [](const ReplayedJob& timeline, int64_t rank, int64_t step, bool measured, const std::string& overlay) {
            const PathRequest request{rank, step, measured, overlay};
            return pair_of(long_call("walking the critical path",
                                     [timeline, request](Console&) { return critical_path(timeline, request); }));
          },
          nb::arg("rank"), nb::arg("step"), nb::arg("measured"), nb::arg("overlay"))
      .def(
          "report",
          [](const ReplayedJob& timeline, int64_t rank, int64_t step, const std::string& against, bool gains) {
            return long_call("drawing", [timeline, rank, step, against, gains](Console& console) {
              return report(timeline, rank, step, against, gains, console);
            });
          },
          nb::arg("rank"), nb::arg("step"), nb::arg("against"), nb::arg("gains"))
      .def(
          "to_chrome_trace",
          [](const ReplayedJob& timeline, const std::string& path) {
            return long_call("writing", [timeline, path](Console&) {
              return write_replayed_trace(*timeline.replayed.graph, *timeline.replayed.timeline, path);
            });
          },
          nb::arg("path"));
}

// ---- commands

/// What a command prints, by the words of its command line.
std::string run_command(const std::vector<std::string>& words) {
  return long_call("running lumos " + (words.empty() ? std::string() : words.front()),
                   [words](Console& console) -> Result<std::string> {
                     std::string printed;
                     console.print = [&](std::string_view text) { printed += text; };
                     const std::vector<Command> commands = make_commands();
                     const Invocation invocation = TRY(parse_command_line(commands, words));
                     if (invocation.command == nullptr) return invocation.text;
                     TRY_STATUS(invocation.command->run(console));
                     return printed;
                   });
}

using CommandOptions = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Every command with the names of its options, as --help lists them.
CommandOptions command_options() {
  CommandOptions all;
  for (const Command& command : make_commands()) {
    all.emplace_back(command.name, std::vector<std::string>{});
    for (const Option& option : command.options) all.back().second.push_back(option.name);
  }
  return all;
}

}  // namespace

}  // namespace lumos

NB_MODULE(_lumos, module) {
  using namespace lumos;
  module.doc() = "The compiled part of lumos.";
  module.attr("__version__") = std::string(version());
  bind_failures(module);
  bind_columns(module);
  bind_changes(module);
  bind_job(module);
  bind_timeline(module);
  module.def("load", load_paths, nb::arg("paths"), nb::arg("strict"), nb::arg("rank_regex"), nb::arg("threads"),
             nb::arg("inter_stream"));
  module.def("run_command", run_command, nb::arg("words"), "What the command of these words prints.");
  module.def("command_options", command_options, "Every command with the names of its options.");
  module.def(
      "job_fields",
      [] {
        std::vector<std::string> names;
        for (std::string_view name : job_field_names()) names.emplace_back(name);
        return names;
      },
      "Names of all settings of a job.");
  module.def(
      "config_folders", [](const std::string& kind) { return config_folders(kind); }, nb::arg("kind"));
}
