#include "lumos/trace/write/perfetto_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <set>
#include <unordered_map>

#include "lumos/trace/table/kernel_name.h"
#include "lumos/trace/table/launch_flows.h"
#include "lumos/trace/table/nesting.h"
#include "lumos/trace/table/track_layout.h"
#include "lumos/trace/write/output_file.h"

namespace lumos {

namespace {

using protozero::pbf_writer;

// Field numbers, by message.
namespace trace {
constexpr protozero::pbf_tag_type kPacket = 1;
}
namespace packet {
constexpr protozero::pbf_tag_type kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kInternedData = 12,
                                  kSequenceFlags = 13, kTrackDescriptor = 60;
constexpr uint32_t kStateCleared = 1, kNeedsState = 2;  // SequenceFlags
}  // namespace packet
namespace track {
constexpr protozero::pbf_tag_type kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8;
}
namespace process {
constexpr protozero::pbf_tag_type kPid = 1, kName = 6;
}
namespace thread {
constexpr protozero::pbf_tag_type kPid = 1, kTid = 2, kName = 5;
}
namespace event {
constexpr protozero::pbf_tag_type kCategoryIid = 3, kAnnotation = 4, kType = 9, kNameIid = 10, kTrack = 11,
                                  kDoubleCounterValue = 44, kFlow = 47, kTerminatingFlow = 48;
constexpr int32_t kSliceBegin = 1, kSliceEnd = 2, kCounter = 4;  // Type
}  // namespace event
namespace annotation {
constexpr protozero::pbf_tag_type kNameIid = 1, kInt = 4, kString = 6;
}
namespace interned {
constexpr protozero::pbf_tag_type kCategories = 1, kNames = 2, kAnnotationNames = 3;
constexpr protozero::pbf_tag_type kIid = 1, kText = 2;  // of an entry
}  // namespace interned

std::string_view category(EventKind kind) {
  switch (kind) {
    case EventKind::kCpuOp:
      return "operator";
    case EventKind::kAnnotation:
    case EventKind::kGpuAnnotation:
      return "annotation";
    case EventKind::kRuntime:
      return "runtime";
    case EventKind::kKernel:
      return "kernel";
    case EventKind::kMemcpy:
      return "copy";
    case EventKind::kMemset:
      return "fill";
    case EventKind::kSync:
      return "synchronisation";
    case EventKind::kModule:
      return "module";
    case EventKind::kOverhead:
      break;
  }
  return "overhead";
}

/// Texts that packets refer to by number. New ones travel in the packet that uses them first.
class Interner {
 public:
  explicit Interner(protozero::pbf_tag_type field) : field_(field) {}

  uint64_t id(std::string_view text) {
    auto [it, fresh] = ids_.try_emplace(std::string(text), ids_.size() + 1);
    if (fresh) new_.push_back(&*it);
    return it->second;
  }

  bool has_new() const { return !new_.empty(); }
  void write_new(pbf_writer& data) {
    for (const auto* entry : new_) {
      pbf_writer message(data, field_);
      message.add_uint64(interned::kIid, entry->second);
      message.add_string(interned::kText, entry->first);
    }
    new_.clear();
  }

 private:
  protozero::pbf_tag_type field_;
  std::unordered_map<std::string, uint64_t> ids_;
  std::vector<const std::pair<const std::string, uint64_t>*> new_;
};

/// What a slice is called: short for kernels; for communication what it does and among whom.
std::string slice_name(const EventTable& table, uint32_t row) {
  const CollectiveDetail* c = is_gpu_work(table.kind[row]) ? table.collective_detail(row) : nullptr;
  if (c != nullptr && c->collective != kNoName) {
    const NameId group = c->group_desc != kNoName ? c->group_desc : c->group_name;
    return fmt::format("{}{}{}", table.text(c->collective), group != kNoName ? ", group " : "", table.text(group));
  }
  if (table.kind[row] == EventKind::kKernel) return short_kernel_name(table.name_of(row));
  return std::string(table.name_of(row));
}

class Writer {
 public:
  Writer(OutputFile& file, int64_t origin_ns) : file_(file), origin_ns_(origin_ns) {}

  void rank(const PerfettoRank& rank) {
    table_ = rank.table;
    nested_ = nesting(*table_);
    layout_ = track_layout(*table_, nested_);
    first_track_ = next_uuid_;
    next_uuid_ += layout_.tracks.size();
    collect_flows();
    describe_tracks(rank.label);
    std::vector<std::vector<uint32_t>> rows(layout_.tracks.size());
    for (uint32_t row : nested_.order) rows[layout_.track[row]].push_back(row);
    for (uint32_t t = 0; t < rows.size(); ++t) slices(first_track_ + t, rows[t]);
    for (const CounterCurve& curve : rank.counters) counter(rank.label, curve);
  }

  void finish() { flush(0); }

 private:
  void flush(size_t keep_below) {
    if (out_.size() <= keep_below) return;
    file_.write(out_);
    out_.clear();
  }

