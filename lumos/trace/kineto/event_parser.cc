#include "lumos/trace/kineto/event_parser.h"

#include <algorithm>

#include "lumos/trace/kineto/decimal.h"
#include "lumos/trace/kineto/event_meaning.h"
#include "lumos/trace/kineto/json_scan.h"
#include "lumos/trace/kineto/repair.h"
#include "lumos/trace/table/track_layout.h"

namespace lumos {

namespace {

constexpr int64_t kMaxDurationNs = 24 * 3600 * int64_t{1'000'000'000};  // A profile of a day does not exist.
constexpr size_t kLanesToScan = 8;                                      // Beyond, a lookup by hash is faster.

int64_t int_or(std::string_view token, int64_t otherwise) {
  return token.empty() ? otherwise : parse_int(token).value_or(otherwise);
}

// Chrome lets the ids of flows be texts, such as "0x10" or "aicore_3": FNV-1a of the text then, above all usual
// numbers.
int64_t flow_id(std::string_view token) {
  constexpr int64_t kNoNumber = INT64_MIN;
  if (const int64_t number = int_or(token, kNoNumber); number != kNoNumber) return number;
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : token) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<int64_t>(hash >> 1 | uint64_t{1} << 62);
}

int32_t int32_or(std::string_view token, int32_t otherwise) {
  int64_t value = int_or(token, otherwise);
  return value < INT32_MIN || value > INT32_MAX ? otherwise : static_cast<int32_t>(value);
}

std::optional<int64_t> parse_time(std::string_view token) {
  std::optional<int64_t> time = parse_us_as_ns(token);
  return time && *time <= kLatestTimeNs && *time >= -kLatestTimeNs ? time : std::nullopt;
}

/// Whether a time that could not be taken is one at all: then it is too large.
bool is_number(std::string_view token) {
  const size_t first = token.starts_with('-') ? 1 : 0;
  return first < token.size() && token[first] >= '0' && token[first] <= '9';
}

/// "[24, 1, 1]" to three numbers.
void parse_triple(std::string_view text, int32_t (&out)[3]) {
  size_t at = 0;
  for (int32_t& value : out) {
    while (at < text.size() && (text[at] == '[' || text[at] == ',' || is_json_space(text[at]))) ++at;
    size_t begin = at;
    while (at < text.size() && text[at] != ',' && text[at] != ']' && !is_json_space(text[at])) ++at;
    value = int32_or(text.substr(begin, at - begin), 0);
  }
}

/// A nested value without the space of an indented document: "[[1, 2], []]", as Kineto writes it.
std::string on_one_line(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (!in_string && is_json_space(c)) continue;
    out += c;
    if (in_string && c == '\\' && i + 1 < text.size()) out += text[++i];
    if (c == '"') in_string = !in_string;
    if (!in_string && (c == ',' || c == ':')) out += ' ';
  }
  return out;
}

/// Whether rows of this kind lie on a stream of the device rather than on a thread of the host.
bool is_on_gpu(EventKind kind) {
  return is_gpu_work(kind) || kind == EventKind::kSync || kind == EventKind::kGpuAnnotation;
}

}  // namespace

void ParsedBlock::clear() {
  names.clear();
  lanes.clear();
  rows.clear();
  gpu.clear();
  ops.clear();
  syncs.clear();
  collectives.clear();
  fwdbwd.clear();
  launches.clear();
  labels.clear();
  owned.clear();
  events = left_out_python = left_out_flows = left_out_other = 0;
  damage = {};
}

uint64_t hash_of(const GpuDetail& detail) {
  static_assert(sizeof(GpuDetail) == 56, "no padding: the bytes are the value");
  return hash_bytes(&detail, sizeof(detail));
}

uint64_t hash_of(const OpDetail& detail) {
  uint64_t hash = mix_hash(static_cast<uint32_t>(detail.input_dims), static_cast<uint32_t>(detail.input_types));
  hash = mix_hash(hash, static_cast<uint32_t>(detail.concrete_inputs));
  hash = mix_hash(hash, static_cast<uint32_t>(detail.fwd_thread));
  return mix_hash(mix_hash(hash, static_cast<uint64_t>(detail.sequence)), detail.collective);
}

