#include "lumos/graph/waits/sharded_units.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "lumos/graph/host/collective.h"
#include "lumos/trace/words/collective_kind.h"
#include "lumos/trace/words/unit_work.h"

namespace lumos {

namespace {

// Where in a unit's life a launch stands.
enum class Part : uint8_t { kNone, kCopyIn, kGather, kCopyOut, kReduceCopyIn, kReduce, kAllReduce };

Part part_of_operator(std::string_view name) {
  switch (unit_work_of_operator(name)) {
    case UnitWork::kCopyIn:
      return Part::kCopyIn;
    case UnitWork::kCopyOut:
      return Part::kCopyOut;
    case UnitWork::kReduceIn:
      return Part::kReduceCopyIn;
    default:
      return Part::kNone;
  }
}

// "layers.3" of "FSDP::all_gather (layers.3)"; empty where the annotation has no name, as in older releases.
std::string_view unit_of(std::string_view annotation) {
  const size_t open = annotation.find(" (");
  return open == std::string_view::npos ? std::string_view() : annotation.substr(open);
}

// Without annotations so many waits in a row behind the last reduction end a backward pass.
constexpr size_t kFewestFinalWaits = 2;

// An event that is kept for later.
struct Kept {
  uint32_t record = kNoIndex;
  std::string_view unit;
  uint32_t launch = kNoIndex;  ///< of a gather
};

class UnitReader {
 public:
  UnitReader(const EventTable& table, const HostProgram& host, const GpuProgram& gpu, const CallContexts& contexts,
             const CurrentStreams& current, const EventPairs& pairs)
      : table_(table), host_(host), gpu_(gpu), contexts_(contexts), current_(current), pairs_(pairs) {
    bool shards = false;
    part_of_name_.resize(table.names->size(), Part::kNone);
    for (uint32_t row = 0; row < table.size(); ++row) {
      if (table.kind[row] == EventKind::kCpuOp) {
        const uint32_t name = static_cast<uint32_t>(table.name[row]);
        if (part_of_name_[name] == Part::kNone) part_of_name_[name] = part_of_operator(table.name_of(row));
        shards |= part_of_name_[name] == Part::kCopyOut;
      } else if (table.kind[row] == EventKind::kAnnotation) {
        annotated_ |= table.name_of(row).substr(0, kShardedAnnotation.size()) == kShardedAnnotation;
      }
    }
    if (!shards) return;
    out_.record_stream.assign(host.calls.size(), kNoIndex);
    out_.waits.resize(host.calls.size());
    threads_.resize(host.threads.size());
  }

  UnitEvents run() {
    if (threads_.empty()) return std::move(out_);
    for (uint32_t c = 0; c < host_.calls.size(); ++c) {
      if (contexts_.launch_stream[c] != kNoIndex) {
        launch(c);
      } else if (contexts_.of_call[c].collective_scope != kNoIndex) {
        continue;  // the process group's and NCCL's own
      } else if (host_.calls[c].kind == CallKind::kRecord) {
        record(c);
      } else if (host_.calls[c].kind == CallKind::kWait) {
        wait(c);
      }
    }
    for (uint32_t t = 0; t < threads_.size(); ++t) end_of_backward(t);
    return std::move(out_);
  }

 private:
  struct Thread {
    Part part = Part::kNone;  ///< of the last launch, until its event is recorded
    uint32_t last_launch = kNoIndex;
    bool copied_in = false;            ///< and not yet gathered
    bool copied_gradients = false;     ///< and not yet reduced
    bool reduction_recorded = false;   ///< the event of the reduction itself, before what is done with its result
    bool told = false;                 ///< a unit's event was recorded, with nothing launched since
    uint32_t copy_out = kNoIndex;      ///< likewise, of a copy-out
    std::vector<uint32_t> lone_waits;  ///< since the last launch
  };

  void launch(uint32_t c) {
    const uint32_t thread = host_.calls[c].thread;
    Thread& t = threads_[thread];
    const Part part = part_of_launch(c, t);
    if (part == Part::kCopyOut) {
      before_copy_out(t, c);
    } else if (part == Part::kReduceCopyIn) {
      before_gradients(t, c);
      t.copied_gradients = true;
    } else if (part == Part::kCopyIn) {
      t.copied_in = true;
      copy_in_stream_ = contexts_.launch_stream[c];
    } else if (part == Part::kGather) {
      t.copied_in = false;
      gather_stream_ = contexts_.launch_stream[c];
    } else if (part == Part::kReduce) {
      t.copied_gradients = t.reduction_recorded = false;
    }
    if (part != Part::kCopyOut && part != Part::kReduceCopyIn) end_of_backward(thread);
    if (part != Part::kNone || !belongs_to(t.part, c)) t.part = part;
    t.last_launch = c;
    t.copy_out = kNoIndex;
    t.told = false;
    t.lone_waits.clear();
  }

