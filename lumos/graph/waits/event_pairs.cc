#include "lumos/graph/waits/event_pairs.h"

#include <utility>

namespace lumos {

namespace {

// Producers without record calls still number them: the next wait follows the one before by one.
bool in_fork(const EventTable& table, const HostProgram& host, uint32_t before, uint32_t c, bool has_head,
             bool has_records) {
  if (has_records) return has_head;
  return table.correlation[host.calls[c].row] == table.correlation[host.calls[before].row] + 1;
}

// Between two event calls these change nothing; all else, a synchronise too, parts them.
bool passes_between(const HostCall& call, bool launches) {
  const bool asks = call.kind == CallKind::kOther || call.kind == CallKind::kPoll || call.kind == CallKind::kMayBlock;
  return asks && !launches;
}

}  // namespace

EventPairs find_event_pairs(const EventTable& table, const HostProgram& host, const CallContexts& contexts,
                            bool has_records) {
  EventPairs pairs{std::vector<bool>(host.calls.size(), false), std::vector<uint32_t>(host.calls.size(), 0),
                   std::vector<uint32_t>(host.calls.size(), 0)};
  std::vector<uint32_t> previous(host.threads.size(), kNoIndex), head(host.threads.size(), kNoIndex);
  for (uint32_t c = 0; c < host.calls.size(); ++c) {
    const HostCall& call = host.calls[c];
    if (passes_between(call, contexts.launch_stream[c] != kNoIndex)) continue;
    const uint32_t before = std::exchange(previous[call.thread], c);
    uint32_t& first = head[call.thread];
    const bool beside = before != kNoIndex && same_operator(host, before, c);
    const bool waits = beside && call.kind == CallKind::kWait;
    if (waits && host.calls[before].kind == CallKind::kRecord) {
      pairs.followed[before] = true;
      if (first == kNoIndex) first = c;
      ++pairs.records[first];
      pairs.fork[c] = first == c ? 1 : kForkMember;
      if (first != c) ++pairs.fork[first];
    } else if (waits && host.calls[before].kind == CallKind::kWait &&
               in_fork(table, host, before, c, first != kNoIndex, has_records)) {
      if (first == kNoIndex) pairs.fork[first = before] = pairs.records[before] = 1;
      ++pairs.fork[first];
      pairs.fork[c] = kForkMember;
    } else if (!beside || call.kind != CallKind::kRecord || host.calls[before].kind != CallKind::kWait) {
      first = kNoIndex;
    }
  }
  return pairs;
}

}  // namespace lumos
