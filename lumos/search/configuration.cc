#include "lumos/search/configuration.h"

#include <algorithm>

#include "lumos/base/parallel.h"
#include "lumos/plan/estimate.h"
#include "lumos/plan/memory.h"

namespace lumos {
namespace {

/// FNV-1a, 64 bits: the same on every machine, which std::hash is not.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    value_ = (value_ ^ 0xff) * 0x100000001b3;  // no text contains this byte, so neighbours cannot be confused
  }
  std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

Configuration make_configuration(const Job& job, const Anchor& anchor, std::string_view context) {
  Configuration configuration;
  configuration.job = job;
  configuration.id = config_id(job, context);
  const std::vector<StageMemory> memory = stage_memory(job);
  for (const StageMemory& stage : memory)
    configuration.peak_gib = std::max(configuration.peak_gib, stage.peak() / kGib);
  configuration.fits = memory_shortage(memory, anchor.cluster).empty();
  configuration.bound_ms = step_lower_bound_ms(job, anchor.cluster, anchor.scales);
  return configuration;
}

}  // namespace

std::string config_id(const Job& job, std::string_view context) {
  Hash hash;
  hash.add(context);
  for (const auto& [name, value] : job_settings(job)) {
    hash.add(name);
    hash.add(value);
  }
  return hash.text();
}

std::string search_context(const Anchor& anchor) {
  Cluster priceless = anchor.cluster;
  priceless.price_per_gpu_hour = 0;
  std::string text = cluster_to_toml(priceless);
  const EstimateScales& scales = anchor.scales;
  for (const EstimateScales::Part& part :
       {scales.layer_forward, scales.layer_backward, scales.embedding, scales.head}) {
    text += fmt::format("{:a} {:a} ", part.compute, part.host);
  }
  return text + fmt::format("{:a} {:a} {:a}", scales.optimizer, scales.step, scales.message_host_us);
}

std::vector<Configuration> make_configurations(const std::vector<Job>& jobs, const Anchor& anchor, int threads) {
  const std::string context = search_context(anchor);
  std::vector<Configuration> configurations(jobs.size());
  parallel_for(jobs.size(), threads,
               [&](size_t i) { configurations[i] = make_configuration(jobs[i], anchor, context); });
  return configurations;
}

}  // namespace lumos
