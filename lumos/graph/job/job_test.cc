#include "lumos/graph/job/job.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>

#include "lumos/base/test_folder.h"
#include "lumos/graph/job/graph_file.h"
#include "lumos/graph/test_job.h"

namespace lumos {
namespace {

/// When every task starts and ends, by the rule of sim/: kept here so that graph/ is tested without the floor above.
std::vector<int64_t> run(const ExecGraph& graph, std::vector<int64_t>& end_ns) {
  std::vector<int64_t> start_ns(graph.size(), 0);
  end_ns.assign(graph.size(), 0);
  for (uint32_t task : graph.order) {
    for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
      const Edge& edge = graph.edges[e];
      const int64_t from = edge.from_start ? start_ns[edge.source] : end_ns[edge.source];
      start_ns[task] = std::max(start_ns[task], from + edge.lag_ns);
    }
    end_ns[task] = start_ns[task] + graph.duration_ns[task];
  }
  return start_ns;
}

LinkedJob any_job(TestJobShape& shape) {
  shape.ranks = 2 * *rc::gen::inRange(1, 4);
  shape.rounds = *rc::gen::inRange(5, 25);
  shape.seed = *rc::gen::arbitrary<uint32_t>();
  return link_job(make_test_job(shape).tables, {});
}

RC_GTEST_PROP(LinkedJob, OrderIsCompleteAndRespectsEveryEdge, ()) {
  TestJobShape shape;
  const LinkedJob job = any_job(shape);
  const ExecGraph& graph = job.linked.graph;
  RC_ASSERT(graph.order.size() == graph.size());
  RC_ASSERT(job.linked.counts.unlinked == 0u);
  std::vector<uint32_t> place(graph.size(), kNoIndex);
  for (uint32_t i = 0; i < graph.order.size(); ++i) {
    RC_ASSERT(place[graph.order[i]] == kNoIndex);
    place[graph.order[i]] = i;
  }
  for (uint32_t task = 0; task < graph.size(); ++task) {
    for (uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
      RC_ASSERT(place[graph.edges[e].source] < place[task]);
    }
  }
}

RC_GTEST_PROP(LinkedJob, NoMemberTransfersBeforeTheLastArrives, ()) {
  TestJobShape shape;
  const LinkedJob job = any_job(shape);
  std::vector<int64_t> end_ns;
  const std::vector<int64_t> start_ns = run(job.linked.graph, end_ns);
  RC_ASSERT(job.matches.size() > 0u);
  for (size_t m = 0; m < job.matches.size(); ++m) {
    int64_t last = 0, begin = INT64_MAX, end = INT64_MIN, end_low = INT64_MAX;
    for (uint32_t k : job.matches.members_of(m)) {
      last = std::max(last, start_ns[job.linked.arrive_task[k]]);
      begin = std::min(begin, start_ns[job.linked.transfer_task[k]]);
      end = std::max(end, end_ns[job.linked.transfer_task[k]]);
      end_low = std::min(end_low, end_ns[job.linked.transfer_task[k]]);
    }
    RC_ASSERT(begin >= last);
    RC_ASSERT(end == end_low);
  }
}

RC_GTEST_PROP(LinkedJob, TransfersAreWhatTheyWereMadeToBe, ()) {
  TestJobShape shape;
  const LinkedJob job = any_job(shape);
  for (size_t k = 0; k < job.matches.kernels.size(); ++k) {
    RC_ASSERT(job.transfers.source[k] == TransferSource::kMeasured);
    RC_ASSERT(std::abs(job.transfers.transfer_ns[k] - shape.transfer_ns) <= shape.jitter_ns);
    RC_ASSERT(job.transfers.hidden_ns[k] == 0);
  }
}

TEST(LinkedJob, OneMemberAloneIsEstimatedFromEqualRepetitions) {
  TestJobShape shape;
  shape.rounds = 60;
  TestJob whole = make_test_job(shape);
  whole.tables.resize(1);
  const LinkedJob job = link_job(std::move(whole.tables), {});
  ASSERT_EQ(job.matches.kernels.size(), 120u);
  int64_t sum_ns = 0;
  for (size_t k = 0; k < 120; ++k) {
    EXPECT_EQ(job.transfers.source[k], TransferSource::kRepeated);
    sum_ns += job.transfers.transfer_ns[k];
  }
  EXPECT_NEAR(double(sum_ns) / 120, double(shape.transfer_ns), 0.1 * double(shape.transfer_ns));
}

class GraphFile : public ::testing::Test {
 protected:
  std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  const TempFolder folder_;
  const std::string path_ = folder_.path("job.lumos");
};

TEST_F(GraphFile, GivesBackTheJobAndTheSameBytes) {
  const LinkedJob job = link_job(make_test_job({}).tables, {});
  ASSERT_TRUE(write_graph_file(job, path_).has_value());
  ASSERT_TRUE(is_graph_file(path_));
  const std::string first = bytes();
  const auto again = load_job({path_}, {});
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->linked.graph.duration_ns, job.linked.graph.duration_ns);
  EXPECT_EQ(again->linked.graph.order, job.linked.graph.order);
  EXPECT_EQ(again->matches.members, job.matches.members);
  EXPECT_EQ(again->matches.clocks[1].offset_ns, job.matches.clocks[1].offset_ns);
  EXPECT_EQ(again->linked.graph.ranks[1].table->ts_ns, job.linked.graph.ranks[1].table->ts_ns);
  ASSERT_TRUE(write_graph_file(*again, path_).has_value());
  EXPECT_EQ(bytes(), first);
}

