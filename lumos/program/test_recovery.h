// Synthesized traces for tests of recovery, edited as other libraries or PyTorch versions would have written them, and
// what is recovered of them. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lumos/graph/rank/build.h"
#include "lumos/model/job/test_jobs.h"
#include "lumos/program/lower/plan.h"
#include "lumos/program/synth/synthetic_job.h"
#include "lumos/program/test_program.h"

namespace lumos {

/// One rank of every stage.
inline std::vector<EventTable> synthetic_tables(const Job& job, int steps = 2) {
  SyntheticOptions options;
  options.ranks = ranks_of_stages(job);
  options.steps = steps;
  auto made = simulate_job(job, test_cluster(), options);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  std::vector<EventTable> tables;
  for (int64_t rank : options.ranks) tables.push_back(synthetic_table(*made, job, test_cluster(), rank, steps));
  return tables;
}

/// Every name of a row, and every name of a collective in the arguments, as `rename` has it.
inline EventTable renamed(EventTable table, const std::function<std::string(std::string_view)>& rename) {
  auto names = std::make_shared<NamePool>();
  for (uint32_t id = 0; id < table.names->size(); ++id) names->intern(table.names->text(NameId{id}));
  for (NameId& name : table.name) name = names->intern(rename(table.names->text(name)));
  for (CollectiveDetail& detail : table.collectives)
    detail.collective = names->intern(rename(table.names->text(detail.collective)));
  table.names = names;
  return table;
}

inline Recovery recover_of(const std::vector<EventTable>& tables, const Job& job) {
  std::vector<ExecGraph> graphs;
  for (const EventTable& table : tables) graphs.push_back(build_graph(std::make_shared<const EventTable>(table), {}));
  auto recovery = recover_job(graphs, job, default_network());
  EXPECT_TRUE(recovery) << (recovery ? "" : recovery.error().message);
  return recovery ? std::move(*recovery) : Recovery{};
}

}  // namespace lumos
