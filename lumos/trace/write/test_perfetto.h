// Perfetto traces read without the library that writes them: the protobuf wire format by hand, and the fields by the
// names and numbers of the public definitions (perfetto/protos/perfetto/trace: trace.proto, trace_packet.proto,
// interned_data/interned_data.proto and track_event/*.proto). Tests only.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lumos {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2 };

struct PerfettoMessage;

/// One line of a public definition.
struct PerfettoField {
  uint32_t number;
  std::string_view name;
  WireType wire;
  const PerfettoMessage* message = nullptr;  ///< of a field that is a message itself
  bool repeated = false;
};

struct PerfettoMessage {
  std::string_view name;
  std::span<const PerfettoField> fields;

  const PerfettoField* find(uint32_t number) const {
    for (const PerfettoField& field : fields) {
      if (field.number == number) return &field;
    }
    return nullptr;
  }
  uint32_t number_of(std::string_view name_of_field) const {
    for (const PerfettoField& field : fields) {
      if (field.name == name_of_field) return field.number;
    }
    ADD_FAILURE() << name << " has no field " << name_of_field;
    return 0;
  }
};

// The parts of the definitions that Lumos may write; whatever else a file holds is an error of the writer.
namespace perfetto {

using enum WireType;
inline constexpr PerfettoField kProcessDescriptorFields[] = {{1, "pid", kVarint}, {6, "process_name", kLength}};
inline constexpr PerfettoMessage kProcessDescriptor = {"ProcessDescriptor", kProcessDescriptorFields};

inline constexpr PerfettoField kThreadDescriptorFields[] = {
    {1, "pid", kVarint}, {2, "tid", kVarint}, {5, "thread_name", kLength}};
inline constexpr PerfettoMessage kThreadDescriptor = {"ThreadDescriptor", kThreadDescriptorFields};

inline constexpr PerfettoMessage kCounterDescriptor = {"CounterDescriptor", {}};

inline constexpr PerfettoField kTrackDescriptorFields[] = {{1, "uuid", kVarint},
                                                           {2, "name", kLength},
                                                           {3, "process", kLength, &kProcessDescriptor},
                                                           {4, "thread", kLength, &kThreadDescriptor},
                                                           {5, "parent_uuid", kVarint},
                                                           {8, "counter", kLength, &kCounterDescriptor}};
inline constexpr PerfettoMessage kTrackDescriptor = {"TrackDescriptor", kTrackDescriptorFields};

inline constexpr PerfettoField kDebugAnnotationFields[] = {
    {1, "name_iid", kVarint}, {4, "int_value", kVarint}, {6, "string_value", kLength}};
inline constexpr PerfettoMessage kDebugAnnotation = {"DebugAnnotation", kDebugAnnotationFields};

inline constexpr PerfettoField kTrackEventFields[] = {{3, "category_iids", kVarint, nullptr, true},
                                                      {4, "debug_annotations", kLength, &kDebugAnnotation, true},
                                                      {9, "type", kVarint},
                                                      {10, "name_iid", kVarint},
                                                      {11, "track_uuid", kVarint},
                                                      {44, "double_counter_value", kFixed64},
                                                      {47, "flow_ids", kFixed64, nullptr, true},
                                                      {48, "terminating_flow_ids", kFixed64, nullptr, true}};
inline constexpr PerfettoMessage kTrackEvent = {"TrackEvent", kTrackEventFields};
inline constexpr uint64_t kTypeSliceBegin = 1, kTypeSliceEnd = 2, kTypeCounter = 4;  // TrackEvent.Type

// EventCategory, EventName and DebugAnnotationName are alike.
inline constexpr PerfettoField kInternedNameFields[] = {{1, "iid", kVarint}, {2, "name", kLength}};
inline constexpr PerfettoMessage kInternedName = {"EventName", kInternedNameFields};

inline constexpr PerfettoField kInternedDataFields[] = {{1, "event_categories", kLength, &kInternedName, true},
                                                        {2, "event_names", kLength, &kInternedName, true},
                                                        {3, "debug_annotation_names", kLength, &kInternedName, true}};
inline constexpr PerfettoMessage kInternedData = {"InternedData", kInternedDataFields};

inline constexpr PerfettoField kTracePacketFields[] = {{8, "timestamp", kVarint},
                                                       {10, "trusted_packet_sequence_id", kVarint},
                                                       {11, "track_event", kLength, &kTrackEvent},
                                                       {12, "interned_data", kLength, &kInternedData},
                                                       {13, "sequence_flags", kVarint},
                                                       {60, "track_descriptor", kLength, &kTrackDescriptor}};
inline constexpr PerfettoMessage kTracePacket = {"TracePacket", kTracePacketFields};
inline constexpr uint64_t kSeqIncrementalStateCleared = 1, kSeqNeedsIncrementalState = 2;  // SequenceFlags

inline constexpr PerfettoField kTraceFields[] = {{1, "packet", kLength, &kTracePacket, true}};
inline constexpr PerfettoMessage kTrace = {"Trace", kTraceFields};

}  // namespace perfetto

