#include "lumos/graph/host/gpu_program.h"

#include <algorithm>

#include "lumos/trace/table/collective_names.h"
#include "lumos/trace/table/launch_flows.h"

namespace lumos {

namespace {

struct Key {
  int64_t id;
  uint32_t index;
};

bool by_id(const Key& a, const Key& b) { return a.id != b.id ? a.id < b.id : a.index < b.index; }

// By correlation. Works come in the order of their rows.
void link_by_correlation(const EventTable& table, const HostProgram& host, std::vector<GpuWork>& work) {
  const std::vector<LaunchFlow> flows = launch_flows(table);
  std::vector<uint32_t> call_of_row(table.size(), kNoIndex);
  for (uint32_t c = 0; c < host.calls.size(); ++c) call_of_row[host.calls[c].row] = c;
  size_t f = 0;
  for (GpuWork& w : work) {
    while (f < flows.size() && flows[f].work < w.row) ++f;
    if (f < flows.size() && flows[f].work == w.row) w.call = call_of_row[flows[f].call];
  }
}

// Without correlations: the k-th work of an External id belongs to the k-th launching call of that id.
void link_by_external_id(const EventTable& table, const HostProgram& host, std::vector<GpuWork>& work) {
  std::vector<Key> rows, calls;
  std::vector<bool> taken(host.calls.size(), false);
  for (const GpuWork& w : work) {
    if (w.call != kNoIndex) taken[w.call] = true;
  }
  for (uint32_t w = 0; w < work.size(); ++w) {
    const uint32_t id = table.external_id[work[w].row];
    if (work[w].call == kNoIndex && id != 0) rows.push_back({id, w});
  }
  if (rows.empty()) return;
  for (uint32_t c = 0; c < host.calls.size(); ++c) {
    const uint32_t id = table.external_id[host.calls[c].row];
    const CallKind kind = host.calls[c].kind;
    const bool launches = kind == CallKind::kLaunch || kind == CallKind::kBlockingCopy;
    if (!taken[c] && id != 0 && launches) calls.push_back({id, c});
  }
  std::sort(rows.begin(), rows.end(), [&](const Key& a, const Key& b) {
    if (a.id != b.id) return a.id < b.id;
    return work[a.index].start_ns != work[b.index].start_ns ? work[a.index].start_ns < work[b.index].start_ns
                                                            : a.index < b.index;
  });
  std::sort(calls.begin(), calls.end(), by_id);
  size_t c = 0;
  for (size_t r = 0; r < rows.size();) {
    size_t r_end = r;
    while (r_end < rows.size() && rows[r_end].id == rows[r].id) ++r_end;
    while (c < calls.size() && calls[c].id < rows[r].id) ++c;
    size_t c_end = c;
    while (c_end < calls.size() && calls[c_end].id == rows[r].id) ++c_end;
    if (c_end - c == r_end - r) {
      for (size_t k = 0; k < r_end - r; ++k) work[rows[r + k].index].call = calls[c + k].index;
    }
    r = r_end;
  }
}

void index_by_call(const HostProgram& host, GpuProgram& out) {
  out.by_call_begin.assign(host.calls.size() + 1, 0);
  for (const GpuWork& w : out.work) {
    if (w.call != kNoIndex) ++out.by_call_begin[w.call + 1];
  }
  for (size_t c = 0; c < host.calls.size(); ++c) out.by_call_begin[c + 1] += out.by_call_begin[c];
  out.by_call.resize(out.by_call_begin.back());
  std::vector<uint32_t> next(out.by_call_begin.begin(), out.by_call_begin.end() - 1);
  for (uint32_t w = 0; w < out.work.size(); ++w) {
    if (out.work[w].call != kNoIndex) out.by_call[next[out.work[w].call]++] = w;
  }
  for (size_t c = 0; c < host.calls.size(); ++c) {
    const uint32_t begin = out.by_call_begin[c], end = out.by_call_begin[c + 1];
    if (end - begin < 2) continue;
    std::sort(out.by_call.begin() + begin, out.by_call.begin() + end, [&](uint32_t a, uint32_t b) {
      return out.work[a].start_ns != out.work[b].start_ns ? out.work[a].start_ns < out.work[b].start_ns : a < b;
    });
    for (uint32_t i = begin; i < end; ++i) out.work[out.by_call[i]].in_graph = true;
  }
}

}  // namespace

GpuProgram build_gpu_program(const EventTable& table, const HostProgram& host) {
  GpuProgram out;
  std::vector<uint32_t> stream_of_lane(table.lanes.size(), kNoIndex);
  const std::vector<uint8_t> communication = communication_rows(table);
  for (uint32_t row = 0; row < table.size(); ++row) {
    if (!is_gpu_work(table.kind[row])) continue;
    uint32_t& stream = stream_of_lane[table.lane[row]];
    if (stream == kNoIndex) {
      stream = out.streams();
      out.stream_lane.push_back(table.lane[row]);
    }
    GpuWork w;
    w.row = row;
    w.stream = stream;
    w.start_ns = table.ts_ns[row];
    w.end_ns = table.end_ns(row);
    w.communication = communication[row] != 0;
    out.work.push_back(w);
  }
  link_by_correlation(table, host, out.work);
  link_by_external_id(table, host, out.work);
  auto launched = [&](const GpuWork& w) {
    return w.call == kNoIndex ? w.start_ns : table.ts_ns[host.calls[w.call].row];
  };
  std::sort(out.work.begin(), out.work.end(), [&](const GpuWork& a, const GpuWork& b) {
    if (a.stream != b.stream) return a.stream < b.stream;
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    if (a.end_ns != b.end_ns) return a.end_ns < b.end_ns;
    const int64_t la = launched(a), lb = launched(b);
    return la != lb ? la < lb : a.row < b.row;
  });
  out.stream_begin.assign(out.streams() + 1, 0);
  for (const GpuWork& w : out.work) ++out.stream_begin[w.stream + 1];
  for (uint32_t s = 0; s < out.streams(); ++s) out.stream_begin[s + 1] += out.stream_begin[s];
  index_by_call(host, out);
  return out;
}

std::vector<int64_t> launch_order_ns(const EventTable& table, const HostProgram& host, const GpuProgram& gpu) {
  std::vector<int64_t> out(gpu.work.size());
  for (uint32_t s = 0; s < gpu.streams(); ++s) {
    int64_t latest = INT64_MIN;
    for (uint32_t w = gpu.stream_begin[s]; w < gpu.stream_begin[s + 1]; ++w) {
      const GpuWork& work = gpu.work[w];
      if (work.call != kNoIndex) latest = std::max(latest, table.ts_ns[host.calls[work.call].row]);
      out[w] = latest;
    }
  }
  return out;
}

}  // namespace lumos