  // What is done beside the computing stream with a reduction's result still belongs to it, and so does what lays out
  // the parameters that were copied out.
  bool belongs_to(Part part, uint32_t c) const {
    const uint32_t stream = contexts_.launch_stream[c];
    if (part == Part::kCopyOut) return within(c, kCopyOutAnnotation);
    const bool reduces = part == Part::kReduce || part == Part::kAllReduce;
    return reduces && !contexts_.communication_stream[stream] && stream != current_.usual(host_.calls[c].thread);
  }

  Part part_of_launch(uint32_t c, const Thread& t) const {
    const GpuWork& work = gpu_.work[gpu_.by_call[gpu_.by_call_begin[c]]];
    if (!work.communication) {
      for (uint32_t r = host_.parent[host_.calls[c].row]; r != kNoIndex; r = host_.parent[r]) {
        const Part part = part_of_name_[static_cast<uint32_t>(table_.name[r])];
        if (table_.kind[r] == EventKind::kCpuOp && part != Part::kNone) return part;
      }
      return Part::kNone;
    }
    const CollectiveKind kind = collective_kind(work);
    if (kind == CollectiveKind::kAllGather && (t.copied_in || within(c, kGatherAnnotation))) return Part::kGather;
    if (kind == CollectiveKind::kReduceScatter && (t.copied_gradients || within(c, kReduceAnnotation))) {
      return Part::kReduce;
    }
    const bool reduced = t.part == Part::kReduce || t.part == Part::kAllReduce;
    return kind == CollectiveKind::kAllReduce && reduced ? Part::kAllReduce : Part::kNone;
  }

  CollectiveKind collective_kind(const GpuWork& work) const {
    const CollectiveDetail* detail = table_.collective_detail(work.row);
    if (detail != nullptr && detail->collective != kNoName) return kind_of_metadata(table_.text(detail->collective));
    return kind_of_kernel_name(table_.name_of(work.row));
  }

  // A record behind a reduction that brings in the stream of the replicas' all-reduce.
  bool brings_in_replicas(uint32_t c) const {
    const uint32_t next = contexts_.of_call[c].next_launch;
    if (!pairs_.followed[c] || next == kNoIndex) return false;
    const GpuWork& work = gpu_.work[gpu_.by_call[gpu_.by_call_begin[next]]];
    return work.communication && collective_kind(work) == CollectiveKind::kAllReduce;
  }

  void record(uint32_t c) {
    Thread& t = threads_[host_.calls[c].thread];
    switch (t.part) {
      case Part::kGather:
        gathered_.push_back({c, unit_of(annotation(c)), t.last_launch});
        break;
      case Part::kCopyOut:
        copied_out_ = t.copy_out = c;
        break;
      case Part::kReduce:
      case Part::kAllReduce:
        if (brings_in_replicas(c)) return;
        if (!std::exchange(t.reduction_recorded, true)) {
          reduced_ = c;
        } else {
          results_.push_back({c, unit_of(annotation(c)), kNoIndex});
        }
        break;
      default:
        return;
    }
    out_.record_stream[c] = contexts_.launch_stream[t.last_launch];
    t.told = true;
    if (t.part == Part::kGather || t.part == Part::kCopyOut) t.part = Part::kNone;
  }

  void wait(uint32_t c) {
    Thread& t = threads_[host_.calls[c].thread];
    if (t.copy_out != kNoIndex && pairs_.fork[c] != 0) {
      // The gathered buffer is free once it has been copied out: both streams of the next gather wait for that.
      out_.waits[c] = {pairs_.fork[c] == kForkMember ? gather_stream_ : copy_in_stream_, t.copy_out};
      copied_out_ = kNoIndex;
    } else if (pairs_.fork[c] == 0 || t.told) {
      t.lone_waits.push_back(c);
    }
  }

  // Before a copy-out its stream waits for the gather; in the forward pass the streams of the next gather wait for the
  // copy-out before, as its buffer was kept until now.
  void before_copy_out(Thread& t, uint32_t c) {
    const std::vector<uint32_t> waits = waits_before(t, c);
    if (waits.empty() || gathered_.empty()) return;
    const auto gather = gather_of(c, t);
    out_.waits[waits.back()] = {contexts_.launch_stream[c], gather->record};
    gathered_.erase(gather);
    if (waits.size() < 3 || copied_out_ == kNoIndex) return;
    out_.waits[waits[waits.size() - 3]] = {copy_in_stream_, copied_out_};
    out_.waits[waits[waits.size() - 2]] = {gather_stream_, copied_out_};
    copied_out_ = kNoIndex;
  }

