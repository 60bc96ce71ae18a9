#include "lumos/report/figures/attribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "lumos/trace/table/collective_names.h"
#include "lumos/trace/table/kernel_family.h"
#include "lumos/trace/table/kernel_name.h"
#include "lumos/trace/table/nesting.h"

namespace lumos {

namespace {

/// An interval that somebody may own. Among those that cover a moment the smallest (owner, rank) does.
struct Claim {
  int64_t start_ns;
  int64_t end_ns;
  Owner owner;
  int64_t rank;
  uint32_t row;
};

bool claims_before(const Claim& a, const Claim& b) {
  return std::tuple(a.owner, a.rank, a.row) < std::tuple(b.owner, b.rank, b.row);
}

void add_gpu_claims(const EventTable& table, std::vector<Claim>& claims) {
  const std::vector<uint8_t> communication = communication_rows(table);
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (!is_gpu_work(table.kind[row]) || table.dur_ns[row] <= 0) continue;
    const Owner owner = communication[row] != 0 ? Owner::kCommunication : Owner::kCompute;
    claims.push_back({table.ts_ns[row], table.end_ns(row), owner, table.ts_ns[row], row});  // Who came first.
  }
}

bool is_step(const EventTable& table, uint32_t row) { return table.name_of(row).starts_with("ProfilerStep"); }

/// Rows that say what a thread does. Modules and steps enclose everything and say nothing.
bool says_something(const EventTable& table, uint32_t row) {
  const EventKind kind = table.kind[row];
  const bool host_work = kind == EventKind::kCpuOp || kind == EventKind::kAnnotation || kind == EventKind::kRuntime ||
                         kind == EventKind::kOverhead;
  return host_work && !is_step(table, row);  // Old traces have steps among the operators.
}

/// Threads that launch GPU work or, in a trace without any, all threads: others hold nobody up.
std::vector<uint8_t> working_lanes(const EventTable& table) {
  std::vector<uint8_t> working(table.lanes.size(), 0);
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (table.kind[row] == EventKind::kRuntime && table.name_of(row).find("aunch") != std::string_view::npos) {
      working[table.lane[row]] = 1;
    }
  }
  if (std::find(working.begin(), working.end(), 1) == working.end()) working.assign(working.size(), 1);
  return working;
}

/// Each thread cut into pieces by its innermost row. The later that row began, the likelier it is what the time went
/// into: a thread that waits inside an operator has begun it long before.
void add_host_claims(const EventTable& table, std::vector<Claim>& claims) {
  const Nesting nested = nesting(table);
  const std::vector<uint8_t> working = working_lanes(table);
  std::vector<uint32_t> outermost(table.size(), kNoIndex);
  std::vector<uint32_t> open;
  int64_t reached_ns = 0;
  const auto claim_until = [&](int64_t ns) {
    if (!open.empty() && ns > reached_ns) {
      const uint32_t row = open.back();
      claims.push_back({reached_ns, ns, Owner::kHost, -table.ts_ns[row], outermost[row]});
    }
    reached_ns = std::max(reached_ns, ns);
  };
  const auto close_until = [&](int64_t ns) {
    while (!open.empty() && table.end_ns(open.back()) <= ns) {
      claim_until(table.end_ns(open.back()));
      open.pop_back();
    }
  };
  uint32_t lane = kNoIndex;
  for (uint32_t row : nested.order) {
    if (table.lanes[table.lane[row]].is_gpu || working[table.lane[row]] == 0) continue;
    if (table.lane[row] != lane) {
      close_until(INT64_MAX);
      lane = table.lane[row];
      reached_ns = table.ts_ns[row];
    }
    if (!says_something(table, row) || table.dur_ns[row] <= 0) continue;
    close_until(table.ts_ns[row]);
    claim_until(table.ts_ns[row]);
    outermost[row] = open.empty() ? row : outermost[open.back()];
    open.push_back(row);
  }
  close_until(INT64_MAX);
}

/// Sums by row first: names are made once per row that owns anything, not once per piece of time.
class Sweep {
 public:
  Sweep(std::vector<Claim> claims, size_t rows) : claims_(std::move(claims)) {
    std::sort(claims_.begin(), claims_.end(), [](const Claim& a, const Claim& b) {
      return std::tuple(a.start_ns, a.owner, a.rank, a.row) < std::tuple(b.start_ns, b.owner, b.rank, b.row);
    });
    for (std::vector<int64_t>& sums : owned_ns_) sums.assign(rows, 0);
  }

  void run(Window window) {
    active_.clear();
    reached_ns_ = window.start_ns;
    for (const Claim& claim : claims_) {
      if (claim.start_ns >= window.end_ns) break;
      if (claim.end_ns <= window.start_ns) continue;
      give_until(std::max(claim.start_ns, window.start_ns));
      active_.push_back(claim);
    }
    give_until(window.end_ns);
  }

  int64_t owned_ns(Owner owner, uint32_t row) const { return owned_ns_[static_cast<size_t>(owner)][row]; }
  int64_t idle_ns() const { return idle_ns_; }

 private:
  void give_until(int64_t ns) {
    while (reached_ns_ < ns) {
      std::erase_if(active_, [&](const Claim& claim) { return claim.end_ns <= reached_ns_; });
      int64_t next_ns = ns;
      for (const Claim& claim : active_) next_ns = std::min(next_ns, claim.end_ns);
      auto owner = std::min_element(active_.begin(), active_.end(), claims_before);
      int64_t& sum = owner == active_.end() ? idle_ns_ : owned_ns_[static_cast<size_t>(owner->owner)][owner->row];
      sum += next_ns - reached_ns_;
      reached_ns_ = next_ns;
    }
  }

