#include "lumos/graph/job/graph_file.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "lumos/graph/job/archive.h"
#include "lumos/graph/job/job.h"
#include "lumos/graph/job/sections.h"

namespace lumos {

namespace {

template <class Archive, class Group>
void visit_group(Archive& archive, Group& group) {
  archive.text(group.name);
  archive.text(group.description);
  archive.number(group.size);
  archive.length(group.ranks);
  for (auto& rank : group.ranks) archive.number(rank);
}

template <class Archive, class Info>
void visit_info(Archive& archive, Info& info) {
  archive.text(info.file);
  archive.number(info.rank);
  archive.number(info.rank_source);
  archive.number(info.world_size);
  archive.text(info.backend);
  archive.text(info.trace_name);
  archive.length(info.groups);
  for (auto& group : info.groups) visit_group(archive, group);
  archive.length(info.devices);
  for (auto& device : info.devices) {
    archive.text(device.name);
    archive.number(device.memory_bytes);
    archive.number(device.num_sms);
    archive.number(device.compute_major);
    archive.number(device.compute_minor);
    archive.number(device.warp_size);
    archive.number(device.max_threads_per_sm);
    archive.number(device.registers_per_sm);
    archive.number(device.shared_memory_per_sm_bytes);
  }
  archive.number(info.base_ns);
  archive.number(info.decoded_bytes);
  archive.number(info.events);
  archive.number(info.left_out_python);
  archive.number(info.left_out_flows);
  archive.number(info.left_out_other);
  archive.number(info.truncated);
  archive.length(info.issues);
  for (auto& issue : info.issues) {
    archive.text(issue.reason);
    archive.number(issue.count);
    archive.number(issue.first_byte);
    archive.number(issue.repaired);
  }
}

// A field added to one of these rows must be added below, and the version raised.
static_assert(sizeof(Lane) == 40 && sizeof(OpDetail) == 32 && sizeof(CollectiveDetail) == 72);
static_assert(sizeof(CommKernel) == 72 && sizeof(Edge) == 12 && sizeof(Processor) == 12 && sizeof(RankClock) == 40);
static_assert(sizeof(GpuDetail) == 56 && sizeof(SyncDetail) == 32 && sizeof(FlowEnd) == 24);

template <class Archive, class Table>
void visit_table(Archive& archive, Table& table) {
  archive.column(table.ts_ns);
  archive.column(table.dur_ns);
  archive.column(table.name);
  archive.column(table.lane);
  archive.column(table.kind);
  archive.column(table.correlation);
  archive.column(table.external_id);
  archive.column(table.detail);
  archive.fields(table.lanes, &Lane::is_gpu, &Lane::pid_text, &Lane::tid_text, &Lane::pid, &Lane::tid, &Lane::label,
                 &Lane::process);
  archive.column(table.gpu);
  archive.fields(table.ops, &OpDetail::input_dims, &OpDetail::input_types, &OpDetail::concrete_inputs,
                 &OpDetail::fwd_thread, &OpDetail::sequence, &OpDetail::collective);
  archive.column(table.syncs);
  archive.fields(table.collectives, &CollectiveDetail::collective, &CollectiveDetail::dtype,
                 &CollectiveDetail::group_name, &CollectiveDetail::group_desc, &CollectiveDetail::group_ranks,
                 &CollectiveDetail::in_split, &CollectiveDetail::out_split, &CollectiveDetail::in_elements,
                 &CollectiveDetail::out_elements, &CollectiveDetail::sequence, &CollectiveDetail::group_size,
                 &CollectiveDetail::src_rank, &CollectiveDetail::dst_rank);
  archive.fields(table.fwdbwd, &FlowEnd::id, &FlowEnd::ts_ns, &FlowEnd::lane, &FlowEnd::is_start);
  visit_info(archive, table.info);
}

template <class Archive, class Rank>
void visit_rank(Archive& archive, Rank& rank) {
  archive.number(rank.rank);
  archive.number(rank.first_task);
  archive.number(rank.end_task);
  archive.length(rank.constants);
  for (auto& constant : rank.constants) {
    archive.text(constant.name);
    archive.number(constant.value_ns);
    archive.number(constant.samples);
  }
  archive.length(rank.steps);
  for (auto& step : rank.steps) {
    archive.text(step.name);
    archive.number(step.first_task);
    archive.number(step.next_task);
    archive.number(step.last_task);
    archive.length(step.last_gpu_tasks);
    for (auto& task : step.last_gpu_tasks) archive.number(task);
    archive.number(step.chosen);
    archive.text(step.left_out_reason);
  }
}

template <class Archive, class Graph>
void visit_graph(Archive& archive, Graph& graph) {
  archive.column(graph.event);
  archive.column(graph.kind);
  archive.column(graph.processor);
  archive.column(graph.duration_ns);
  archive.column(graph.measured_start_ns);
  archive.column(graph.edge_begin);
  archive.fields(graph.edges, &Edge::source, &Edge::lag_ns, &Edge::kind, &Edge::from_start, &Edge::recorded,
                 &Edge::confidence_pct);
  archive.column(graph.order);
  archive.fields(graph.processors, &Processor::rank_index, &Processor::lane, &Processor::is_gpu);
  archive.length(graph.ranks);
  for (auto& rank : graph.ranks) visit_rank(archive, rank);
}

template <class Archive, class Matches>
void visit_matches(Archive& archive, Matches& matches) {
  archive.fields(matches.kernels, &CommKernel::rank_index, &CommKernel::row, &CommKernel::lane, &CommKernel::group,
                 &CommKernel::match, &CommKernel::kind, &CommKernel::peer, &CommKernel::start_ns, &CommKernel::end_ns,
                 &CommKernel::bytes, &CommKernel::sequence, &CommKernel::in_call_order);
  archive.column(matches.rank_begin);
  archive.length(matches.groups);
  for (auto& group : matches.groups) {
    visit_group(archive, group);
    archive.number(group.source);
  }
  archive.column(matches.match_begin);
  archive.column(matches.members);
  archive.fields(matches.clocks, &RankClock::offset_ns, &RankClock::drift, &RankClock::pivot_ns, &RankClock::spread_ns,
                 &RankClock::samples, &RankClock::known);
  auto& counts = matches.counts;
  for (auto* count : {&counts.kernels, &counts.by_sequence, &counts.by_order, &counts.by_ends, &counts.alone,
                      &counts.unpaired, &counts.refused}) {
    archive.number(*count);
  }
}

template <class Archive, class AnyJob>
void visit_links(Archive& archive, AnyJob& job) {
  visit_graph(archive, job.linked.graph);
  archive.column(job.linked.arrive_task);
  archive.column(job.linked.transfer_task);
  archive.number(job.linked.counts.rendezvous);
  archive.number(job.linked.counts.unlinked);
  visit_matches(archive, job.matches);
  archive.column(job.transfers.transfer_ns);
  archive.column(job.transfers.wait_ns);
  archive.column(job.transfers.hidden_ns);
  archive.column(job.transfers.source);
  archive.number(job.transfers.settle_ns);
}

/// Pools of names, each once however many tables share it, and which pool each table uses.
struct Pools {
  std::vector<std::vector<char>> texts;
  std::vector<std::vector<uint32_t>> lengths;
  std::vector<uint32_t> of_table;
};

Pools collect_pools(const LinkedJob& job) {
  Pools pools;
  std::map<const NamePool*, uint32_t> known;
  for (const RankTasks& rank : job.linked.graph.ranks) {
    const NamePool& pool = *rank.table->names;
    const auto [it, fresh] = known.try_emplace(&pool, static_cast<uint32_t>(known.size()));
    pools.of_table.push_back(it->second);
    if (!fresh) continue;
    std::vector<char>& text = pools.texts.emplace_back();
    std::vector<uint32_t>& lengths = pools.lengths.emplace_back();
    text.reserve(pool.text_bytes());
    for (uint32_t id = 0; id < pool.size(); ++id) {
      const std::string_view name = pool.text(NameId{id});
      text.insert(text.end(), name.begin(), name.end());
      lengths.push_back(static_cast<uint32_t>(name.size()));
    }
  }
  return pools;
}

template <class Archive, class AnyPools>
void visit_pools(Archive& archive, AnyPools& pools) {
  archive.column(pools.of_table);
  archive.length(pools.texts);
  archive.length(pools.lengths);
  for (auto& text : pools.texts) archive.column(text);
  for (auto& lengths : pools.lengths) archive.column(lengths);
}

bool fill_pool(const std::vector<char>& text, const std::vector<uint32_t>& lengths, NamePool& pool) {
  size_t at = 0;
  for (uint32_t id = 0; id < lengths.size(); ++id) {
    if (lengths[id] > text.size() - at) return false;
    if (pool.intern({text.data() + at, lengths[id]}) != NameId{id}) return false;
    at += lengths[id];
  }
  return at == text.size();
}

template <class T>
bool all_below(const std::vector<T>& ids, size_t end, bool or_none) {
  return std::all_of(ids.begin(), ids.end(), [&](T id) {
    const uint32_t value = static_cast<uint32_t>(id);
    return value < end || (or_none && value == kNoIndex);
  });
}

bool valid_ranges(const std::vector<uint32_t>& begin, size_t count, size_t end) {
  return begin.size() == count + 1 && begin.front() == 0 && begin.back() == end &&
         std::is_sorted(begin.begin(), begin.end());
}

/// Whether the named members of all rows are ids below `end`, or none where that is allowed.
template <class Row, class Id>
bool members_below(const std::vector<Row>& rows, std::initializer_list<Id Row::*> members, size_t end, bool or_none) {
  return std::all_of(rows.begin(), rows.end(), [&](const Row& row) {
    return std::all_of(members.begin(), members.end(), [&](Id Row::*member) {
      const uint32_t value = static_cast<uint32_t>(row.*member);
      return value < end || (or_none && value == kNoIndex);
    });
  });
}

bool valid_details(const EventTable& table) {
  for (size_t row = 0; row < table.size(); ++row) {
    const EventKind kind = table.kind[row];
    if (kind > EventKind::kOverhead) return false;
    if (table.detail[row] == kNoIndex) continue;
    const size_t details = is_gpu_work(kind)          ? table.gpu.size()
                           : kind == EventKind::kSync ? table.syncs.size()
                                                      : std::max(table.ops.size(), table.gpu.size());
    const bool has_ops = kind == EventKind::kCpuOp || kind == EventKind::kAnnotation;
    if (table.detail[row] >= (has_ops ? table.ops.size() : details)) return false;
  }
  const size_t collectives = table.collectives.size();
  return members_below(table.gpu, {&GpuDetail::collective}, collectives, true) &&
         members_below(table.ops, {&OpDetail::collective}, collectives, true);
}

bool valid_names(const EventTable& table) {
  const size_t names = table.names->size();
  return all_below(table.name, names, false) &&
         members_below(table.lanes, {&Lane::pid_text, &Lane::tid_text, &Lane::label, &Lane::process}, names, false) &&
         members_below(table.ops, {&OpDetail::input_dims, &OpDetail::input_types, &OpDetail::concrete_inputs}, names,
                       false) &&
         members_below(table.collectives,
                       {&CollectiveDetail::collective, &CollectiveDetail::dtype, &CollectiveDetail::group_name,
                        &CollectiveDetail::group_desc, &CollectiveDetail::group_ranks, &CollectiveDetail::in_split,
                        &CollectiveDetail::out_split},
                       names, false);
}

bool valid_table(const EventTable& table) {
  const size_t rows = table.size();
  if (table.dur_ns.size() != rows || table.name.size() != rows || table.lane.size() != rows ||
      table.kind.size() != rows || table.correlation.size() != rows || table.external_id.size() != rows ||
      table.detail.size() != rows) {
    return false;
  }
  const size_t lanes = table.lanes.size();
  return valid_details(table) && valid_names(table) && all_below(table.lane, lanes, false) &&
         members_below(table.fwdbwd, {&FlowEnd::lane}, lanes, false);
}

bool valid_steps(const RankTasks& rank, size_t tasks) {
  for (const Step& step : rank.steps) {
    if (step.first_task >= tasks) return false;
    if (!all_below(std::vector{step.next_task, step.last_task}, tasks, true)) return false;
    if (!all_below(step.last_gpu_tasks, tasks, false)) return false;
  }
  return true;
}

/// Whether tasks come after all that they depend on, in the order given or that of their ids, and each once.
bool valid_order(const ExecGraph& graph) {
  std::vector<uint32_t> place(graph.size(), kNoIndex);
  for (uint32_t i = 0; i < graph.size(); ++i) {
    uint32_t& at = place[graph.order.empty() ? i : graph.order[i]];
    if (at != kNoIndex) return false;
    at = i;
  }
  for (uint32_t task = 0; task < graph.size(); ++task) {
    for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
      if (place[graph.edges[e].source] >= place[task]) return false;
    }
  }
  return true;
}

bool valid_graph(const ExecGraph& graph) {
  const size_t tasks = graph.size();
  if (graph.event.size() != tasks || graph.kind.size() != tasks || graph.processor.size() != tasks ||
      graph.measured_start_ns.size() != tasks || (!graph.order.empty() && graph.order.size() != tasks) ||
      !valid_ranges(graph.edge_begin, tasks, graph.edges.size()) || !all_below(graph.order, tasks, false) ||
      !all_below(graph.processor, graph.processors.size(), true)) {
    return false;
  }
  for (const Edge& edge : graph.edges) {
    if (edge.source >= tasks || edge.kind >= EdgeKind::kCount) return false;
  }
  if (!valid_order(graph)) return false;
  for (TaskKind kind : graph.kind) {
    if (kind > TaskKind::kGap) return false;
  }
  for (const Processor& processor : graph.processors) {
    if (processor.rank_index >= graph.ranks.size()) return false;
    if (processor.lane >= graph.ranks[processor.rank_index].table->lanes.size()) return false;
  }
  for (const RankTasks& rank : graph.ranks) {
    if (rank.first_task > rank.end_task || rank.end_task > tasks || !valid_steps(rank, tasks)) return false;
    for (uint32_t task = rank.first_task; task < rank.end_task; ++task) {
      if (graph.event[task] != kNoIndex && graph.event[task] >= rank.table->size()) return false;
    }
  }
  return true;
}

bool valid_matches(const LinkedJob& job) {
  const JobMatches& m = job.matches;
  const size_t kernels = m.kernels.size(), ranks = job.linked.graph.ranks.size();
  for (const CommKernel& kernel : m.kernels) {
    if (kernel.rank_index >= ranks || kernel.row >= job.linked.graph.ranks[kernel.rank_index].table->size())
      return false;
    if (kernel.lane >= job.linked.graph.ranks[kernel.rank_index].table->lanes.size()) return false;
    if (kernel.kind > CollectiveKind::kBarrier) return false;
    if (kernel.group >= m.groups.size() || (kernel.match != kNoIndex && kernel.match >= m.size())) return false;
  }
  return m.clocks.size() == ranks && valid_ranges(m.rank_begin, ranks, kernels) && !m.match_begin.empty() &&
         valid_ranges(m.match_begin, m.size(), m.members.size()) && all_below(m.members, kernels, false) &&
         job.linked.arrive_task.size() == kernels && job.linked.transfer_task.size() == kernels &&
         all_below(job.linked.arrive_task, job.linked.graph.size(), true) &&
         all_below(job.linked.transfer_task, job.linked.graph.size(), true) &&
         job.transfers.transfer_ns.size() == kernels && job.transfers.wait_ns.size() == kernels &&
         job.transfers.hidden_ns.size() == kernels && job.transfers.source.size() == kernels;
}

}  // namespace