TEST_F(GraphFile, AnyDamageIsAClearError) {
  TestJobShape shape;
  shape.rounds = 2;
  ASSERT_TRUE(write_graph_file(link_job(make_test_job(shape).tables, {}), path_).has_value());
  const std::string whole = bytes();
  std::mt19937_64 random(5);
  for (int i = 0; i < 200; ++i) {
    std::string damaged = whole;
    if (i % 2 == 0) {
      damaged.resize(random() % whole.size());
    } else {
      // Padding is no part of any column: a bit that changes there changes nothing.
      damaged[random() % whole.size()] ^= static_cast<char>(1 << random() % 8);
    }
    put(damaged);
    const auto job = read_graph_file(path_);
    if (i % 2 == 0) {
      ASSERT_FALSE(job.has_value());
    }
    if (!job) {
      EXPECT_EQ(job.error().kind, ErrorKind::kUnreadable);
      EXPECT_NE(job.error().message.find(path_), std::string::npos);
    }
  }
}

// A file whose checksums are right may still say what no writer of ours would.
TEST_F(GraphFile, IdsThatPointNowhereAreRefused) {
  using Mutate = void (*)(LinkedJob&, EventTable&);
  const std::pair<const char*, Mutate> mutations[] = {
      {"name", [](LinkedJob&, EventTable& t) { t.name[0] = NameId{1u << 30}; }},
      {"lane", [](LinkedJob&, EventTable& t) { t.lane[0] = 1u << 30; }},
      {"kind", [](LinkedJob&, EventTable& t) { t.kind[0] = static_cast<EventKind>(99); }},
      {"lane's process", [](LinkedJob&, EventTable& t) { t.lanes[0].pid_text = NameId{1u << 30}; }},
      {"lane's label", [](LinkedJob&, EventTable& t) { t.lanes[0].label = NameId{1u << 30}; }},
      {"kernel's collective",
       [](LinkedJob&, EventTable& t) { t.gpu.push_back({}), t.gpu.back().collective = 1u << 30; }},
      {"operator's collective",
       [](LinkedJob&, EventTable& t) { t.ops.push_back({}), t.ops.back().collective = 1u << 30; }},
      {"operator's shapes",
       [](LinkedJob&, EventTable& t) { t.ops.push_back({}), t.ops.back().input_dims = NameId{1u << 30}; }},
      {"collective's group",
       [](LinkedJob&, EventTable& t) {
         t.collectives.push_back({});
         t.collectives.back().group_name = NameId{1u << 30};
       }},
      {"flow's lane",
       [](LinkedJob&, EventTable& t) {
         t.fwdbwd.push_back({1, 0, 1u << 30, true});
       }},
      {"order twice", [](LinkedJob& job, EventTable&) { job.linked.graph.order[1] = job.linked.graph.order[0]; }},
      {"order backwards",
       [](LinkedJob& job, EventTable&) { std::reverse(job.linked.graph.order.begin(), job.linked.graph.order.end()); }},
      {"task's kind", [](LinkedJob& job, EventTable&) { job.linked.graph.kind[0] = static_cast<TaskKind>(99); }},
      {"member's lane", [](LinkedJob& job, EventTable&) { job.matches.kernels[0].lane = 1u << 30; }},
      {"member's kind",
       [](LinkedJob& job, EventTable&) { job.matches.kernels[0].kind = static_cast<CollectiveKind>(99); }},
  };
  for (const auto& [what, mutate] : mutations) {
    LinkedJob job = link_job(make_test_job({}).tables, {});
    ASSERT_FALSE(job.linked.graph.order.empty());
    auto table = std::make_shared<EventTable>(*job.linked.graph.ranks[0].table);
    mutate(job, *table);
    job.linked.graph.ranks[0].table = table;
    ASSERT_TRUE(write_graph_file(job, path_).has_value());
    const auto read = read_graph_file(path_);
    ASSERT_FALSE(read.has_value()) << what;
    EXPECT_EQ(read.error().kind, ErrorKind::kUnreadable) << what;
  }
}