  // The gather of a copy-out: of its unit, by name; else the one just made, else the first of its size, else the first.
  std::vector<Kept>::iterator gather_of(uint32_t c, const Thread& t) {
    const std::string_view unit = unit_of(annotation(c));
    if (!unit.empty()) {
      const auto it = std::find_if(gathered_.begin(), gathered_.end(), [&](const Kept& g) { return g.unit == unit; });
      if (it != gathered_.end()) return it;
    }
    if (gathered_.back().launch == t.last_launch) return gathered_.end() - 1;
    return gathered_.begin();
  }

  // Before gradients are copied into the buffer of a reduction, the one before it must have been reduced; with
  // gradients that accumulate the unit's own last result must be there.
  void before_gradients(Thread& t, uint32_t c) {
    const std::vector<uint32_t> waits = waits_before(t, c);
    const uint32_t stream = contexts_.launch_stream[c];
    const std::string_view unit = unit_of(annotation(c));
    for (uint32_t w : waits) {
      if (w == waits.front() && reduced_ != kNoIndex) {
        out_.waits[w] = {stream, std::exchange(reduced_, kNoIndex)};
        continue;
      }
      // Without names it cannot be told which; the reduction before came later on the same stream.
      const auto result = std::find_if(results_.begin(), results_.end(), [&](const Kept& r) { return r.unit == unit; });
      if (unit.empty() || result == results_.end()) {
        out_.waits[w] = {stream, out_.waits[waits.front()].record};
        continue;
      }
      out_.waits[w] = {stream, result->record};
      results_.erase(result);
    }
  }

  // At the end of the last backward pass the program's stream waits for every unit's result, and the last reduction.
  void end_of_backward(uint32_t thread) {
    Thread& t = threads_[thread];
    std::vector<uint32_t> waits;
    for (uint32_t w : t.lone_waits) {
      if (annotated_ ? within(w, kBackwardEndAnnotation) : operator_around(w) == kNoIndex) waits.push_back(w);
    }
    if (!annotated_ && (waits.size() < kFewestFinalWaits || waits.size() < results_.size())) return;
    if (waits.empty() || results_.empty()) return;
    for (size_t i = 0; i < waits.size(); ++i) {
      const uint32_t record = i < results_.size() ? results_[i].record : reduced_;
      if (record != kNoIndex) out_.waits[waits[i]] = {current_.usual(thread), record};
    }
    results_.clear();
    reduced_ = kNoIndex;
  }

  // Of the lone waits before a copy those that its unit made: in the same operator, under one of its annotations.
  std::vector<uint32_t> waits_before(const Thread& t, uint32_t c) const {
    std::vector<uint32_t> out;
    const int64_t at = table_.ts_ns[host_.calls[c].row];
    for (uint32_t w : t.lone_waits) {
      const uint32_t op = operator_around(w);
      if (op != kNoIndex && table_.end_ns(op) <= at) continue;
      if (!annotated_ || within(w, kShardedAnnotation)) out.push_back(w);
    }
    return out;
  }

  uint32_t operator_around(uint32_t c) const {
    uint32_t r = host_.parent[host_.calls[c].row];
    while (r != kNoIndex && table_.kind[r] != EventKind::kCpuOp) r = host_.parent[r];
    return r;
  }

  // The innermost annotation of fully_shard around a call; empty where there is none.
  std::string_view annotation(uint32_t c) const {
    if (!annotated_) return {};
    for (uint32_t r = host_.parent[host_.calls[c].row]; r != kNoIndex; r = host_.parent[r]) {
      if (table_.kind[r] != EventKind::kAnnotation) continue;
      if (table_.name_of(r).substr(0, kShardedAnnotation.size()) == kShardedAnnotation) return table_.name_of(r);
    }
    return {};
  }

  bool within(uint32_t c, std::string_view prefix) const { return annotation(c).substr(0, prefix.size()) == prefix; }

  const EventTable& table_;
  const HostProgram& host_;
  const GpuProgram& gpu_;
  const CallContexts& contexts_;
  const CurrentStreams& current_;
  const EventPairs& pairs_;
  std::vector<Part> part_of_name_;
  bool annotated_ = false;
  std::vector<Thread> threads_;
  uint32_t copy_in_stream_ = kNoIndex, gather_stream_ = kNoIndex;
  std::vector<Kept> gathered_;      // gathers that have not been copied out
  uint32_t copied_out_ = kNoIndex;  // the last copy-out, while nobody has waited for it
  uint32_t reduced_ = kNoIndex;     // the last reduction, likewise
  std::vector<Kept> results_;       // of reductions, likewise
  UnitEvents out_;
};

}  // namespace

UnitEvents find_unit_events(const EventTable& table, const HostProgram& host, const GpuProgram& gpu,
                            const CallContexts& contexts, const CurrentStreams& current, const EventPairs& pairs) {
  return UnitReader(table, host, gpu, contexts, current, pairs).run();
}

}  // namespace lumos