void EventParser::parse(const TextBlock& block, ParsedBlock& out) {
  block_ = &block;
  out_ = &out;
  out.clear();
  name_index_.clear();
  gpu_index_.clear();
  op_index_.clear();
  lane_index_.clear();
  name_is_damaged_.clear();
  last_lane_ = 0;
  name(Token{});  // Index 0 is the empty name, as in a NamePool.
  std::string_view text = block.text();
  size_t begin = 0;
  for (size_t i = 0; i < block.ends.size();) {
    if (parse_slice(text.substr(begin, block.ends[i] - begin), true)) {
      begin = block.ends[i++];
      continue;
    }
    // Damage may have put the ends of its neighbours wrong too: up to the next event that reads well all is suspect.
    size_t next = i + 1;
    while (next < block.ends.size() &&
           !is_clean(text.substr(block.ends[next - 1], block.ends[next] - block.ends[next - 1]))) {
      ++next;
    }
    bool is_last = next == block.ends.size() && block.is_cut_short;
    size_t end = next == block.ends.size() ? text.size() : block.ends[next - 1];
    recover(text.substr(begin, end - begin), is_last);
    begin = end;
    i = next;
  }
  parse_tail(text.substr(begin), block.is_cut_short);
  for (size_t i = 0; i < out.names.size(); ++i) {
    if (name_is_damaged_[i]) out.names[i] = out.owned.emplace_back(replace_invalid_utf8(out.names[i]));
  }
}

/// Reads the one event in `slice`; false when it is damaged.
bool EventParser::parse_slice(std::string_view slice, bool is_whole) {
  // What looks like two events in one may be a list of objects inside of one: only reading all of it tells.
  bool is_read =
      parse_event_fields(slice, is_whole, fields_) || (is_whole && parse_event_fields(slice, false, fields_));
  if (!is_read) return false;
  emit(fields_);
  return true;
}

bool EventParser::is_clean(std::string_view slice) {
  const char* end = slice.data() + slice.size();
  const char* begin = slice.data();
  while (begin < end && (is_json_space(*begin) || *begin == ',')) ++begin;
  return find_event_start(begin, end) == begin && parse_event_fields(slice, false, fields_);
}

/// What lies behind the last whole event of a block.
void EventParser::parse_tail(std::string_view tail, bool is_cut_short) {
  size_t comma = tail.find_first_not_of(" \n\r\t");
  if (comma == std::string_view::npos) return;
  size_t rest = tail.find_first_not_of(" \n\r\t,", comma);
  if (rest != std::string_view::npos) return recover(tail.substr(rest), is_cut_short);
  if (!is_cut_short) out_->damage.add(Damage::kTrailingComma, offset_of(tail.substr(comma)));
}

/// Reads a region whose brackets cannot be trusted, from one text that looks like an event's beginning to the next.
void EventParser::recover(std::string_view region, bool is_last) {
  const char* end = region.data() + region.size();
  const char* begin = find_event_start(region.data(), end);
  const char* first = begin == nullptr ? end : begin;
  std::string_view before(region.data(), static_cast<size_t>(first - region.data()));
  size_t text = before.find_first_not_of(" \n\r\t,");
  // An event cut off before its first key can be told from foreign text by being the very last.
  if (text != std::string_view::npos && !(is_last && begin == nullptr)) {
    out_->damage.add(Damage::kForeignText, offset_of(before.substr(text)));
  }
  while (begin != nullptr) {
    const char* next = find_event_start(begin + 1, end);
    const char* piece_end = next == nullptr ? end : next;
    recover_event({begin, static_cast<size_t>(piece_end - begin)}, is_last && next == nullptr);
    begin = next;
  }
}

void EventParser::recover_event(std::string_view piece, bool may_be_cut) {
  if (parse_slice(piece, false)) return;
  out_->owned.emplace_back();
  std::string& repaired = out_->owned.back();
  uint64_t offset = offset_of(piece);
  if (repair_event(piece, offset, repaired, out_->damage)) {
    repaired_offset_ = offset;
    if (parse_slice(repaired, false)) return;
  } else if (may_be_cut) {
    return;  // The event that the file breaks off in; TraceInfo::truncated says so.
  }
  ++out_->events;
  out_->damage.add(Damage::kBrokenEvent, offset);
}

uint64_t EventParser::offset_of(std::string_view text) const {
  const char* begin = block_->data.get();
  bool is_inside = text.data() >= begin && text.data() <= begin + block_->size;
  return is_inside ? block_->offset + static_cast<uint64_t>(text.data() - begin) : repaired_offset_;
}

