#include "python/tables.h"

#include <algorithm>
#include <string>
#include <utility>

#include "lumos/base/result.h"
#include "lumos/graph/host/collective.h"
#include "lumos/report/figures/kind_names.h"
#include "lumos/report/figures/row_times.h"
#include "lumos/report/figures/steps.h"
#include "lumos/report/files/overlay.h"
#include "lumos/trace/table/collective_names.h"

namespace lumos {

namespace {

constexpr int64_t kUnknown = -1;

/// Indexes for the names of several pools; a name is hashed once.
class NameIndexer {
 public:
  void begin_pool(const NamePool& pool) {
    pool_ = &pool;
    index_of_id_.assign(pool.size(), kUnset);
  }
  int32_t index(NameId id) {
    int32_t& known = index_of_id_[static_cast<uint32_t>(id)];
    if (known == kUnset) known = dictionary_.index(pool_->text(id));
    return known;
  }
  std::shared_ptr<const TextArray> finish() { return dictionary_.finish(); }

 private:
  static constexpr int32_t kUnset = -1;
  const NamePool* pool_ = nullptr;
  std::vector<int32_t> index_of_id_;
  Dictionary dictionary_;
};

std::string lane_name(const EventTable& table, uint32_t lane) {
  return fmt::format("{} {}", table.lanes[lane].is_gpu ? "stream" : "thread", table.text(table.lanes[lane].tid_text));
}

template <class Kind>
std::shared_ptr<const TextArray> kind_texts(std::string_view (*name)(Kind), Kind last) {
  TextArray texts;
  for (int kind = 0; kind <= static_cast<int>(last); ++kind) texts.add(name(static_cast<Kind>(kind)));
  return std::make_shared<const TextArray>(std::move(texts));
}

/// A column of kinds as it lies in memory: the enumerator is the index.
template <class Kind>
Column kind_column(const std::vector<Kind>& kinds, std::shared_ptr<const void> owner,
                   std::shared_ptr<const TextArray> texts) {
  Column column = view_column("kind", kinds, std::move(owner), 0, kinds.size());
  column.texts = std::move(texts);
  return column;
}

}  // namespace

ColumnTable event_table(const ExecGraph& graph, const std::vector<uint32_t>& rank_indexes) {
  ColumnTable out;
  NameIndexer names;
  Dictionary lanes;
  const auto kinds = kind_texts(event_kind_name, EventKind::kOverhead);
  std::vector<std::vector<int32_t>> name_of, lane_of;
  for (uint32_t r : rank_indexes) {
    const EventTable& table = *graph.ranks[r].table;
    names.begin_pool(*table.names);
    std::vector<int32_t>& name = name_of.emplace_back(table.size());
    std::vector<int32_t>& lane = lane_of.emplace_back(table.size());
    std::vector<int32_t> index_of_lane;
    for (uint32_t l = 0; l < table.lanes.size(); ++l) index_of_lane.push_back(lanes.index(lane_name(table, l)));
    for (size_t row = 0; row < table.size(); ++row) {
      name[row] = names.index(table.name[row]);
      lane[row] = index_of_lane[table.lane[row]];
    }
  }
  const auto name_texts = names.finish();
  const auto lane_texts = lanes.finish();
  for (size_t i = 0; i < rank_indexes.size(); ++i) {
    const RankTasks& rank = graph.ranks[rank_indexes[i]];
    const std::shared_ptr<const EventTable>& table = rank.table;
    const size_t rows = table->size();
    out.batches.push_back(
        {own_column("rank", std::vector<int32_t>(rows, rank.rank)),
         own_column("name", std::move(name_of[i]), name_texts), kind_column(table->kind, table, kinds),
         own_column("lane", std::move(lane_of[i]), lane_texts), view_column("ts_ns", table->ts_ns, table, 0, rows),
         view_column("dur_ns", table->dur_ns, table, 0, rows),
         view_column("correlation", table->correlation, table, 0, rows),
         view_column("external_id", table->external_id, table, 0, rows)});
  }
  return out;
}

ColumnTable task_table(const Replayed& replayed) {
  const ExecGraph& graph = *replayed.graph;
  const Timeline& timeline = *replayed.timeline;
  const uint32_t size = graph.size();
  // Rendezvous of linked ranks come after all ranks and belong to none.
  std::vector<int32_t> rank_of(size, static_cast<int32_t>(kUnknown)), name_of(size), waited_for(size);
  std::vector<int64_t> measured_end(size), waited_for_task(size, kUnknown);
  NameIndexer names;
  const NamePool nothing;
  TextColumn processors("processor");
  for (const RankTasks& rank : graph.ranks) {
    names.begin_pool(*rank.table->names);
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      const uint32_t row = graph.event[task];
      rank_of[task] = rank.rank;
      name_of[task] = names.index(row == kNoIndex ? kNoName : rank.table->name[row]);
      measured_end[task] = measured_end_ns(graph, rank, task);
    }
  }
  names.begin_pool(nothing);
  const uint32_t end_of_ranks = graph.ranks.empty() ? 0 : graph.ranks.back().end_task;
  for (uint32_t task = end_of_ranks; task < size; ++task) {
    name_of[task] = names.index(kNoName);
    measured_end[task] = graph.measured_start_ns[task];
  }
  std::vector<std::string> processor_names;
  for (const Processor& processor : graph.processors) {
    processor_names.push_back(lane_name(*graph.ranks[processor.rank_index].table, processor.lane));
  }
  const int32_t no_edge = static_cast<int32_t>(EdgeKind::kCount);  // its name is empty
  for (uint32_t task = 0; task < size; ++task) {
    processors.add(graph.processor[task] == kNoProcessor ? "" : processor_names[graph.processor[task]]);
    const uint32_t binding = timeline.binding[task];
    waited_for[task] = binding == kNoIndex ? no_edge : static_cast<int32_t>(graph.edges[binding].kind);
    if (binding != kNoIndex) waited_for_task[task] = graph.edges[binding].source;
  }
  return {{{own_column("rank", std::move(rank_of)),
            kind_column(graph.kind, replayed.graph, kind_texts(task_kind_name, TaskKind::kGap)),
            own_column("name", std::move(name_of), names.finish()), processors.finish(),
            view_column("measured_start_ns", graph.measured_start_ns, replayed.graph, 0, size),
            own_column("measured_end_ns", std::move(measured_end)),
            view_column("replayed_start_ns", timeline.start_ns, replayed.timeline, 0, size),
            view_column("replayed_end_ns", timeline.end_ns, replayed.timeline, 0, size),
            own_column("waited_for_task", std::move(waited_for_task)),
            own_column("waited_for", std::move(waited_for), kind_texts(edge_kind_name, EdgeKind::kCount))}}};
}