  /// Writes one packet: `fill` adds its content; sequence fields and new texts are added around it.
  template <class Fill>
  void write_packet(Fill fill) {
    packet_.clear();
    pbf_writer message(packet_);
    fill(message);
    if (names_.has_new() || categories_.has_new() || annotation_names_.has_new()) {
      pbf_writer data(message, packet::kInternedData);
      categories_.write_new(data);
      names_.write_new(data);
      annotation_names_.write_new(data);
    }
    message.add_uint32(packet::kSequenceId, 1);
    message.add_uint32(packet::kSequenceFlags, first_packet_ ? packet::kStateCleared : packet::kNeedsState);
    first_packet_ = false;
    pbf_writer(out_).add_message(trace::kPacket, packet_);
    constexpr size_t kBufferBytes = 1 << 20;
    flush(kBufferBytes);
  }

  void collect_flows() {
    starts_.clear();
    ends_.clear();
    for (const LaunchFlow& flow : launch_flows(*table_)) {
      starts_[flow.call].push_back(++flow_id_);
      ends_[flow.work].push_back(flow_id_);
    }
    std::map<int64_t, uint64_t> ids;  // A fwdbwd pair of this rank -> its number in the file.
    for (const FlowEnd& end : table_->fwdbwd) {
      const uint32_t row = innermost_row(*table_, nested_, end.lane, end.ts_ns);
      if (row == kNoIndex) continue;
      auto [it, fresh] = ids.try_emplace(end.id, flow_id_ + 1);
      if (fresh) ++flow_id_;
      (end.is_start ? starts_ : ends_)[row].push_back(it->second);
    }
  }

  void describe_tracks(const std::string& label) {
    std::map<std::pair<bool, NameId>, uint64_t> groups;
    for (uint32_t t = 0; t < layout_.tracks.size(); ++t) {
      const Track& track = layout_.tracks[t];
      const Lane& lane = table_->lanes[track.lane];
      auto [group, fresh] = groups.try_emplace({lane.is_gpu, lane.pid_text}, next_uuid_);
      if (fresh) describe_group(next_uuid_++, label, lane);
      describe_track(first_track_ + t, group->second, track, lane);
    }
  }

  /// A process for threads; for a GPU a plain group, since its number is no process id.
  void describe_group(uint64_t uuid, const std::string& label, const Lane& lane) {
    const std::string_view pid_text = table_->text(lane.pid_text);
    const std::string name = fmt::format("{} {} {}", label, lane.is_gpu ? "GPU" : "process", pid_text);
    if (!lane.is_gpu) {
      int32_t pid = lane.pid > 0 && lane.pid < INT32_MAX ? static_cast<int32_t>(lane.pid) : 1;
      while (!pids_.insert(pid).second) ++pid;  // Ranks of several hosts may have the same one.
      pid_of_group_[uuid] = pid;
    }
    write_packet([&](pbf_writer& message) {
      pbf_writer descriptor(message, packet::kTrackDescriptor);
      descriptor.add_uint64(track::kUuid, uuid);
      descriptor.add_string(track::kName, name);
      if (lane.is_gpu) return;
      pbf_writer about(descriptor, track::kProcess);
      about.add_int32(process::kPid, pid_of_group_[uuid]);
      about.add_string(process::kName, name);
    });
  }

  void describe_track(uint64_t uuid, uint64_t group, const Track& track, const Lane& lane) {
    write_packet([&](pbf_writer& message) {
      pbf_writer descriptor(message, packet::kTrackDescriptor);
      descriptor.add_uint64(track::kUuid, uuid);
      descriptor.add_uint64(track::kParent, group);
      descriptor.add_string(track::kName, track.name);
      const bool is_thread = !lane.is_gpu && track.overflow == 0 && lane.tid > 0 && lane.tid < INT32_MAX;
      if (!is_thread) return;
      pbf_writer about(descriptor, track::kThread);
      about.add_int32(thread::kPid, pid_of_group_[group]);
      about.add_int32(thread::kTid, static_cast<int32_t>(lane.tid));
      about.add_string(thread::kName, track.name);
    });
  }

  uint64_t timestamp(int64_t ns) const { return static_cast<uint64_t>(ns - origin_ns_); }

  void slices(uint64_t uuid, const std::vector<uint32_t>& rows) {
    std::vector<int64_t> open;
    const auto close_until = [&](int64_t ns) {
      while (!open.empty() && open.back() <= ns) {
        end_slice(uuid, open.back());
        open.pop_back();
      }
    };
    for (uint32_t row : rows) {
      close_until(table_->ts_ns[row]);
      begin_slice(uuid, row);
      open.push_back(table_->ts_ns[row] + layout_.shown_ns[row]);
    }
    close_until(INT64_MAX);
  }