  std::vector<Claim> claims_;
  std::vector<Claim> active_;  // As many as there are streams and threads: scanned, not searched.
  std::vector<int64_t> owned_ns_[3];
  int64_t idle_ns_ = 0;
  int64_t reached_ns_ = 0;
};

/// "autograd::engine::evaluate_function: X" is X; numbers after "#" count instances.
std::string host_label(std::string_view name) {
  constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";
  if (name.starts_with(kEngine)) name.remove_prefix(kEngine.size());
  return std::string(name);
}

std::string communication_label(const EventTable& table, uint32_t row) {
  const CollectiveDetail* c = table.collective_detail(row);
  if (c == nullptr || c->collective == kNoName) return short_kernel_name(table.name_of(row));
  const NameId group = c->group_desc != kNoName ? c->group_desc : c->group_name;
  if (group == kNoName) return std::string(table.text(c->collective));
  return fmt::format("{}, group {}", table.text(c->collective), table.text(group));
}

/// What a lane is called in any trace of the job: thread ids differ from run to run, and the number of the default
/// stream from maker to maker; what they do does not.
std::vector<std::string> lane_places(const EventTable& table) {
  std::vector<uint8_t> has_steps(table.lanes.size(), 0), has_backward(table.lanes.size(), 0);
  std::vector<uint32_t> calls(table.lanes.size(), 0), kernels(table.lanes.size(), 0);
  for (uint32_t row = 0; row < table.size(); ++row) {
    const uint32_t lane = table.lane[row];
    if (table.kind[row] == EventKind::kRuntime) ++calls[lane];
    if (is_gpu_work(table.kind[row])) ++kernels[lane];
    if (table.kind[row] != EventKind::kCpuOp && table.kind[row] != EventKind::kAnnotation) continue;
    if (is_step(table, row)) has_steps[lane] = 1;
    if (table.name_of(row).find("Backward") != std::string_view::npos) has_backward[lane] = 1;
  }
  const auto busiest = [](const std::vector<uint32_t>& counts) {
    return static_cast<uint32_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  };
  // Without steps the thread that calls the GPU most is the main one.
  const bool any_steps = std::find(has_steps.begin(), has_steps.end(), 1) != has_steps.end();
  const uint32_t caller = busiest(calls), main_stream = busiest(kernels);
  std::vector<std::string> places;
  for (uint32_t lane = 0; lane < table.lanes.size(); ++lane) {
    const bool is_main = any_steps ? has_steps[lane] != 0 : lane == caller;
    if (table.lanes[lane].is_gpu) {
      const bool most = lane == main_stream;
      places.push_back(most ? "main stream" : fmt::format("stream {}", table.text(table.lanes[lane].tid_text)));
    } else {
      places.emplace_back(is_main ? "main thread" : has_backward[lane] != 0 ? "backward thread" : "other threads");
    }
  }
  return places;
}

OwnedTime named(const EventTable& table, Owner owner, uint32_t row) {
  OwnedTime time;
  time.owner = owner;
  if (owner == Owner::kCompute) {
    time.label = family_name(row_family(table, row));
    time.name = short_kernel_name(table.name_of(row));
  } else if (owner == Owner::kCommunication) {
    time.label = time.name = communication_label(table, row);
  } else {
    time.label = time.name = host_label(table.name_of(row));
  }
  return time;
}

}  // namespace

std::string_view owner_name(Owner owner) {
  switch (owner) {
    case Owner::kCompute:
      return "compute";
    case Owner::kCommunication:
      return "communication";
    case Owner::kHost:
      return "host";
    case Owner::kIdle:
      break;
  }
  return "idle";
}

std::vector<OwnedTime> attribute_time(const EventTable& table, const std::vector<RowTemplate>& templates,
                                      const std::vector<Window>& windows) {
  std::vector<Claim> claims;
  add_gpu_claims(table, claims);
  add_host_claims(table, claims);
  Sweep sweep(std::move(claims), table.size());
  for (const Window& window : windows) sweep.run(window);

  const std::vector<std::string> places = lane_places(table);
  const auto key = [](const OwnedTime& time) {
    return std::tie(time.owner, time.label, time.name, time.part, time.place);
  };
  std::vector<OwnedTime> times;
  for (Owner owner : {Owner::kCompute, Owner::kCommunication, Owner::kHost}) {
    for (uint32_t row = 0; row < table.size(); ++row) {
      if (sweep.owned_ns(owner, row) == 0) continue;
      OwnedTime time = named(table, owner, row);
      time.part = template_name(templates[row]);
      time.place = places[table.lane[row]];
      time.time_ns = sweep.owned_ns(owner, row);
      times.push_back(std::move(time));
    }
  }
  if (sweep.idle_ns() > 0) times.push_back({Owner::kIdle, "", "", "", "", sweep.idle_ns()});
  std::stable_sort(times.begin(), times.end(), [&](const OwnedTime& a, const OwnedTime& b) { return key(a) < key(b); });
  std::vector<OwnedTime> sums;
  for (OwnedTime& time : times) {
    if (!sums.empty() && key(sums.back()) == key(time)) {
      sums.back().time_ns += time.time_ns;
    } else {
      sums.push_back(std::move(time));
    }
  }
  return sums;
}

}  // namespace lumos
