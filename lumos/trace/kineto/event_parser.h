// Events of one block of text to rows with block-local names and lanes. Runs in parallel, one parser per worker; the
// results are put together in file order by trace/kineto/table_builder, so that the table is the same for any number of
// workers.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "lumos/trace/kineto/distinct.h"
#include "lumos/trace/kineto/event_fields.h"
#include "lumos/trace/kineto/read_issue.h"
#include "lumos/trace/kineto/splitter.h"
#include "lumos/trace/table/event_table.h"
#include "lumos/trace/table/flow_links.h"

namespace lumos {

/// A row whose name, lane and detail are indexes into its ParsedBlock.
struct ParsedRow {
  int64_t ts_ns = 0;
  int64_t dur_ns = 0;
  int64_t correlation = -1;
  uint32_t name = 0;
  uint32_t lane = 0;
  uint32_t external_id = 0;
  uint32_t detail = kNoIndex;
  EventKind kind = EventKind::kCpuOp;
  char phase = 'X';  ///< 'B' and 'E' rows are the two halves of one event
};

struct ParsedLane {
  bool is_gpu = false;
  std::string_view pid;
  std::string_view tid;
  bool operator==(const ParsedLane&) const = default;
};

/// thread_name or process_name metadata, or our own overlap_of: the track holds rows of another one, which a viewer
/// could not draw there.
struct ParsedLabel {
  enum class Kind : uint8_t { kThread, kProcess, kOverlapOf };
  std::string_view pid;
  std::string_view tid;  ///< of a thread
  uint32_t label = 0;    ///< index into ParsedBlock::names
  Kind kind = Kind::kThread;
};

/// What one block holds. Views point into the block's text or into `owned`; every NameId is an index into `names`.
struct ParsedBlock {
  std::vector<std::string_view> names;
  std::vector<ParsedLane> lanes;
  std::vector<ParsedRow> rows;
  std::vector<GpuDetail> gpu;
  std::vector<OpDetail> ops;
  std::vector<SyncDetail> syncs;
  std::vector<CollectiveDetail> collectives;
  std::vector<FlowEnd> fwdbwd;
  std::vector<FlowLink> launches;
  std::vector<ParsedLabel> labels;
  std::deque<std::string> owned;
  uint64_t events = 0;
  uint64_t left_out_python = 0;
  uint64_t left_out_flows = 0;
  uint64_t left_out_other = 0;
  DamageCounts damage;

  void clear();
};

uint64_t hash_of(const GpuDetail& detail);
uint64_t hash_of(const OpDetail& detail);

/// Reusable between blocks.
class EventParser {
 public:
  /// Fills `out` from `block`, which must stay as long as `out` is used.
  void parse(const TextBlock& block, ParsedBlock& out);

 private:
  bool parse_slice(std::string_view slice, bool is_whole);
  bool is_clean(std::string_view slice);
  void recover(std::string_view region, bool is_last);
  void recover_event(std::string_view piece, bool may_be_cut);
  void parse_tail(std::string_view tail, bool is_cut_short);

  void emit(const EventFields& fields);
  void emit_row(const EventFields& fields, char phase);
  void emit_flow(const EventFields& fields);
  void emit_metadata(const EventFields& fields);
  bool row_times(const EventFields& fields, EventKind kind, ParsedRow& row);
  uint32_t gpu_detail(const EventFields& fields);
  uint32_t op_detail(const EventFields& fields);
  uint32_t sync_detail(const EventFields& fields);
  uint32_t collective_detail(const EventFields& fields);

  uint32_t name(const Token& token);
  NameId arg_name(const EventFields& fields, ArgKey key);
  uint32_t lane(bool is_gpu, std::string_view pid, std::string_view tid);
  uint64_t offset_of(std::string_view text) const;

  const TextBlock* block_ = nullptr;
  ParsedBlock* out_ = nullptr;
  uint64_t repaired_offset_ = 0;  // where the event stands that is being read from its repaired copy
  EventFields fields_;
  DistinctIndex name_index_;
  DistinctIndex gpu_index_;
  DistinctIndex op_index_;
  DistinctIndex lane_index_;
  std::vector<bool> name_is_damaged_;
  uint32_t last_lane_ = 0;
};

}  // namespace lumos