void EventParser::emit(const EventFields& fields) {
  ++out_->events;
  if (fields.has_trailing_comma) out_->damage.add(Damage::kTrailingComma, offset_of(fields.text));
  if (fields.has_not_finite) out_->damage.add(Damage::kNotFinite, offset_of(fields.text));
  char phase = fields.phase.text.size() == 1 ? fields.phase.text[0] : '\0';
  if (fields.is_left_out) {
    bool is_flow = phase == 's' || phase == 'f' || phase == 't';
    bool is_python = fields.meaning.category == Category::kPython;
    ++(is_flow ? out_->left_out_flows : is_python ? out_->left_out_python : out_->left_out_other);
    return;
  }
  switch (phase) {
    case 'X':
    case 'B':
    case 'E':
      return emit_row(fields, phase);
    case 's':
    case 'f':
      return emit_flow(fields);
    case 'M':
      emit_metadata(fields);
      break;
    case '\0':
      out_->damage.add(Damage::kForeignText, offset_of(fields.text));
      return;
    default:
      break;
  }
  ++out_->left_out_other;
}

void EventParser::emit_row(const EventFields& fields, char phase) {
  CategoryMeaning meaning = fields.category.text.empty() ? meaning_without_category(fields) : fields.meaning;
  if (meaning.category == Category::kPython && !fields.name.text.starts_with("nn.Module")) {
    ++out_->left_out_python;
    return;
  }
  if (meaning.category == Category::kOther) {
    ++out_->left_out_other;
    return;
  }
  ParsedRow row;
  row.kind = meaning.kind;
  // The schema of 2021 has no annotations: there the mark of a step is an operator like any other.
  if (row.kind == EventKind::kCpuOp && fields.name.text.starts_with("ProfilerStep#")) row.kind = EventKind::kAnnotation;
  row.phase = phase;
  if (!row_times(fields, row.kind, row)) return;
  row.name = name(fields.name);
  std::string_view tid = fields.tid.text;
  if (is_gpu_work(row.kind)) {
    // The stream itself where it is given as a number: tid may be "stream 7" or stand for something else.
    std::string_view stream = fields.arg(fields.has(ArgKey::kStream) ? ArgKey::kStream : ArgKey::kStreamId);
    if (!stream.empty() && parse_int(stream)) tid = stream;
    // AIU gives every event a tid of its own; its engines are named at the end of the event's name.
    if (phase != 'X' && fields.category.text.empty()) tid = fields.name.text.substr(fields.name.text.rfind(' ') + 1);
  }
  row.lane = lane(is_on_gpu(row.kind), fields.pid.text, tid);
  int64_t correlation =
      int_or(fields.arg(fields.has(ArgKey::kCorrelation) ? ArgKey::kCorrelation : ArgKey::kConnection), -1);
  // 0 is what ROCm and Ascend write for "none"; real correlation ids begin at 1.
  row.correlation = correlation == 0 ? -1 : correlation;
  int64_t external =
      int_or(fields.arg(fields.has(ArgKey::kExternalId) ? ArgKey::kExternalId : ArgKey::kExternalIdOld), 0);
  row.external_id = external < 0 || external > UINT32_MAX ? 0 : static_cast<uint32_t>(external);
  if (is_gpu_work(row.kind)) row.detail = gpu_detail(fields);
  if (row.kind == EventKind::kCpuOp || row.kind == EventKind::kAnnotation) row.detail = op_detail(fields);
  if (row.kind == EventKind::kSync) row.detail = sync_detail(fields);
  out_->rows.push_back(row);
}

/// Start and duration; false when the row has no place in time.
bool EventParser::row_times(const EventFields& fields, EventKind kind, ParsedRow& row) {
  std::optional<int64_t> start = parse_time(fields.ts.text);
  if (!start) {
    out_->damage.add(is_number(fields.ts.text) ? Damage::kAbsurdTime : Damage::kNoTime, offset_of(fields.text));
    return false;
  }
  row.ts_ns = *start;
  if (row.phase != 'X') return true;
  std::optional<int64_t> duration = parse_us_as_ns(fields.dur.text);
  row.dur_ns = duration.value_or(0);
  if (!duration) {
    out_->damage.add(is_number(fields.dur.text) ? Damage::kAbsurdDuration : Damage::kMissingDuration,
                     offset_of(fields.text));
  } else if (row.dur_ns < 0) {
    out_->damage.add(Damage::kNegativeDuration, offset_of(fields.text));
    row.dur_ns = 0;
  } else if (row.dur_ns > kMaxDurationNs) {
    out_->damage.add(Damage::kAbsurdDuration, offset_of(fields.text));
    row.dur_ns = 0;
  }
  if (is_gpu_work(kind) && row.ts_ns == 0 && row.dur_ns == 0) {
    out_->damage.add(Damage::kZeroTime, offset_of(fields.text));
    return false;
  }
  return true;
}

