#include "lumos/model/cluster/cluster.h"

#include <charconv>
#include <cmath>

#include "lumos/base/toml.h"

namespace lumos {

const std::vector<ClusterField>& cluster_fields() {
#define REAL(path)                                                       \
  ClusterField {                                                         \
#path, [](Cluster & c) -> double& { return c.path; }, nullptr, false \
  }
#define CONSTANT(path)                                                  \
  ClusterField {                                                        \
#path, [](Cluster & c) -> double& { return c.path; }, nullptr, true \
  }
#define WHOLE(path)                                                       \
  ClusterField {                                                          \
#path, nullptr, [](Cluster & c) -> int64_t& { return c.path; }, false \
  }
  static const std::vector<ClusterField> fields = {
      WHOLE(gpus_per_node),
      WHOLE(num_nodes),
      REAL(price_per_gpu_hour),
      CONSTANT(reduce_gb_per_s),
      CONSTANT(arrival_spread_us),
      REAL(gpu.memory_gib),
      REAL(gpu.reserved_gib),
      WHOLE(gpu.sm_count),
      REAL(gpu.matrix_tflops),
      REAL(gpu.fp32_tflops),
      REAL(gpu.memory_gb_per_s),
      CONSTANT(gpu.gemm_peak_fraction),
      CONSTANT(gpu.gemm_unaligned_fraction),
      CONSTANT(gpu.gemm_tile_start_us),
      CONSTANT(gpu.attention_peak_fraction),
      CONSTANT(gpu.memory_peak_fraction),
      CONSTANT(gpu.kernel_floor_us),
      CONSTANT(host.launch_us),
      CONSTANT(host.step_us),
      WHOLE(host.runs_ahead),
      CONSTANT(node.gb_per_s),
      CONSTANT(node.latency_us),
      CONSTANT(node.low_latency_us),
      CONSTANT(node.low_latency_fraction),
      CONSTANT(node.hop_us),
      CONSTANT(fabric.gb_per_s),
      CONSTANT(fabric.latency_us),
      CONSTANT(fabric.low_latency_us),
      CONSTANT(fabric.low_latency_fraction),
      CONSTANT(fabric.hop_us),
  };
#undef REAL
#undef CONSTANT
#undef WHOLE
  return fields;
}

double peak_tflops(const Gpu& gpu, int64_t element_bytes) {
  // The ratio of H100 and A100; V100 and T4 have 8, B200 30.
  constexpr double kUsualRatio = 16;
  if (element_bytes < 4) return gpu.matrix_tflops;
  return gpu.fp32_tflops > 0 ? gpu.fp32_tflops : gpu.matrix_tflops / kUsualRatio;
}

const ClusterField* find_cluster_field(std::string_view name) {
  for (const ClusterField& field : cluster_fields()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

namespace {

/// "gpu.name" in tables: the view at each part of the path.
ValueView at_path(const ValueView& file, std::string_view path) {
  const size_t dot = path.find('.');
  if (dot == std::string_view::npos) return file.at(path);
  return file.at(path.substr(0, dot)).at(path.substr(dot + 1));
}

Status refuse_unknown(const ValueView& file) {
  for (std::string_view table : {"", "gpu", "host", "node", "fabric"}) {
    std::vector<std::string_view> known;
    if (table.empty()) known = {"name", "gpu", "host", "node", "fabric"};
    if (table == "gpu") known = {"name"};
    for (const ClusterField& field : cluster_fields()) {
      const size_t dot = field.name.find('.');
      const std::string_view in = dot == std::string_view::npos ? "" : field.name.substr(0, dot);
      if (in == table) known.push_back(dot == std::string_view::npos ? field.name : field.name.substr(dot + 1));
    }
    const ValueView view = table.empty() ? file : file.at(table);
    if (!view.exists()) return file.error(fmt::format("the cluster file has no table [{}]", table));
    TRY_STATUS(view.only_keys(known));
  }
  return {};
}

bool is_optional(const ClusterField& field) {
  return field.name == "num_nodes" || field.name == "price_per_gpu_hour" || field.name == "gpu.fp32_tflops" ||
         field.name == "host.runs_ahead";
}

/// Rates and sizes divide; overheads may be nothing.
bool may_be_zero(const ClusterField& field) {
  return field.name.ends_with("_us") || is_optional(field) || field.name == "gpu.reserved_gib";
}

/// Of a data sheet's peak or of another rate.
bool is_fraction(const ClusterField& field) { return field.name.ends_with("_fraction"); }

bool is_allowed(const ClusterField& field, double value) {
  if (is_fraction(field) && value > 1) return false;
  return std::isfinite(value) && (value > 0 || (value == 0 && may_be_zero(field)));
}

std::string_view allowed_numbers(const ClusterField& field) {
  if (is_fraction(field)) return "greater than 0 and at most 1";
  return may_be_zero(field) ? "0 or more" : "greater than 0";
}

Status check_cluster(const ValueView& file, Cluster& cluster) {
  for (const ClusterField& field : cluster_fields()) {
    const double value = field.real != nullptr ? field.real(cluster) : static_cast<double>(field.whole(cluster));
    if (!is_allowed(field, value)) {
      return at_path(file, field.name).error(fmt::format("must be {}, not {}", allowed_numbers(field), value));
    }
  }
  return {};
}

}  // namespace

Result<Cluster> cluster_from_value(const ValueView& file) {
  TRY_STATUS(refuse_unknown(file));
  Cluster cluster;
  cluster.name = TRY(file.at("name").string_or("unnamed"));
  cluster.gpu.name = TRY(file.at("gpu").at("name").string_or("unnamed GPU"));
  for (const ClusterField& field : cluster_fields()) {
    const ValueView view = at_path(file, field.name);
    if (is_optional(field) && !view.exists()) continue;
    if (field.real != nullptr) {
      field.real(cluster) = TRY(view.as_double());
    } else {
      field.whole(cluster) = TRY(view.as_int());
    }
  }
  TRY_STATUS(check_cluster(file, cluster));
  return cluster;
}

Result<Cluster> read_cluster_file(const std::string& path) {
  const Value value = TRY(read_value_file(path));
  return cluster_from_value(ValueView(value, path));
}

Status set_cluster_field(Cluster& cluster, std::string_view name, std::string_view text) {
  const ClusterField* field = find_cluster_field(name);
  if (field == nullptr) return fail(ErrorKind::kUsage, "no number of a cluster is called '{}'", name);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || !is_allowed(*field, value)) {
    return fail(ErrorKind::kUsage, "{}: '{}' is not a number {}", name, text, allowed_numbers(*field));
  }
  if (field->real != nullptr) {
    field->real(cluster) = value;
  } else {
    field->whole(cluster) = static_cast<int64_t>(value);
  }
  return {};
}

std::string cluster_to_toml(const Cluster& cluster, std::string_view heading) {
  Cluster copy = cluster;
  std::string text;
  for (size_t begin = 0; begin < heading.size();) {
    const size_t end = std::min(heading.find('\n', begin), heading.size());
    text += fmt::format("# {}\n", heading.substr(begin, end - begin));
    begin = end + 1;
  }
  text += fmt::format("name = {}\n", toml_text(cluster.name));
  std::string_view table;
  for (const ClusterField& field : cluster_fields()) {
    const size_t dot = field.name.find('.');
    const std::string_view in = dot == std::string_view::npos ? "" : field.name.substr(0, dot);
    if (in != table) {
      text += fmt::format("\n[{}]\n", in);
      if (in == "gpu") text += fmt::format("name = {}\n", toml_text(cluster.gpu.name));
      table = in;
    }
    const std::string_view key = dot == std::string_view::npos ? field.name : field.name.substr(dot + 1);
    if (field.name == "price_per_gpu_hour" && cluster.price_per_gpu_hour == 0) continue;  // not known
    if (field.name == "gpu.fp32_tflops" && cluster.gpu.fp32_tflops == 0) continue;        // not known
    if (field.name == "host.runs_ahead" && cluster.host.runs_ahead != 0) continue;        // as usual
    if (field.real != nullptr) {
      text += fmt::format("{} = {}\n", key, field.real(copy));
    } else {
      text += fmt::format("{} = {}\n", key, field.whole(copy));
    }
  }
  return text;
}

}  // namespace lumos
