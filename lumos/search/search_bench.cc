// How long a search takes: ten thousand configurations of a 512-GPU job, with and without pruning.
// Run: build-bench/search_bench
#include <benchmark/benchmark.h>

#include "lumos/search/search.h"
#include "lumos/search/space.h"

namespace lumos {
namespace {

/// GPT-3 175B.
Job large_job() {
  return resolve_job({{"num_layers", "96"},
                      {"hidden_size", "12288"},
                      {"num_attention_heads", "96"},
                      {"seq_length", "2048"},
                      {"vocab_size", "51200"},
                      {"global_batch_size", "1536"},
                      {"world_size", "512"}})
      .value();
}

/// Plausible numbers of an H100 node; what they are does not matter to the time.
Cluster some_cluster() {
  Cluster cluster;
  for (const ClusterField& field : cluster_fields()) {
    if (field.real != nullptr) field.real(cluster) = field.name.ends_with("fraction") ? 0.7 : 5;
  }
  cluster.gpu.memory_gib = 80;
  cluster.gpu.sm_count = 132;
  cluster.gpu.matrix_tflops = 989;
  cluster.gpu.memory_gb_per_s = 3350;
  cluster.node.gb_per_s = 400;
  cluster.fabric.gb_per_s = 50;
  cluster.reduce_gb_per_s = 1000;
  return cluster;
}

void search_large_job(benchmark::State& state, bool exhaustive) {
  const Job job = large_job();
  const Cluster cluster = some_cluster();
  SearchSpace space;
  space.axes = {{"overlap_grad_reduce", {"false", "true"}}, {"overlap_p2p_comm", {"false", "true"}}};
  size_t configurations = 0, evaluated = 0;
  for (auto _ : state) {
    const Enumeration found = enumerate_space(complete_space(space, job, cluster, 512).value(), job, cluster).value();
    const std::vector<Configuration> all = make_configurations(found.jobs, {cluster, {}}, 0);
    SearchOptions options;
    options.exhaustive = exhaustive;
    const SearchResult result =
        search(all, {cluster, {}}, {}, options, [](const std::vector<Evaluated>&) { return Status(); }).value();
    configurations = all.size();
    evaluated = result.evaluated.size();
  }
  state.counters["configurations"] = static_cast<double>(configurations);
  state.counters["evaluated"] = static_cast<double>(evaluated);
}

BENCHMARK_CAPTURE(search_large_job, pruned, false)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(search_large_job, exhaustive, true)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace lumos
