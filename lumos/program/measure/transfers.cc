#include "lumos/program/measure/transfers.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "lumos/graph/match/match_collect.h"
#include "lumos/plan/ops/layout.h"
#include "lumos/plan/parameters.h"
#include "lumos/program/measure/network.h"

namespace lumos {
namespace {

/// Where some members were not traced, the transfer is taken to be no more than this quantile of equal collectives:
/// some traced rank is last now and then, and the shortest of many is noise.
constexpr double kAloneQuantile = 0.2;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

CommKind kind_of(CollectiveKind collective) {
  switch (collective) {
    case CollectiveKind::kReduceScatter:
      return CommKind::kReduceScatter;
    case CollectiveKind::kAllGather:
      return CommKind::kAllGather;
    case CollectiveKind::kBroadcast:
      return CommKind::kBroadcast;
    case CollectiveKind::kSendRecv:
    case CollectiveKind::kAllToAll:
      return CommKind::kPointToPoint;
    default:
      return CommKind::kAllReduce;
  }
}

CommScope scope_of_ranks(const Job& job, const std::vector<int32_t>& ranks) {
  const DimensionSet along = mesh_of(job).spanned(ranks);
  if (along.has(Dimension::kPipeline))
    return ranks.size() == 2 && along == Dimension::kPipeline ? CommScope::kEmbedding : CommScope::kModel;
  return along.has(Dimension::kData) ? CommScope::kData : CommScope::kTensor;
}

/// By Megatron's names of groups, where the list of members is cut.
std::optional<CommScope> scope_of_description(std::string_view description) {
  // Longer names first where one contains another.
  constexpr std::array<std::pair<std::string_view, CommScope>, 5> kWords = {{
      {"TENSOR_MODEL_PARALLEL", CommScope::kTensor},
      {"DATA_PARALLEL", CommScope::kData},
      {"EMBEDDING", CommScope::kEmbedding},
      {"MODEL_PARALLEL_GROUP", CommScope::kModel},
      {"default_pg", CommScope::kModel},
  }};
  for (const auto& [word, scope] : kWords)
    if (contains(description, word)) return scope;
  return std::nullopt;
}

/// Scopes of a rank's communication streams where the metadata does not tell: NCCL gives each group a stream, and what
/// the program does there tells the group.
std::map<int64_t, CommScope> scopes_of_streams(const RankProgram& rank, const Job& job) {
  struct Use {
    uint32_t in_layers = 0, sharded = 0, late = 0, optimizer = 0, other = 0;
  };
  std::map<int64_t, Use> uses;
  const EventTable& table = *rank.table;
  for (size_t i = 0; i < rank.recovered.list.launches.size(); ++i) {
    const Launch& launch = rank.recovered.list.launches[i];
    if (!launch.is_communication || launch.is_p2p()) continue;
    Use& use = uses[table.lanes[table.lane[launch.gpu_row]].tid];
    const Label& label = rank.recovered.labels[i];
    const CommKind kind = kind_of(launch.collective);
    use.in_layers += label.layer >= 0 && label.phase == Phase::kForward;
    use.sharded += kind == CommKind::kReduceScatter || kind == CommKind::kAllGather || label.phase == Phase::kBackward;
    use.late += label.phase == Phase::kGradSync;
    use.optimizer += label.phase == Phase::kOptimizer;
    use.other++;
  }
  std::map<int64_t, CommScope> scopes;
  uint32_t most_in_layers = 0;
  for (auto& [stream, use] : uses) most_in_layers = std::max(most_in_layers, use.in_layers);
  for (auto& [stream, use] : uses) {
    if (job.tensor_model_parallel_size > 1 && use.in_layers > 0 && use.in_layers == most_in_layers)
      scopes[stream] = CommScope::kTensor;
    else if (use.sharded > 0)
      scopes[stream] = CommScope::kData;
    else if (use.late > 0)
      scopes[stream] = job.pipeline_model_parallel_size > 1 ? CommScope::kEmbedding : CommScope::kData;
    else if (use.optimizer > 0)
      scopes[stream] = CommScope::kModel;
    else
      scopes[stream] = CommScope::kData;
  }
  return scopes;
}

/// Bytes that the job's sizes imply, for traces without metadata. Buckets are taken to be equal.
void imply_bytes(const RankProgram& rank, const Job& job, RankTransfers& out) {
  std::map<CommKind, std::map<int16_t, int64_t>> buckets;  // kind -> step -> how many
  auto label_of = [&](const Transfer& transfer) -> const Label& {
    return rank.recovered.labels[rank.recovered.list.launch_of_row[transfer.row]];
  };
  auto is_bucket = [&](const Transfer& transfer) {
    return transfer.scope == CommScope::kData && label_of(transfer).phase != Phase::kForward;
  };
  for (const Transfer& transfer : out.transfers)
    if (is_bucket(transfer) && label_of(transfer).step >= 0) ++buckets[transfer.kind][label_of(transfer).step];
  const int64_t stage = position_of(job, rank.rank)[Dimension::kPipeline];
  const auto parameters = static_cast<double>(stage_parameters(job, stage).total());
  for (Transfer& transfer : out.transfers) {
    if (transfer.bytes >= 0) continue;
    const Label& label = label_of(transfer);
    if (is_bucket(transfer)) {
      int64_t most = 1;
      for (auto& [step, count] : buckets[transfer.kind]) most = std::max(most, count);
      const bool gradients = transfer.kind != CommKind::kAllGather && job.grad_reduce_in_fp32;
      transfer.bytes =
          static_cast<int64_t>(parameters * static_cast<double>(gradients ? 4 : element_bytes(job))) / most;
    } else if (transfer.scope == CommScope::kData) {
      transfer.bytes = 4;  // the loss
    } else if (transfer.scope == CommScope::kTensor && label.layer < 0 && transfer.kind == CommKind::kBroadcast) {
      transfer.bytes = job.micro_batch_size * job.seq_length * 8;
    }
  }
}

RankTransfers list_transfers(const RankProgram& rank, const Job& job) {
  RankTransfers out;
  const EventTable& table = *rank.table;
  out.of_row.assign(table.size(), kNoIndex);
  const std::map<int64_t, CommScope> by_stream = scopes_of_streams(rank, job);
  for (const Launch& launch : rank.recovered.list.launches) {
    if (!launch.is_communication) continue;
    const uint32_t row = launch.gpu_row;
    Transfer transfer;
    transfer.row = row;
    const CollectiveDetail* detail = table.collective_detail(row);
    transfer.kind = kind_of(launch.collective);
    std::vector<int32_t> ranks;
    std::optional<CommScope> described;
    if (detail) {
      transfer.bytes = collective_bytes(launch.collective, *detail, table.text(detail->dtype));
      ranks = listed_ranks(table, *detail);
      const bool cut = ranks.empty() && !table.text(detail->group_ranks).empty();
      if (cut) described = scope_of_description(table.text(detail->group_desc));
    }
    if (launch.is_p2p()) {
      transfer.scope = CommScope::kPipeline;
      transfer.sends = launch.sends;
      transfer.receives = launch.receives;
    } else if (ranks.size() > 1) {
      transfer.scope = scope_of_ranks(job, ranks);
    } else if (described) {
      transfer.scope = *described;
    } else if (auto found = by_stream.find(table.lanes[table.lane[row]].tid); found != by_stream.end()) {
      transfer.scope = found->second;
    }
    out.of_row[row] = static_cast<uint32_t>(out.transfers.size());
    out.transfers.push_back(transfer);
  }
  imply_bytes(rank, job, out);
  return out;
}

/// Messages within a node and between nodes take different times: a stage may have one of each.
void mark_messages_between_nodes(const RankProgram& rank, const RankCatalog& catalog, const Job& job,
                                 RankTransfers& out) {
  const int64_t stages = job.pipeline_model_parallel_size, stage = position_of(job, rank.rank)[Dimension::kPipeline];
  const int64_t usual_border = stage + 1 < stages ? stage : stage - 1;
  for (Transfer& transfer : out.transfers) {
    if (transfer.scope == CommScope::kPipeline && stages > 1)
      transfer.between_nodes = span_of_border(job, usual_border).crosses_nodes();
  }
  for (const StepBlocks& step : catalog.steps) {
    for (const ExchangeBlock& exchange : step.exchanges) {
      if (exchange.sends.empty() && exchange.receives.empty()) continue;
      bool between_nodes = false;
      for (const auto* tensors : {&exchange.sends, &exchange.receives}) {
        for (const Tensor& tensor : *tensors)
          between_nodes |= span_of_border(job, tensor.virtual_stage).crosses_nodes();
      }
      const Block& block = rank.blocks[exchange.block];
      for (uint32_t l = block.launch_begin; l < block.launch_end; ++l) {
        const uint32_t row = rank.recovered.list.launches[l].gpu_row;
        const uint32_t index = row == kNoIndex ? kNoIndex : out.of_row[row];
        if (index != kNoIndex) out.transfers[index].between_nodes = between_nodes;
      }
    }
  }
}

/// One collective as its members see it: who, and which one in order.
using Meeting = std::tuple<CommScope, int64_t, int16_t, size_t, uint32_t>;

/// `stream` counts the streams that a rank has for the scope (groups of the same members have streams of their own),
/// `ordinal` what came on it.
Meeting meeting_of(const Mesh& mesh, int32_t rank, const Transfer& transfer, int16_t step, size_t stream,
                   uint32_t ordinal) {
  Position first = mesh.position(rank);  // of the group's members
  switch (transfer.scope) {
    case CommScope::kTensor:
      first[Dimension::kTensor] = 0;
      break;
    case CommScope::kData:
      first[Dimension::kData] = 0;
      break;
    case CommScope::kEmbedding:
      first[Dimension::kPipeline] = 0;
      break;
    case CommScope::kModel:
      first = {};
      break;
    case CommScope::kPipeline:
      break;  // matched by what is sent, see plan
  }
  return {transfer.scope, mesh.rank_at(first), step, stream, ordinal};
}

void split_durations(const Program& program, const Job& job, std::vector<RankTransfers>& all) {
  const Mesh mesh = mesh_of(job);
  std::map<Meeting, std::vector<std::pair<size_t, uint32_t>>> meetings;
  using Equal = std::tuple<CommScope, CommKind, int64_t, bool>;
  const auto equal_to = [](const Transfer& t) { return Equal{t.scope, t.kind, t.bytes, t.between_nodes}; };
  std::map<Equal, std::vector<int64_t>> equal;
  for (size_t r = 0; r < all.size(); ++r) {
    const RankProgram& rank = program.ranks[r];
    std::map<std::pair<int64_t, int16_t>, uint32_t> ordinals;
    std::map<CommScope, std::vector<int64_t>> streams;  // in the order in which they appear
    for (uint32_t i = 0; i < all[r].transfers.size(); ++i) {
      Transfer& transfer = all[r].transfers[i];
      transfer.transfer_ns = rank.table->dur_ns[transfer.row];
      equal[equal_to(transfer)].push_back(transfer.transfer_ns);
      const uint32_t launch = rank.recovered.list.launch_of_row[transfer.row];
      const int16_t step = rank.recovered.labels[launch].step;
      if (transfer.scope == CommScope::kPipeline || step < 0) continue;
      const int64_t stream = rank.table->lanes[rank.table->lane[transfer.row]].tid;
      const uint32_t ordinal = ordinals[{stream, step}]++;
      std::vector<int64_t>& known = streams[transfer.scope];
      const auto at = std::find(known.begin(), known.end(), stream) - known.begin();
      if (at == std::ssize(known)) known.push_back(stream);
      meetings[meeting_of(mesh, rank.rank, transfer, step, static_cast<size_t>(at), ordinal)].emplace_back(r, i);
    }
  }
  std::erase_if(meetings, [](const auto& meeting) { return meeting.second.size() < 2; });
  const auto shortest_of = [&](const std::vector<std::pair<size_t, uint32_t>>& members) {
    int64_t shortest = INT64_MAX;
    for (auto [r, i] : members) shortest = std::min(shortest, all[r].transfers[i].transfer_ns);
    return shortest;
  };
  const auto is_complete = [&](const std::vector<std::pair<size_t, uint32_t>>& members) {
    const auto [r, i] = members[0];
    const int64_t stage = mesh.position(program.ranks[r].rank)[Dimension::kPipeline];
    return std::ssize(members) >= span_of(job, all[r].transfers[i].scope, stage, stage).members;
  };
  // Where some members were not traced, all that were may have waited for one of those.
  std::map<Equal, std::vector<int64_t>> partial;
  for (auto& [key, members] : meetings) {
    const Transfer& first = all[members[0].first].transfers[members[0].second];
    if (!is_complete(members)) partial[equal_to(first)].push_back(shortest_of(members));
  }
  for (auto* lists : {&equal, &partial})
    for (auto& [key, durations] : *lists) std::sort(durations.begin(), durations.end());
  const auto low = [](const std::vector<int64_t>& sorted) {
    return sorted[static_cast<size_t>(kAloneQuantile * static_cast<double>(sorted.size() - 1))];
  };
  uint32_t meeting = 0;
  for (auto& [key, members] : meetings) {
    ++meeting;
    const Transfer& first = all[members[0].first].transfers[members[0].second];
    const bool complete = is_complete(members);
    int64_t shortest = shortest_of(members);
    // Without sizes, equal ones are not told from others.
    if (!complete && first.bytes > 0) shortest = std::min(shortest, low(partial[equal_to(first)]));
    for (auto [r, i] : members) {
      Transfer& transfer = all[r].transfers[i];
      transfer.wait_ns = transfer.transfer_ns - shortest;
      transfer.transfer_ns = shortest;
      transfer.matched = true;
      transfer.complete = complete;
      transfer.meeting = meeting;
    }
  }
  for (size_t r = 0; r < all.size(); ++r) {
    for (uint32_t i = 0; i < all[r].transfers.size(); ++i) {
      Transfer& transfer = all[r].transfers[i];
      if (transfer.matched) continue;
      transfer.wait_ns = std::max<int64_t>(0, transfer.transfer_ns - low(equal[equal_to(transfer)]));
      transfer.transfer_ns -= transfer.wait_ns;
    }
  }
}

}  // namespace

std::vector<RankTransfers> find_transfers(const Program& program, const std::vector<RankCatalog>& catalogs,
                                          const Job& job) {
  std::vector<RankTransfers> all;
  for (size_t r = 0; r < program.ranks.size(); ++r) {
    all.push_back(list_transfers(program.ranks[r], job));
    mark_messages_between_nodes(program.ranks[r], catalogs[r], job, all.back());
  }
  split_durations(program, job, all);
  return all;
}

}  // namespace lumos