void EventParser::emit_flow(const EventFields& fields) {
  FlowMeaning meaning = flow_meaning(fields.category.text);
  if (meaning == FlowMeaning::kNone) {
    ++out_->left_out_flows;
    return;
  }
  std::optional<int64_t> start = parse_time(fields.ts.text);
  if (!start) {
    out_->damage.add(is_number(fields.ts.text) ? Damage::kAbsurdTime : Damage::kNoTime, offset_of(fields.text));
    return;
  }
  bool is_start = fields.phase.text == "s";
  if (meaning == FlowMeaning::kLaunch) {
    out_->launches.push_back({flow_id(fields.id.text), *start, NameId{name(fields.category)}, NameId{name(fields.pid)},
                              NameId{name(fields.tid)}, is_start});
    return;
  }
  uint32_t at = lane(false, fields.pid.text, fields.tid.text);
  out_->fwdbwd.push_back({flow_id(fields.id.text), *start, at, is_start});
}

void EventParser::emit_metadata(const EventFields& fields) {
  ParsedLabel::Kind kind = ParsedLabel::Kind::kThread;
  if (fields.name.text == "process_name") {
    kind = ParsedLabel::Kind::kProcess;
  } else if (fields.name.text == kOverlapOf) {
    kind = ParsedLabel::Kind::kOverlapOf;
  } else if (fields.name.text != "thread_name") {
    return;
  }
  if (!fields.has(ArgKey::kName)) return;
  out_->labels.push_back(
      {fields.pid.text, fields.tid.text, name(fields.args[static_cast<size_t>(ArgKey::kName)]), kind});
}

uint32_t EventParser::gpu_detail(const EventFields& fields) {
  GpuDetail detail;
  parse_triple(fields.arg(ArgKey::kGrid), detail.grid);
  parse_triple(fields.arg(ArgKey::kBlock), detail.block);
  detail.registers_per_thread = int32_or(fields.arg(ArgKey::kRegisters), 0);
  detail.shared_memory_bytes = int32_or(fields.arg(ArgKey::kSharedMemory), 0);
  detail.bytes = int_or(fields.arg(ArgKey::kBytes), 0);
  detail.graph_node = int_or(fields.arg(ArgKey::kGraphNode), -1);
  detail.collective = collective_detail(fields);
  if (fields.has(ArgKey::kOccupancy)) {
    detail.occupancy_pct = static_cast<float>(parse_double(fields.arg(ArgKey::kOccupancy)).value_or(-1));
  }
  return enter_distinct(gpu_index_, out_->gpu, detail, hash_of(detail));
}

uint32_t EventParser::op_detail(const EventFields& fields) {
  OpDetail detail;
  detail.input_dims = arg_name(fields, ArgKey::kInputDims);
  detail.input_types = arg_name(fields, ArgKey::kInputTypes);
  detail.concrete_inputs = arg_name(fields, ArgKey::kConcreteInputs);
  detail.sequence = int_or(fields.arg(ArgKey::kSequence), -1);
  detail.fwd_thread = int32_or(fields.arg(ArgKey::kFwdThread), -1);
  detail.collective = collective_detail(fields);
  bool says_anything = detail.input_dims != kNoName || detail.concrete_inputs != kNoName || detail.sequence >= 0 ||
                       detail.collective != kNoIndex;
  return says_anything ? enter_distinct(op_index_, out_->ops, detail, hash_of(detail)) : kNoIndex;
}

uint32_t EventParser::sync_detail(const EventFields& fields) {
  SyncDetail detail;
  detail.stream = int_or(fields.arg(ArgKey::kStream), -1);
  detail.wait_on_stream = int_or(fields.arg(ArgKey::kWaitOnStream), -1);
  detail.wait_on_record_correlation = int_or(fields.arg(ArgKey::kWaitOnCorrelation), -1);
  detail.wait_on_event = int_or(fields.arg(ArgKey::kWaitOnEvent), -1);
  out_->syncs.push_back(detail);
  return static_cast<uint32_t>(out_->syncs.size() - 1);
}