bool is_graph_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  char start[sizeof(kSectionMagic)] = {};
  const bool read = std::fread(start, 1, sizeof(start), file) == sizeof(start);
  std::fclose(file);
  return read && std::equal(std::begin(start), std::end(start), std::begin(kSectionMagic));
}

Status write_graph_file(const LinkedJob& job, const std::string& path) {
  ArchiveWriter writer;
  const Pools pools = collect_pools(job);
  visit_pools(writer, pools);
  visit_links(writer, job);
  for (const RankTasks& rank : job.linked.graph.ranks) visit_table(writer, *rank.table);
  return writer.write(path, kGraphFileVersion);
}

Result<LinkedJob> read_graph_file(const std::string& path) {
  ArchiveReader reader(TRY(SectionReader::open(path, kGraphFileVersion)));
  const auto broken = [&](const char* what) {
    return fail(ErrorKind::kUnreadable, "{} is no usable graph file: {}; link the traces again", path, what);
  };
  Pools pools;
  visit_pools(reader, pools);
  LinkedJob job;
  visit_links(reader, job);
  auto& ranks = job.linked.graph.ranks;
  std::vector<std::shared_ptr<NamePool>> names;
  for (size_t i = 0; i < pools.texts.size() && i < pools.lengths.size(); ++i) {
    names.push_back(std::make_shared<NamePool>());
    if (!fill_pool(pools.texts[i], pools.lengths[i], *names.back())) return broken("its names are not as written");
  }
  if (pools.of_table.size() != ranks.size() || !all_below(pools.of_table, names.size(), false)) {
    return broken("its ranks and names do not belong together");
  }
  for (size_t r = 0; r < ranks.size(); ++r) {
    auto table = std::make_shared<EventTable>();
    visit_table(reader, *table);
    table->names = names[pools.of_table[r]];
    if (!valid_table(*table)) return broken("an event table has columns that do not fit");
    ranks[r].table = std::move(table);
  }
  if (!reader.complete()) return broken("its sections are not those of this version");
  if (!valid_graph(job.linked.graph)) return broken("its graph has ids that point nowhere");
  if (!valid_matches(job)) return broken("its matches have ids that point nowhere");
  return job;
}

}  // namespace lumos