ColumnTable collective_table(const Replayed& replayed) {
  std::vector<int32_t> rank_of, group_size;
  TextColumn collective("collective"), group("group"), description("group_description"), dtype("dtype"), lane("lane"),
      kernel("kernel");
  std::vector<int64_t> sequence, bytes, measured_start, measured, replayed_start, replayed_ns;
  for (const RankTasks& rank : replayed.graph->ranks) {
    const EventTable& table = *rank.table;
    const std::vector<uint8_t> communicates = communication_rows(table);
    const std::vector<RowTimes> times = replayed_rows(*replayed.graph, *replayed.timeline, rank);
    for (uint32_t row = 0; row < table.size(); ++row) {
      if (communicates[row] == 0) continue;
      const CollectiveDetail silent;
      const CollectiveDetail* detail = table.collective_detail(row);
      const CollectiveDetail& c = detail != nullptr ? *detail : silent;
      const bool simulated = times[row].start_ns <= times[row].end_ns;
      const int64_t moved = collective_bytes(table, c);
      rank_of.push_back(rank.rank);
      collective.add(table.text(c.collective));
      group.add(table.text(c.group_name));
      description.add(table.text(c.group_desc));
      group_size.push_back(c.group_size);
      sequence.push_back(c.sequence);
      dtype.add(table.text(c.dtype));
      bytes.push_back(moved > 0 ? moved : kUnknown);
      lane.add(lane_name(table, table.lane[row]));
      kernel.add(table.name_of(row));
      measured_start.push_back(table.ts_ns[row]);
      measured.push_back(table.dur_ns[row]);
      replayed_start.push_back(simulated ? times[row].start_ns : kUnknown);
      replayed_ns.push_back(simulated ? times[row].end_ns - times[row].start_ns : kUnknown);
    }
  }
  return {{{own_column("rank", std::move(rank_of)), collective.finish(), group.finish(), description.finish(),
            own_column("group_size", std::move(group_size)), own_column("sequence", std::move(sequence)),
            dtype.finish(), own_column("bytes", std::move(bytes)), lane.finish(), kernel.finish(),
            own_column("measured_start_ns", std::move(measured_start)), own_column("measured_ns", std::move(measured)),
            own_column("replayed_start_ns", std::move(replayed_start)),
            own_column("replayed_ns", std::move(replayed_ns))}}};
}

ColumnTable step_table(const Replayed& replayed) {
  std::vector<int32_t> rank_of;
  TextColumn name("step"), reason("left_out_reason");
  std::vector<int32_t> chosen;
  std::vector<int64_t> measured_start, measured, replayed_start, replayed_ns;
  for (const RankTasks& rank : replayed.graph->ranks) {
    for (const Step& step : rank.steps) {
      const Window before = measured_window(*replayed.graph, rank, step);
      const Window after = simulated_window(*replayed.timeline, step);
      rank_of.push_back(rank.rank);
      name.add(step.name);
      chosen.push_back(step.chosen);
      reason.add(step.left_out_reason);
      measured_start.push_back(before.start_ns);
      measured.push_back(before.length_ns());
      replayed_start.push_back(after.start_ns);
      replayed_ns.push_back(after.length_ns());
    }
  }
  return {{{own_column("rank", std::move(rank_of)), name.finish(), own_column("chosen", std::move(chosen)),
            reason.finish(), own_column("measured_start_ns", std::move(measured_start)),
            own_column("measured_ns", std::move(measured)), own_column("replayed_start_ns", std::move(replayed_start)),
            own_column("replayed_ns", std::move(replayed_ns))}}};
}

}  // namespace lumos
