#include "lumos/trace/kineto/splitter.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lumos {
namespace {

struct Split {
  std::vector<std::string> events;  // without the space and commas around them
  DocumentInfo info;
};

Split split(const std::string& text, size_t block_bytes) {
  auto source = ByteSource::of_memory(text);
  CHECK(source.has_value());
  Splitter splitter(std::move(*source), block_bytes);
  TextBlock block;
  Split out;
  for (;;) {
    auto more = splitter.next(block);
    CHECK(more.has_value());
    if (!*more) break;
    size_t begin = 0;
    EXPECT_EQ(text.substr(block.offset, block.size), block.text());
    for (uint32_t end : block.ends) {
      std::string_view event = block.text().substr(begin, end - begin);
      out.events.emplace_back(event.substr(event.find_first_not_of(" \n\r\t,")));
      begin = end;
    }
  }
  out.info = splitter.info();
  return out;
}

const std::vector<std::string> kEvents = {
    R"({"ph": "X", "name": "braces } ] { [ in a name", "args": {"dims": [[1, 2], []], "nested": {"a": [{"ph": 1}]}}})",
    R"({"ph": "X", "name": "quotes \" and \\", "ts": 1})", R"({})",
    "{\n  \"ph\": \"i\",\n  \"name\": \"ends with a backslash \\\\\"\n}",
    R"({"ph":"M","name":"\\\\\\\"","args":{"name":"a long name so that one event spans many of the scanner's chunks of sixty-four bytes, one after the other"}})"};

std::string document(const std::string& between, const std::string& before, const std::string& after) {
  std::string text = "{" + before + "\"traceEvents\": [";
  for (size_t i = 0; i < kEvents.size(); ++i) text += (i == 0 ? "" : between) + kEvents[i];
  return text + "]" + after + "}";
}

TEST(Splitter, FindsEveryEventForAnyBlockSize) {
  std::string text = document(",\n  ", R"("schemaVersion": 1, "distributedInfo": {"rank": 3}, )",
                              R"(, "traceName": "a]}b", "baseTimeNanoseconds": 17)");
  for (size_t block_bytes = 1; block_bytes <= text.size() + 1; ++block_bytes) {
    Split got = split(text, block_bytes);
    ASSERT_EQ(got.events, kEvents) << block_bytes;
    EXPECT_FALSE(got.info.is_truncated);
    EXPECT_EQ(got.info.decoded_bytes, text.size());
    ASSERT_EQ(got.info.metadata.size(), 3u) << block_bytes;
    EXPECT_EQ(got.info.metadata[0].second, R"({"rank": 3})");
    EXPECT_EQ(got.info.metadata[1].second, R"("a]}b")");
    EXPECT_EQ(got.info.metadata[2].second, "17");
  }
}

TEST(Splitter, KeepsEveryWholeEventWhereverTheTextIsCut) {
  std::string text = document(", ", "", ", \"traceName\": \"x\"");
  std::vector<size_t> ends;
  size_t at = text.find('[') + 1;
  for (const std::string& event : kEvents) {
    at = text.find(event, at) + event.size();
    ends.push_back(at);
  }
  for (size_t cut = 1; cut < text.size(); ++cut) {
    size_t whole = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), cut) - ends.begin());
    for (size_t block_bytes : {size_t{1}, size_t{100}, size_t{1} << 20}) {
      Split got = split(text.substr(0, cut), block_bytes);
      ASSERT_EQ(got.events, std::vector<std::string>(kEvents.begin(), kEvents.begin() + static_cast<long>(whole)))
          << cut;
      EXPECT_TRUE(got.info.is_truncated) << cut;
    }
  }
}

TEST(Splitter, ReadsBareArraysAndEmptyOnes) {
  Split got = split("[" + kEvents[0] + "," + kEvents[1] + "]\n", 64);
  EXPECT_EQ(got.events.size(), 2u);
  EXPECT_TRUE(got.info.is_array);
  EXPECT_FALSE(got.info.is_truncated);
  for (const char* empty : {"[]", " [ ] ", "{\"traceEvents\": []}", "\xef\xbb\xbf{\"traceEvents\":[\n]}"}) {
    got = split(empty, 64);
    EXPECT_TRUE(got.events.empty());
    EXPECT_TRUE(got.info.has_events) << empty;
    EXPECT_FALSE(got.info.is_truncated) << empty;
  }
}

TEST(Splitter, WhatHoldsNoEventsIsToldByItsKeys) {
  Split got = split(R"({"schema": "1", "nodes": [{"name": "traceEvents"}], "x": "traceEvents"})", 64);
  EXPECT_FALSE(got.info.has_events);
  EXPECT_FALSE(got.info.is_truncated);
  EXPECT_EQ(got.info.top_keys, (std::vector<std::string>{"schema", "nodes", "x"}));
  EXPECT_FALSE(split("[1, 2]", 64).info.has_events);
  EXPECT_FALSE(split("hello", 64).info.has_events);
}

TEST(Splitter, ALostQuoteInTheMetadataDoesNotHideTheEvents) {
  Split got = split(document(",", R"("INFO": ["a lost quote, "b"], "x": 1, )", ""), 64);
  EXPECT_EQ(got.events, kEvents);
}

TEST(EventScan, ALineBreakHealsALostQuote) {
  std::string text = "{\"name\": \"lost,\n \"ts\": 1},\n{\"ts\": 2}, {\"ts\": 3}]";
  EventScan scan;
  std::vector<uint32_t> ends;
  EXPECT_EQ(scan.advance(text.data(), text.size(), true, ends), text.size() - 1);
  EXPECT_EQ(ends.size(), 3u);
}

TEST(EventScan, EventStartsAreToldFromNestedObjects) {
  std::string text = R"(x": 1}, {"ph": "X", "args": {"name": "y"}}, { "ts" : 3}, {"other": 1})";
  const char* begin = text.data();
  const char* end = begin + text.size();
  const char* first = find_event_start(begin, end);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first - begin, 8);
  const char* second = find_event_start(first + 1, end);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(std::string_view(second, 3), "{ \"");
  EXPECT_EQ(find_event_start(second + 1, end), nullptr);
  EXPECT_EQ(find_last_event_start(begin, end), second);
}

}  // namespace
}  // namespace lumos
