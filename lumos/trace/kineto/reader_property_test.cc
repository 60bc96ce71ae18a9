// Random events, written as JSON in every way that producers write it, are read back equal: for any block size and any
// number of workers.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <tuple>

#include "lumos/trace/kineto/reader.h"
#include "lumos/trace/kineto/test_files.h"

namespace lumos {
namespace {

struct Event {
  std::string category;
  EventKind kind = EventKind::kCpuOp;
  std::string name;
  int64_t pid = 0;
  std::string tid;  // a number, or text
  int64_t ts_ns = 0;
  int64_t dur_ns = 0;
  int64_t correlation = 0;
};

struct Style {
  const char* space;    // behind a comma or colon
  const char* newline;  // between members
  bool args_first;      // Python writers sort their keys
  bool text_times;      // Ascend
  bool bare_array;
};

std::string us(int64_t ns) {
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", std::abs(ns) / 1000, std::abs(ns) % 1000);
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string to_json(const Event& event, const Style& style) {
  std::string quote = style.text_times ? "\"" : "";
  std::vector<std::string> members = {
      "\"ph\":" + std::string(style.space) + "\"X\"",
      "\"cat\":" + std::string(style.space) + quoted(event.category),
      "\"name\":" + quoted(event.name),
      fmt::format("\"pid\":{}{}", style.space, event.pid),
      "\"tid\":" + event.tid,
      "\"ts\":" + quote + us(event.ts_ns) + quote,
      "\"dur\":" + us(event.dur_ns),
      fmt::format("\"args\":{{\"other\":[{{\"a\":\"}}]\"}},{{}}],\"correlation\":{}{}}}", style.space,
                  event.correlation)};
  if (style.args_first) std::rotate(members.begin(), members.end() - 1, members.end());
  std::string out = "{";
  for (const std::string& member : members) out += (out.size() > 1 ? "," : "") + std::string(style.newline) + member;
  return out + style.newline + "}";
}

rc::Gen<std::string> text_gen() {
  return rc::gen::container<std::string>(
      rc::gen::element('a', 'Z', '"', '\\', '{', '}', '[', ']', ',', ':', ' ', '\n', '\x01', '/', 'n', 'u'));
}

Event random_event() {
  static const std::vector<std::pair<std::string, EventKind>> kKinds = {
      {"cpu_op", EventKind::kCpuOp},      {"cuda_runtime", EventKind::kRuntime},       {"kernel", EventKind::kKernel},
      {"gpu_memcpy", EventKind::kMemcpy}, {"user_annotation", EventKind::kAnnotation}, {"cuda_sync", EventKind::kSync}};
  Event event;
  std::tie(event.category, event.kind) = *rc::gen::elementOf(kKinds);
  event.name = *text_gen();
  event.pid = *rc::gen::arbitrary<int64_t>();
  event.tid = *rc::gen::oneOf(rc::gen::map(rc::gen::inRange(-2, 5), [](int n) { return std::to_string(n); }),
                              rc::gen::element<std::string>("\"Spans\"", "\"\"", "18446744073709551615"));
  event.ts_ns = *rc::gen::inRange<int64_t>(1, INT64_MAX / 4);
  event.dur_ns = *rc::gen::inRange<int64_t>(0, 1'000'000'000);
  event.correlation = *rc::gen::inRange<int64_t>(1, INT64_MAX / 2);
  return event;
}

RC_GTEST_PROP(ReaderProperty, WhatIsWrittenIsReadBack, ()) {
  std::vector<Event> events(*rc::gen::inRange<size_t>(0, 40));
  for (Event& event : events) event = random_event();
  Style style = *rc::gen::element(Style{" ", "\n    ", false, false, false}, Style{"", "", false, false, false},
                                  Style{" ", " ", true, true, true}, Style{"\t", "\r\n", true, false, false});
  std::string text;
  for (const Event& event : events)
    text += (text.empty() ? "" : ",") + std::string(style.newline) + to_json(event, style);
  text = style.bare_array ? "[" + text + "]" : "{\"schemaVersion\": 1, \"traceEvents\": [" + text + "\n], \"z\": [1]}";
  if (*rc::gen::arbitrary<bool>()) text = gzipped(text);

  ReadOptions options;
  options.block_bytes = *rc::gen::inRange<size_t>(1, 2000);
  options.threads = *rc::gen::inRange(1, 4);
  options.strict = true;  // Nothing here is damaged, so nothing may be repaired.
  auto read = read_trace_bytes(text, "property", options);
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->size() == events.size());
  for (size_t row = 0; row < events.size(); ++row) {
    const Event& event = events[row];
    const Lane& lane = read->lanes[read->lane[row]];
    std::string tid = event.tid[0] == '"' ? event.tid.substr(1, event.tid.size() - 2) : event.tid;
    RC_ASSERT(read->kind[row] == event.kind);
    RC_ASSERT(read->name_of(row) == event.name);
    RC_ASSERT(read->ts_ns[row] == event.ts_ns);
    RC_ASSERT(read->dur_ns[row] == event.dur_ns);
    RC_ASSERT(read->correlation[row] == event.correlation);
    RC_ASSERT(read->text(lane.pid_text) == std::to_string(event.pid));
    RC_ASSERT(read->text(lane.tid_text) == tid);
    RC_ASSERT(lane.pid == event.pid);
  }
}

RC_GTEST_PROP(ReaderProperty, AnyBytesGiveATableOrAMessage, ()) {
  auto bytes = *rc::gen::container<std::string>(
      rc::gen::element('{', '}', '[', ']', '"', ',', ':', '\\', 'a', '1', ' ', '\n', '\xff'));
  auto read = read_trace_bytes("{\"traceEvents\":[" + bytes, "property", {});
  RC_ASSERT(read.has_value() || !read.error().message.empty());
}

}  // namespace
}  // namespace lumos