TEST_F(GraphFile, WhatIsKnownOfEachKernelComesBack) {
  LinkedJob job = link_job(make_test_job({}).tables, {});
  for (size_t i = 0; i < job.matches.kernels.size(); ++i) job.matches.kernels[i].in_call_order = i % 2 == 0;
  ASSERT_TRUE(write_graph_file(job, path_).has_value());
  const auto read = read_graph_file(path_);
  ASSERT_TRUE(read.has_value());
  for (size_t i = 0; i < job.matches.kernels.size(); ++i) {
    EXPECT_EQ(read->matches.kernels[i].in_call_order, i % 2 == 0);
  }
}

TEST_F(GraphFile, PartsLinkedAnewAreTheWhole) {
  std::vector<EventTable> tables = make_test_job({}).tables;
  const LinkedJob whole = link_job(tables, {});
  std::vector<std::string> parts;
  for (size_t r = tables.size(); r-- > 0;) {
    parts.push_back(path_ + std::to_string(r));
    ASSERT_TRUE(write_graph_file(link_job({tables[r]}, {}), parts.back()).has_value());
  }
  const auto joined = load_job(parts, {});
  ASSERT_TRUE(joined.has_value()) << joined.error().message;
  EXPECT_EQ(joined->linked.graph.duration_ns, whole.linked.graph.duration_ns);
  EXPECT_EQ(joined->linked.graph.order, whole.linked.graph.order);
  EXPECT_EQ(joined->matches.members, whole.matches.members);
  EXPECT_EQ(joined->matches.clocks[1].offset_ns, whole.matches.clocks[1].offset_ns);
}

TEST_F(GraphFile, OtherVersionsAndOtherInputsBesideItAreRefused) {
  ASSERT_TRUE(write_graph_file(link_job(make_test_job({}).tables, {}), path_).has_value());
  const auto both = load_job({path_, "trace.json"}, {});
  ASSERT_FALSE(both.has_value());
  EXPECT_EQ(both.error().kind, ErrorKind::kUsage);
  const auto twice = load_job({path_, path_}, {});
  ASSERT_FALSE(twice.has_value());
  EXPECT_NE(twice.error().message.find("both hold rank 0"), std::string::npos);
  std::string other = bytes();
  other[8] = 77;
  put(other);
  const auto read = read_graph_file(path_);
  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().message.find("version 77"), std::string::npos);
}

}  // namespace
}  // namespace lumos
