#include "lumos/trace/kineto/metadata.h"

#include <algorithm>

#include "lumos/trace/kineto/decimal.h"
#include "lumos/trace/kineto/json_scan.h"
#include "lumos/trace/kineto/read_issue.h"

namespace lumos {

namespace {

/// A value inside metadata text; its end is found, its form is not checked further.
struct Value {
  std::string_view text;
  bool is_string = false;

  std::string as_text() const {
    bool ok = false;
    return is_string ? unescape_json(text, ok) : std::string(text);
  }
  int64_t as_int(int64_t otherwise) const { return parse_int(text).value_or(otherwise); }
  int32_t as_int32(int32_t otherwise) const {
    int64_t value = as_int(otherwise);
    return value < INT32_MIN || value > INT32_MAX ? otherwise : static_cast<int32_t>(value);
  }
};

const char* take_value(const char* p, const char* end, Value& value) {
  const char* begin = p;
  if (p == end) return nullptr;
  if (*p == '"') {
    JsonString string;
    p = scan_string(p + 1, end, string);
    value = {string.raw, true};
    return p;
  }
  p = *p == '{' || *p == '[' ? skip_nested(p, end) : scan_scalar(p, end);
  if (p == nullptr || p == begin) return nullptr;
  value = {{begin, static_cast<size_t>(p - begin)}, false};
  return p;
}

/// Calls visit(key, value) for the members of an object and visit("", value) for the elements of an array; stops where
/// the text stops being JSON.
template <class Visit>
void for_each(std::string_view text, Visit visit) {
  const char* p = text.data();
  const char* end = p + text.size();
  p = skip_space(p, end);
  if (p == end || (*p != '{' && *p != '[')) return;
  bool is_object = *p++ == '{';
  for (;;) {
    p = skip_space(p, end);
    Value key;
    Value value;
    if (is_object) {
      if (p == end || *p != '"') return;
      p = take_value(p, end, key);
      if (p == nullptr) return;
      p = skip_space(p, end);
      if (p == end || *p != ':') return;
      p = skip_space(p + 1, end);
    }
    p = take_value(p, end, value);
    if (p == nullptr) return;
    visit(key.text, value);
    p = skip_space(p, end);
    if (p == end || *p != ',') return;
    ++p;
  }
}

void read_group(std::string_view text, TraceInfo& info) {
  ProcessGroup group;
  for_each(text, [&](std::string_view key, Value value) {
    if (key == "pg_name") group.name = value.as_text();
    if (key == "pg_desc") group.description = value.as_text();
    if (key == "pg_size" || key == "group_count") group.size = value.as_int32(group.size);
    if (key != "ranks") return;
    // Usually a list, sometimes the list as a string.
    for_each(value.text, [&](std::string_view, Value rank) { group.ranks.push_back(rank.as_int32(-1)); });
  });
  if (group.size < 0 && !group.ranks.empty()) group.size = static_cast<int32_t>(group.ranks.size());
  info.groups.push_back(std::move(group));
}

void read_distributed_info(std::string_view text, TraceInfo& info) {
  for_each(text, [&](std::string_view key, Value value) {
    if (key == "rank") {
      info.rank = std::max(-1, value.as_int32(-1));
      if (info.rank >= 0) info.rank_source = TraceInfo::RankSource::kDistributedInfo;
    }
    if (key == "world_size") info.world_size = std::max(-1, value.as_int32(-1));
    if (key == "backend") info.backend = value.as_text();
    if (key == "pg_config") {
      for_each(value.text, [&](std::string_view, Value group) { read_group(group.text, info); });
    }
  });
}

void read_device(std::string_view text, TraceInfo& info) {
  DeviceProperties device;
  for_each(text, [&](std::string_view key, Value value) {
    if (key == "name") device.name = value.as_text();
    if (key == "totalGlobalMem") device.memory_bytes = value.as_int(0);
    if (key == "numSms") device.num_sms = value.as_int32(0);
    if (key == "computeMajor") device.compute_major = value.as_int32(0);
    if (key == "computeMinor") device.compute_minor = value.as_int32(0);
    if (key == "warpSize") device.warp_size = value.as_int32(0);
    if (key == "maxThreadsPerMultiprocessor") device.max_threads_per_sm = value.as_int32(0);
    if (key == "regsPerMultiprocessor") device.registers_per_sm = value.as_int32(0);
    // ROCm spells it the other way.
    if (key == "sharedMemPerMultiprocessor" || key == "maxSharedMemoryPerMultiProcessor") {
      device.shared_memory_per_sm_bytes = value.as_int32(0);
    }
  });
  info.devices.push_back(std::move(device));
}

bool has_key(const DocumentInfo& document, std::string_view key) {
  return std::find(document.top_keys.begin(), document.top_keys.end(), key) != document.top_keys.end();
}

struct Signature {
  std::string_view bytes;
  std::string_view meaning;
};

constexpr Signature kSignatures[] = {
    {"PK\x03\x04", "a zip archive; unpack it first"},
    {"SQLite format 3", "an SQLite database (an Nsight Systems export?); Lumos reads PyTorch profiler traces"},
    {"BZh", "bzip2 data; decompress it with `bunzip2` first"},
    {"\xfd"
     "7zXZ",
     "xz data; decompress it with `unxz` first"},
    {"\x7f"
     "ELF",
     "a program"},
    {"<", "HTML or XML, not JSON (a saved download page?)"},
    {"version https://git-lfs", "a Git LFS pointer; fetch the file with `git lfs pull`"},
    {"\xff\xfe", "UTF-16 text; convert it to UTF-8 first"},
    {"\x80", "a Python pickle; export with `export_chrome_trace`"},
    {"\x0a", "binary data (a Perfetto trace?); export with `export_chrome_trace`"},
};

}  // namespace

void read_metadata(const DocumentInfo& document, TraceInfo& info) {
  for (const auto& [key, text] : document.metadata) {
    Value value;
    const char* end = text.data() + text.size();
    if (take_value(skip_space(text.data(), end), end, value) == nullptr) value = {text, false};
    if (key == "distributedInfo") read_distributed_info(text, info);
    if (key == "baseTimeNanoseconds") {
      const int64_t base = value.as_int(0);
      info.base_ns = base >= 0 && base <= kLatestTimeNs ? base : 0;
    }
    if (key == "traceName") info.trace_name = value.as_text();
    if (key == "deviceProperties") {
      for_each(text, [&](std::string_view, Value device) { read_device(device.text, info); });
    }
  }
}

namespace {

/// What a document without events is; empty where it is no JSON of any kind.
std::string kind_of_document(const DocumentInfo& document) {
  if (has_key(document, "nodes") && (has_key(document, "schema") || has_key(document, "start_ts"))) {
    return "a PyTorch execution trace (Chakra host trace), which has no times of kernels; record a Kineto trace with "
           "torch.profiler and export_chrome_trace";
  }
  if (has_key(document, "resourceSpans")) return "an OpenTelemetry trace, not a PyTorch profiler trace";
  if (document.is_array) return "a JSON array whose elements are no trace events";
  if (has_key(document, "traceEvents"))
    return "JSON whose traceEvents are no list; name a file written by export_chrome_trace";
  if (!document.top_keys.empty()) {
    std::string keys;
    for (size_t i = 0; i < document.top_keys.size() && i < 5; ++i) {
      keys += (i == 0 ? "" : ", ") + document.top_keys[i];
    }
    return fmt::format("JSON without traceEvents (it has {}); name a file written by export_chrome_trace", keys);
  }
  for (const Signature& signature : kSignatures) {
    if (std::string_view(document.first_bytes).starts_with(signature.bytes)) return std::string(signature.meaning);
  }
  if (document.first_bytes.empty()) return "empty, apart from white space";
  if (document.first_bytes[0] == '{') return "JSON without any key";
  return "";
}

}  // namespace

std::string describe_document(const DocumentInfo& document) {
  const std::string kind = kind_of_document(document);
  return kind.empty() ? "not JSON, so not a Kineto trace; name a file written by export_chrome_trace"
                      : "not a Kineto trace but " + kind;
}

}  // namespace lumos