  void begin_slice(uint64_t uuid, uint32_t row) {
    write_packet([&](pbf_writer& message) {
      message.add_uint64(packet::kTimestamp, timestamp(table_->ts_ns[row]));
      pbf_writer slice(message, packet::kTrackEvent);
      slice.add_enum(event::kType, event::kSliceBegin);
      slice.add_uint64(event::kTrack, uuid);
      slice.add_uint64(event::kNameIid, names_.id(slice_name(*table_, row)));
      slice.add_uint64(event::kCategoryIid, categories_.id(category(table_->kind[row])));
      annotate(slice, row);
      if (auto flows = starts_.find(row); flows != starts_.end()) {
        for (uint64_t id : flows->second) slice.add_fixed64(event::kFlow, id);
      }
      if (auto flows = ends_.find(row); flows != ends_.end()) {
        for (uint64_t id : flows->second) slice.add_fixed64(event::kTerminatingFlow, id);
      }
    });
  }

  void end_slice(uint64_t uuid, int64_t ns) {
    write_packet([&](pbf_writer& message) {
      message.add_uint64(packet::kTimestamp, timestamp(ns));
      pbf_writer slice(message, packet::kTrackEvent);
      slice.add_enum(event::kType, event::kSliceEnd);
      slice.add_uint64(event::kTrack, uuid);
    });
  }

  void annotate(pbf_writer& slice, uint32_t row) {
    const auto text = [&](std::string_view name, std::string_view value) {
      if (value.empty()) return;
      pbf_writer message(slice, event::kAnnotation);
      message.add_uint64(annotation::kNameIid, annotation_names_.id(name));
      message.add_string(annotation::kString, value.data(), value.size());
    };
    const auto integer = [&](std::string_view name, int64_t value) {
      pbf_writer message(slice, event::kAnnotation);
      message.add_uint64(annotation::kNameIid, annotation_names_.id(name));
      message.add_int64(annotation::kInt, value);
    };
    if (table_->correlation[row] >= 0) integer("correlation", table_->correlation[row]);
    if (table_->kind[row] == EventKind::kKernel) text("kernel", table_->name_of(row));
    if (const GpuDetail* gpu = table_->gpu_detail(row)) {
      if (gpu->grid[0] > 0) text("grid", fmt::format("{} x {} x {}", gpu->grid[0], gpu->grid[1], gpu->grid[2]));
      if (gpu->block[0] > 0) text("block", fmt::format("{} x {} x {}", gpu->block[0], gpu->block[1], gpu->block[2]));
      if (gpu->bytes > 0) integer("bytes", gpu->bytes);
    }
    if (const OpDetail* op = table_->op_detail(row)) text("input dims", table_->text(op->input_dims));
    if (const CollectiveDetail* c = table_->collective_detail(row)) {
      text("collective", table_->text(c->collective));
      text("group", table_->text(c->group_name));
      text("group ranks", table_->text(c->group_ranks));
      text("dtype", table_->text(c->dtype));
      if (c->in_elements >= 0) integer("elements in", c->in_elements);
      if (c->out_elements >= 0) integer("elements out", c->out_elements);
      if (c->sequence >= 0) integer("sequence", c->sequence);
    }
  }

  void counter(const std::string& label, const CounterCurve& curve) {
    const uint64_t uuid = next_uuid_++;
    write_packet([&](pbf_writer& message) {
      pbf_writer descriptor(message, packet::kTrackDescriptor);
      descriptor.add_uint64(track::kUuid, uuid);
      descriptor.add_string(track::kName, label + " " + curve.name);
      descriptor.add_message(track::kCounter, std::string());  // What makes it a counter, even when empty.
    });
    for (const CounterCurve::Point& point : curve.points) {
      write_packet([&](pbf_writer& message) {
        message.add_uint64(packet::kTimestamp, timestamp(point.ts_ns));
        pbf_writer sample(message, packet::kTrackEvent);
        sample.add_enum(event::kType, event::kCounter);
        sample.add_uint64(event::kTrack, uuid);
        sample.add_double(event::kDoubleCounterValue, point.value);
      });
    }
  }

  OutputFile& file_;
  const int64_t origin_ns_;
  std::string out_;
  std::string packet_;
  bool first_packet_ = true;
  Interner categories_{interned::kCategories};
  Interner names_{interned::kNames};
  Interner annotation_names_{interned::kAnnotationNames};
  uint64_t next_uuid_ = 1;
  uint64_t flow_id_ = 0;
  std::set<int32_t> pids_;
  std::map<uint64_t, int32_t> pid_of_group_;

  // Of the rank being written.
  const EventTable* table_ = nullptr;
  Nesting nested_;
  TrackLayout layout_;
  uint64_t first_track_ = 0;
  std::unordered_map<uint32_t, std::vector<uint64_t>> starts_;
  std::unordered_map<uint32_t, std::vector<uint64_t>> ends_;
};

}  // namespace

Status write_perfetto_trace(const std::vector<PerfettoRank>& ranks, const std::string& path) {
  int64_t origin_ns = 0;  // Timestamps are unsigned: a table that begins before 0 moves everything.
  for (const PerfettoRank& rank : ranks) {
    for (int64_t ts_ns : rank.table->ts_ns) origin_ns = std::min(origin_ns, ts_ns);
  }
  OutputFile file = TRY(OutputFile::open(path));
  Writer writer(file, origin_ns);
  for (const PerfettoRank& rank : ranks) writer.rank(rank);
  writer.finish();
  return file.close();
}

}  // namespace lumos