uint32_t EventParser::collective_detail(const EventFields& fields) {
  if (!fields.has(ArgKey::kCollective) && !fields.has(ArgKey::kGroupName)) return kNoIndex;
  CollectiveDetail detail;
  detail.collective = arg_name(fields, ArgKey::kCollective);
  detail.dtype = arg_name(fields, ArgKey::kDtype);
  detail.group_name = arg_name(fields, ArgKey::kGroupName);
  detail.group_desc = arg_name(fields, ArgKey::kGroupDescription);
  detail.group_ranks = arg_name(fields, ArgKey::kGroupRanks);
  detail.in_split = arg_name(fields, ArgKey::kInSplit);
  detail.out_split = arg_name(fields, ArgKey::kOutSplit);
  detail.in_elements = int_or(fields.arg(ArgKey::kInElements), -1);
  detail.out_elements = int_or(fields.arg(ArgKey::kOutElements), -1);
  detail.sequence = int_or(fields.arg(ArgKey::kCollectiveSequence), -1);
  detail.group_size = int32_or(fields.arg(ArgKey::kGroupSize), -1);
  detail.src_rank = int32_or(fields.arg(ArgKey::kSrcRank), -1);
  detail.dst_rank = int32_or(fields.arg(ArgKey::kDstRank), -1);
  out_->collectives.push_back(detail);
  return static_cast<uint32_t>(out_->collectives.size() - 1);
}

NameId EventParser::arg_name(const EventFields& fields, ArgKey key) {
  if (!fields.has(key)) return kNoName;
  Token token = fields.args[static_cast<size_t>(key)];
  // Indented JSON spreads a list over many lines; it is the same list.
  bool is_spread = !token.is_string && token.text.find('\n') != std::string_view::npos;
  if (is_spread) token.text = out_->owned.emplace_back(on_one_line(token.text));
  return NameId{name(token)};
}

/// The block-local index of a text. Names repeat, so escapes and UTF-8 are looked at once per distinct one.
uint32_t EventParser::name(const Token& token) {
  std::string_view text = token.text;
  if (token.has_escapes) {
    bool ok = false;
    out_->owned.push_back(unescape_json(text, ok));
    text = out_->owned.back();
    if (!ok) out_->damage.add(Damage::kBareBackslash, offset_of(token.text));
  }
  std::vector<std::string_view>& names = out_->names;
  auto fresh = static_cast<uint32_t>(names.size());
  // Indexed by what the file says: a damaged name is found again in its damaged form.
  uint32_t at = name_index_.find_or_enter(hash_bytes(text.data(), text.size()), fresh,
                                          [&](uint32_t known) { return names[known] == text; });
  if (at == fresh) {
    names.push_back(text);
    name_is_damaged_.push_back(!is_valid_utf8(text));
  }
  if (name_is_damaged_[at]) out_->damage.add(Damage::kInvalidUtf8, offset_of(token.text));
  return at;
}

uint32_t EventParser::lane(bool is_gpu, std::string_view pid, std::string_view tid) {
  ParsedLane wanted{is_gpu, pid, tid};
  std::vector<ParsedLane>& lanes = out_->lanes;
  if (last_lane_ < lanes.size() && lanes[last_lane_] == wanted) return last_lane_;
  // A block touches a handful of lanes, most recent ones first; of some producers every event has its own.
  size_t oldest = lanes.size() > kLanesToScan ? lanes.size() - kLanesToScan : 0;
  for (size_t i = lanes.size(); i > oldest; --i) {
    if (lanes[i - 1] == wanted) return last_lane_ = static_cast<uint32_t>(i - 1);
  }
  auto fresh = static_cast<uint32_t>(lanes.size());
  uint64_t hash = mix_hash(hash_bytes(pid.data(), pid.size()), hash_bytes(tid.data(), tid.size()) * 2 + is_gpu);
  last_lane_ = lane_index_.find_or_enter(hash, fresh, [&](uint32_t known) { return lanes[known] == wanted; });
  if (last_lane_ == fresh) lanes.push_back(wanted);
  return last_lane_;
}

}  // namespace lumos
