// First, simple reader: the whole document in memory.
#include "lumos/trace/reader.h"

#include <dirent.h>
#include <simdjson.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "lumos/base/parallel.h"

namespace lumos {
namespace {
using namespace simdjson;

int64_t to_ns(std::string_view token) {
  bool neg = false;
  size_t i = 0;
  if (i < token.size() && token[i] == '-') neg = true, ++i;
  int64_t whole = 0, frac = 0;
  for (; i < token.size() && isdigit(token[i]); ++i) whole = whole * 10 + (token[i] - '0');
  if (i < token.size() && token[i] == '.') {
    ++i;
    int64_t scale = 100;
    for (; i < token.size() && isdigit(token[i]); ++i, scale /= 10) frac += (token[i] - '0') * scale;
  }
  int64_t v = whole * 1000 + frac;
  return neg ? -v : v;
}

struct Builder {
  EventTable t;
  std::shared_ptr<NamePool> names = std::make_shared<NamePool>();
  std::map<std::tuple<bool, std::string, std::string>, uint32_t> lanes;
  uint32_t lane(bool gpu, std::string pid, std::string tid) {
    auto [it, fresh] = lanes.try_emplace({gpu, pid, tid}, t.lanes.size());
    if (fresh) {
      Lane l;
      l.is_gpu = gpu;
      l.pid_text = names->intern(pid);
      l.tid_text = names->intern(tid);
      auto num = [](const std::string& s) { return s.empty() || !(isdigit(s[0]) || s[0] == '-') ? -1 : atoll(s.c_str()); };
      l.pid = num(pid);
      l.tid = num(tid);
      t.lanes.push_back(l);
    }
    return it->second;
  }
};

std::string scalar(ondemand::value v) {
  if (v.type() == ondemand::json_type::string) return std::string(std::string_view(v.get_string()));
  std::string_view s = v.raw_json_token();
  while (!s.empty() && isspace(s.back())) s.remove_suffix(1);
  return std::string(s);
}
std::string raw(ondemand::value v) {
  if (v.type() == ondemand::json_type::array) {
    const char* p = std::string_view(v.raw_json_token()).data();
    const char* q = p;
    int depth = 0;
    bool str = false;
    do {
      if (str) { if (*q == '\\') ++q; else if (*q == '"') str = false; }
      else if (*q == '"') str = true;
      else if (*q == '[') ++depth;
      else if (*q == ']') --depth;
      ++q;
    } while (depth);
    return std::string(p, q);
  }
  return scalar(v);
}
}  // namespace

Result<EventTable> read_trace(const std::string& path, const ReadOptions&) {
  std::string cmd = "gzip -dcf '" + path + "' 2>/dev/null";
  FILE* f = popen(cmd.c_str(), "r");
  std::string data;
  char buf[1 << 16];
  size_t n;
  while ((n = fread(buf, 1, sizeof buf, f)) > 0) data.append(buf, n);
  pclose(f);
  Builder b;
  EventTable& t = b.t;
  t.info.file = path;
  t.info.decoded_bytes = data.size();
  padded_string json(data);
  ondemand::parser parser;
  try {
    ondemand::document doc = parser.iterate(json);
    auto event = [&](ondemand::object e) {
      ++t.info.events;
      std::map<std::string, std::string> top, args;
      for (auto field : e) {
        std::string key(std::string_view(field.unescaped_key()));
        if (key == "args") {
          ondemand::value v = field.value();
          if (v.type() == ondemand::json_type::object)
            for (auto a : v.get_object()) {
              std::string ak(std::string_view(a.unescaped_key()));
              ondemand::value av = a.value();
              if (av.type() == ondemand::json_type::object) continue;
              args[ak] = raw(av);
            }
        } else {
          top[key] = raw(field.value());
        }
      }
      const std::string& ph = top["ph"];
      const std::string& cat = top["cat"];
      auto num = [&](const char* k, int64_t d) { auto it = args.find(k); return it == args.end() || it->second.empty() ? d : (int64_t)strtod(it->second.c_str(), nullptr); };
      auto txt = [&](const char* k) { auto it = args.find(k); return it == args.end() ? kNoName : b.names->intern(it->second); };
      if (ph == "M" && top["name"] == "thread_name") {
        return;
      }
      if ((ph == "s" || ph == "f") && cat == "fwdbwd") {
        t.fwdbwd.push_back({atoll(top["id"].c_str()), to_ns(top["ts"]), b.lane(false, top["pid"], top["tid"]), ph == "s"});
        return;
      }
      if (ph != "X") return;
      static const std::map<std::string, EventKind> kinds = {
          {"cpu_op", EventKind::kCpuOp}, {"Operator", EventKind::kCpuOp}, {"user_annotation", EventKind::kAnnotation},
          {"gpu_user_annotation", EventKind::kGpuAnnotation}, {"cuda_runtime", EventKind::kRuntime}, {"Runtime", EventKind::kRuntime},
          {"cuda_driver", EventKind::kRuntime}, {"xpu_runtime", EventKind::kRuntime}, {"mtia_runtime", EventKind::kRuntime},
          {"kernel", EventKind::kKernel}, {"Kernel", EventKind::kKernel}, {"gpu_memcpy", EventKind::kMemcpy}, {"Memcpy", EventKind::kMemcpy},
          {"gpu_memset", EventKind::kMemset}, {"Memset", EventKind::kMemset}, {"cuda_sync", EventKind::kSync}, {"overhead", EventKind::kOverhead}};
      auto it = kinds.find(cat);
      EventKind kind;
      if (it != kinds.end()) kind = it->second;
      else if (cat == "python_function" && top["name"].rfind("nn.Module", 0) == 0) kind = EventKind::kModule;
      else return;
      bool gpu = is_gpu_work(kind) || kind == EventKind::kSync || kind == EventKind::kGpuAnnotation;
      std::string tid = top["tid"];
      if (is_gpu_work(kind) && args.count("stream") && !args["stream"].empty()) tid = args["stream"];
      t.ts_ns.push_back(to_ns(top["ts"]));
      t.dur_ns.push_back(std::max<int64_t>(0, to_ns(top["dur"])));
      t.name.push_back(b.names->intern(top["name"]));
      t.lane.push_back(b.lane(gpu, top["pid"], tid));
      t.kind.push_back(kind);
      t.correlation.push_back(num("correlation", -1));
      t.external_id.push_back((uint32_t)std::max<int64_t>(0, num("External id", num("external id", 0))));
      uint32_t coll = kNoIndex;
      if (args.count("Collective name") || args.count("Process Group Name")) {
        CollectiveDetail c;
        c.collective = txt("Collective name"); c.dtype = txt("dtype"); c.group_name = txt("Process Group Name");
        c.group_desc = txt("Process Group Description"); c.group_ranks = txt("Process Group Ranks");
        c.in_split = txt("In split size"); c.out_split = txt("Out split size");
        c.in_elements = num("In msg nelems", -1); c.out_elements = num("Out msg nelems", -1); c.sequence = num("Seq", -1);
        c.group_size = num("Group size", -1); c.src_rank = num("Src Rank", -1); c.dst_rank = num("Dst Rank", -1);
        coll = t.collectives.size();
        t.collectives.push_back(c);
      }
      uint32_t detail = kNoIndex;
      if (is_gpu_work(kind)) {
        GpuDetail d;
        auto three = [&](const char* k, int32_t* out) { auto a = args.find(k); if (a != args.end()) sscanf(a->second.c_str(), "[%d, %d, %d]", out, out + 1, out + 2) == 3 || sscanf(a->second.c_str(), "[%d,%d,%d]", out, out + 1, out + 2); };
        three("grid", d.grid); three("block", d.block);
        d.registers_per_thread = num("registers per thread", 0); d.shared_memory_bytes = num("shared memory", 0);
        d.bytes = num("bytes", 0); d.graph_node = num("graph node id", -1); d.collective = coll;
        d.occupancy_pct = num("est. achieved occupancy %", -1);
        detail = t.gpu.size(); t.gpu.push_back(d);
      } else if (kind == EventKind::kCpuOp) {
        OpDetail d;
        d.input_dims = txt("Input Dims"); d.input_types = txt("Input type"); d.concrete_inputs = txt("Concrete Inputs");
        d.fwd_thread = num("Fwd thread id", -1); d.sequence = num("Sequence number", -1); d.collective = coll;
        if (d.input_dims != kNoName || d.sequence >= 0 || coll != kNoIndex || d.concrete_inputs != kNoName) { detail = t.ops.size(); t.ops.push_back(d); }
      } else if (kind == EventKind::kSync) {
        SyncDetail d;
        d.stream = num("stream", -1); d.wait_on_stream = num("wait_on_stream", -1);
        d.wait_on_record_correlation = num("wait_on_cuda_event_record_corr_id", -1); d.wait_on_event = num("wait_on_cuda_event_id", -1);
        detail = t.syncs.size(); t.syncs.push_back(d);
      }
      t.detail.push_back(detail);
    };
    auto type = doc.type().value();
    if (type == ondemand::json_type::array) {
      for (auto e : doc.get_array()) event(e.get_object());
    } else {
      for (auto field : doc.get_object()) {
        std::string key(std::string_view(field.unescaped_key()));
        if (key == "traceEvents") {
          for (auto e : field.value().get_array()) event(e.get_object());
        } else if (key == "distributedInfo") {
          for (auto d : field.value().get_object()) {
            std::string dk(std::string_view(d.unescaped_key()));
            if (dk == "rank") t.info.rank = (int64_t)d.value().get_int64();
            else if (dk == "world_size") t.info.world_size = (int64_t)d.value().get_int64();
            else if (dk == "pg_config") {
              ondemand::value pv = d.value();
              if (pv.type() == ondemand::json_type::array)
              for (auto g : pv.get_array()) {
                ProcessGroup pg;
                for (auto gf : g.get_object()) {
                  std::string gk(std::string_view(gf.unescaped_key()));
                  if (gk == "pg_name") pg.name = scalar(gf.value());
                  else if (gk == "pg_desc") pg.description = scalar(gf.value());
                  else if (gk == "pg_size") pg.size = (int64_t)gf.value().get_int64();
                  else if (gk == "ranks") for (auto r : gf.value().get_array()) pg.ranks.push_back((int64_t)r.get_int64());
                }
                t.info.groups.push_back(pg);
              }
            }
          }
        } else if (key == "deviceProperties") {
          for (auto d : field.value().get_array()) {
            DeviceProperties p;
            for (auto f2 : d.get_object()) {
              std::string k(std::string_view(f2.unescaped_key()));
              if (k == "name") p.name = scalar(f2.value());
              else if (k == "numSms") p.num_sms = (int64_t)f2.value().get_int64();
              else if (k == "totalGlobalMem") p.memory_bytes = (int64_t)f2.value().get_int64();
            }
            t.info.devices.push_back(p);
          }
        }
      }
    }
  } catch (simdjson_error& e) {
    if (t.info.events == 0) return fail(ErrorKind::kUnreadable, "{}: not a Kineto trace: {}", path, e.what());
    t.info.truncated = true;
  }
  if (t.info.rank < 0) {
    size_t p = path.rfind("rank");
    if (p != std::string::npos && isdigit(path[p + 4])) t.info.rank = atoi(path.c_str() + p + 4);
  }
  t.names = b.names;
  return std::move(t);
}

Result<std::vector<std::string>> find_traces(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& p : paths) {
    DIR* d = opendir(p.c_str());
    if (!d) { out.push_back(p); continue; }
    while (dirent* e = readdir(d)) {
      std::string n = e->d_name;
      if (n.find(".json") != std::string::npos && n != "config.json" && n.rfind("truth", 0) != 0 && n != "actual.json") out.push_back(p + "/" + n);
    }
    closedir(d);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<TraceSet> read_traces(const std::vector<std::string>& paths, const ReadOptions& options) {
  auto files = TRY(find_traces(paths));
  std::vector<Result<EventTable>> results(files.size(), fail(ErrorKind::kFailed, "not read"));
  parallel_for(files.size(), options.threads, [&](size_t i) { results[i] = read_trace(files[i], options); });
  TraceSet set;
  int next = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!results[i]) { set.failures.push_back({files[i], results[i].error()}); continue; }
    set.tables.push_back(std::move(*results[i]));
    if (set.tables.back().info.rank < 0) set.tables.back().info.rank = next;
    next = std::max(next, set.tables.back().info.rank + 1);
  }
  if (set.tables.empty()) return fail(ErrorKind::kUnreadable, "no readable trace");
  std::stable_sort(set.tables.begin(), set.tables.end(), [](auto& a, auto& b) { return a.info.rank < b.info.rank; });
  return set;
}

}  // namespace lumos