/// One message of a file. Reading it fails the test where a field is not in the definition, has another wire type,
/// comes twice though it may not, or ends outside of its message.
class DecodedMessage {
 public:
  DecodedMessage(const PerfettoMessage& definition, std::string_view data) : definition_(&definition) {
    size_t at = 0;
    while (at < data.size()) {
      const uint64_t key = varint(data, at);
      const PerfettoField* field = definition.find(static_cast<uint32_t>(key >> 3));
      if (field == nullptr || static_cast<uint64_t>(field->wire) != (key & 7)) {
        ADD_FAILURE() << definition.name << ": field " << (key >> 3) << " of wire type " << (key & 7)
                      << " is not in the public definition";
        return;
      }
      if (!field->repeated && has(field->name))
        ADD_FAILURE() << definition.name << "." << field->name << " comes twice";
      read(*field, data, at);
    }
  }

  bool has(std::string_view name) const {
    const uint32_t number = definition_->number_of(name);
    return numbers_.count(number) + texts_.count(number) + messages_.count(number) > 0;
  }
  /// 0 where it is absent; of several the first.
  uint64_t number(std::string_view name) const {
    const auto found = numbers_.find(definition_->number_of(name));
    return found == numbers_.end() ? 0 : found->second.front();
  }
  std::vector<uint64_t> numbers(std::string_view name) const {
    const auto found = numbers_.find(definition_->number_of(name));
    return found == numbers_.end() ? std::vector<uint64_t>{} : found->second;
  }
  double real(std::string_view name) const {
    const uint64_t bits = number(name);
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  std::string text(std::string_view name) const {
    const auto found = texts_.find(definition_->number_of(name));
    return found == texts_.end() ? "" : found->second;
  }
  const std::vector<DecodedMessage>& messages(std::string_view name) const {
    static const std::vector<DecodedMessage> kNone;
    const auto found = messages_.find(definition_->number_of(name));
    return found == messages_.end() ? kNone : found->second;
  }
  /// The only one; an empty one where it is absent.
  DecodedMessage message(std::string_view name) const {
    const std::vector<DecodedMessage>& all = messages(name);
    return all.empty() ? DecodedMessage(*definition_->find(definition_->number_of(name))->message, "") : all.front();
  }

 private:
  static uint64_t varint(std::string_view data, size_t& at) {
    uint64_t value = 0;
    for (int shift = 0; at < data.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(data[at++]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    ADD_FAILURE() << "a number has no end";
    return value;
  }

  void read(const PerfettoField& field, std::string_view data, size_t& at) {
    if (field.wire == WireType::kVarint) {
      numbers_[field.number].push_back(varint(data, at));
      return;
    }
    const size_t size = field.wire == WireType::kFixed64 ? 8 : varint(data, at);
    if (size > data.size() - at) {
      ADD_FAILURE() << definition_->name << "." << field.name << " passes the end of its message";
      at = data.size();
      return;
    }
    const std::string_view bytes = data.substr(at, size);
    at += size;
    if (field.wire == WireType::kFixed64) {
      uint64_t value = 0;
      std::memcpy(&value, bytes.data(), 8);
      numbers_[field.number].push_back(value);
    } else if (field.message != nullptr) {
      messages_[field.number].emplace_back(*field.message, bytes);
    } else {
      texts_[field.number] = std::string(bytes);
    }
  }

  const PerfettoMessage* definition_;
  std::map<uint32_t, std::vector<uint64_t>> numbers_;
  std::map<uint32_t, std::string> texts_;
  std::map<uint32_t, std::vector<DecodedMessage>> messages_;
};

/// A slice as a viewer would show it.
struct DecodedSlice {
  uint64_t track = 0;
  int64_t start_ns = 0;
  int64_t length_ns = 0;
  std::string name;
  std::string category;
};

/// All slices of a trace in the order of their beginnings. The test fails where slices of a track do not nest, go back
/// in time or stay open, or where an event refers to a track, name or category that no earlier packet told of.
inline std::vector<DecodedSlice> decoded_slices(const DecodedMessage& trace) {
  std::map<uint64_t, std::string> names, categories, annotations, tracks;
  std::map<uint64_t, std::vector<size_t>> open;
  std::map<uint64_t, int64_t> reached_ns;
  std::vector<DecodedSlice> slices;
  for (const DecodedMessage& packet : trace.messages("packet")) {
    const DecodedMessage interned = packet.message("interned_data");
    for (const DecodedMessage& entry : interned.messages("event_names"))
      names[entry.number("iid")] = entry.text("name");
    for (const DecodedMessage& entry : interned.messages("event_categories")) {
      categories[entry.number("iid")] = entry.text("name");
    }
    for (const DecodedMessage& entry : interned.messages("debug_annotation_names")) {
      annotations[entry.number("iid")] = entry.text("name");
    }
    for (const DecodedMessage& track : packet.messages("track_descriptor")) {
      EXPECT_TRUE(tracks.emplace(track.number("uuid"), track.text("name")).second) << "one uuid, two tracks";
      EXPECT_TRUE(!track.has("parent_uuid") || tracks.count(track.number("parent_uuid")) > 0);
    }
    for (const DecodedMessage& event : packet.messages("track_event")) {
      const uint64_t track = event.number("track_uuid");
      const auto ns = static_cast<int64_t>(packet.number("timestamp"));
      EXPECT_TRUE(tracks.count(track) > 0) << "no such track: " << track;
      EXPECT_GE(ns, reached_ns[track]) << tracks[track];
      reached_ns[track] = ns;
      for (const DecodedMessage& annotation : event.messages("debug_annotations")) {
        EXPECT_TRUE(annotations.count(annotation.number("name_iid")) > 0);
      }
      if (event.number("type") == perfetto::kTypeSliceBegin) {
        EXPECT_TRUE(names.count(event.number("name_iid")) > 0 && categories.count(event.number("category_iids")) > 0);
        open[track].push_back(slices.size());
        slices.push_back({track, ns, 0, names[event.number("name_iid")], categories[event.number("category_iids")]});
      } else if (event.number("type") == perfetto::kTypeSliceEnd) {
        if (open[track].empty()) {
          ADD_FAILURE() << tracks[track] << ": an end without a beginning at " << ns;
          continue;
        }
        DecodedSlice& slice = slices[open[track].back()];
        slice.length_ns = ns - slice.start_ns;
        open[track].pop_back();
      }
    }
  }
  for (const auto& [track, indexes] : open) EXPECT_TRUE(indexes.empty()) << tracks[track] << ": a slice stays open";
  return slices;
}

}  // namespace lumos
