#include "lumos/graph/rank/graph_draft.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace lumos {
namespace {

GraphDraft draft_of(uint32_t tasks) {
  GraphDraft draft;
  for (uint32_t i = 0; i < tasks; ++i) {
    DraftTask task;
    task.event = i;
    task.duration_ns = 10 * i;
    draft.add(task);
  }
  return draft;
}

bool has_edge(const FinishedGraph& f, uint32_t target, uint32_t source) {
  const uint32_t t = f.new_id[target];
  for (uint32_t e = f.graph.edge_begin[t]; e < f.graph.edge_begin[t + 1]; ++e) {
    if (f.graph.edges[e].source == f.new_id[source]) return true;
  }
  return false;
}

TEST(GraphDraft, TasksAreNumberedSoThatEdgesGoUp) {
  GraphDraft draft = draft_of(4);
  draft.depend(0, 3, EdgeKind::kThread);
  draft.depend(3, 1, EdgeKind::kLaunch, 5, true);
  draft.depend(1, 2, EdgeKind::kStream);
  const FinishedGraph f = finish_graph(draft);
  EXPECT_EQ(f.dropped_edges, 0u);
  EXPECT_EQ(f.graph.event, (std::vector<uint32_t>{2, 1, 3, 0}));
  EXPECT_EQ(f.graph.duration_ns, (std::vector<int64_t>{20, 10, 30, 0}));
  const Edge& launch = f.graph.edges[f.graph.edge_begin[f.new_id[3]]];
  EXPECT_EQ(launch.source, f.new_id[1]);
  EXPECT_EQ(launch.lag_ns, 5);
  EXPECT_TRUE(launch.from_start);
}

TEST(GraphDraft, EdgesOfOneTaskKeepTheirOrder) {
  GraphDraft draft = draft_of(4);
  draft.depend(3, 2, EdgeKind::kThread);
  draft.depend(3, 0, EdgeKind::kLaunch);
  draft.depend(3, 1, EdgeKind::kStream);
  const FinishedGraph f = finish_graph(draft);
  const uint32_t begin = f.graph.edge_begin[f.new_id[3]];
  EXPECT_EQ(f.graph.edges[begin].kind, EdgeKind::kThread);
  EXPECT_EQ(f.graph.edges[begin + 1].kind, EdgeKind::kLaunch);
  EXPECT_EQ(f.graph.edges[begin + 2].kind, EdgeKind::kStream);
}

TEST(GraphDraft, OfACycleOnlyTheLeastBelievedEdgeGoes) {
  GraphDraft draft = draft_of(4);
  draft.depend(1, 0, EdgeKind::kThread);
  draft.depend(2, 1, EdgeKind::kInterStream, 0, false, false, 60);
  draft.depend(3, 2, EdgeKind::kStream);
  draft.depend(0, 3, EdgeKind::kInterStream, 0, false, false, 90);
  const FinishedGraph f = finish_graph(draft);
  EXPECT_EQ(f.dropped_edges, 1u);
  EXPECT_TRUE(has_edge(f, 1, 0));
  EXPECT_FALSE(has_edge(f, 2, 1));
  EXPECT_TRUE(has_edge(f, 3, 2));
  EXPECT_TRUE(has_edge(f, 0, 3));
}

TEST(GraphDraft, ATaskThatWaitsForItselfDoesNot) {
  GraphDraft draft = draft_of(2);
  draft.depend(1, 1, EdgeKind::kInterThread);
  draft.depend(1, 0, EdgeKind::kThread);
  const FinishedGraph f = finish_graph(draft);
  EXPECT_EQ(f.dropped_edges, 1u);
  EXPECT_TRUE(has_edge(f, 1, 0));
}

TEST(GraphDraft, SeparateCyclesAreBrokenOneByOne) {
  GraphDraft draft = draft_of(6);
  for (uint32_t i = 0; i < 6; i += 2) {
    draft.depend(i, i + 1, EdgeKind::kThread);
    draft.depend(i + 1, i, EdgeKind::kSync, 0, false, false);
  }
  const FinishedGraph f = finish_graph(draft);
  EXPECT_EQ(f.dropped_edges, 3u);
  for (uint32_t i = 0; i < 6; i += 2) EXPECT_TRUE(has_edge(f, i, i + 1));
}

// Time grows with the tasks, not with tasks times cycles.
TEST(GraphDraft, ManyCyclesAreBrokenTogether) {
  constexpr uint32_t kCycles = 100'000;
  GraphDraft draft;
  for (uint32_t i = 0; i < 2 * kCycles; ++i) draft.add({});
  for (uint32_t i = 0; i < 2 * kCycles; i += 2) {
    draft.depend(i, i + 1, EdgeKind::kInterThread);
    draft.depend(i + 1, i, EdgeKind::kThread);
  }
  const FinishedGraph f = finish_graph(draft);
  EXPECT_EQ(f.dropped_edges, kCycles);
  for (const Edge& edge : f.graph.edges) EXPECT_EQ(edge.kind, EdgeKind::kThread);
}

TEST(GraphDraft, LagsBeyondThirtyTwoBitsAreCut) {
  GraphDraft draft = draft_of(2);
  draft.depend(1, 0, EdgeKind::kThread, INT64_C(9'000'000'000));
  draft.depend(1, 0, EdgeKind::kThread, -INT64_C(9'000'000'000));
  EXPECT_EQ(draft.edges[0].edge.lag_ns, INT32_MAX);
  EXPECT_EQ(draft.edges[1].edge.lag_ns, -INT32_MAX);
}

TEST(GraphDraft, NothingGivesNothing) {
  const FinishedGraph f = finish_graph({});
  EXPECT_EQ(f.graph.size(), 0u);
  EXPECT_EQ(f.graph.edge_begin, std::vector<uint32_t>{0});
}

GraphDraft random_draft() {
  const auto tasks = *rc::gen::inRange<uint32_t>(1, 30);
  GraphDraft draft = draft_of(tasks);
  const int edges = *rc::gen::inRange(0, 80);
  for (int i = 0; i < edges; ++i) {
    draft.depend(*rc::gen::inRange<uint32_t>(0, tasks), *rc::gen::inRange<uint32_t>(0, tasks),
                 static_cast<EdgeKind>(*rc::gen::inRange(0, static_cast<int>(EdgeKind::kCount))),
                 *rc::gen::inRange(-50, 50), *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>(),
                 *rc::gen::inRange<uint8_t>(0, 101));
  }
  return draft;
}

// With any edges at all: none goes from a higher to a lower id, none is lost but those counted, and twice is the same.
TEST(GraphDraft, NeverACycleAndNothingElseIsLost) {
  EXPECT_TRUE(rc::check([] {
    const GraphDraft draft = random_draft();
    const FinishedGraph f = finish_graph(draft);
    RC_ASSERT(f.graph.size() == draft.tasks.size());
    for (uint32_t t = 0; t < f.graph.size(); ++t) {
      for (uint32_t e = f.graph.edge_begin[t]; e < f.graph.edge_begin[t + 1]; ++e) {
        RC_ASSERT(f.graph.edges[e].source < t);
      }
    }
    RC_ASSERT(f.graph.edges.size() + f.dropped_edges == draft.edges.size());
    for (uint32_t i = 0; i < draft.tasks.size(); ++i) RC_ASSERT(f.graph.event[f.new_id[i]] == i);
    const FinishedGraph again = finish_graph(draft);
    RC_ASSERT(again.new_id == f.new_id);
    RC_ASSERT(again.graph.edge_begin == f.graph.edge_begin);
  }));
}

TEST(GraphDraft, WithoutACycleNothingIsDropped) {
  EXPECT_TRUE(rc::check([] {
    GraphDraft draft = random_draft();
    std::vector<DraftEdge> up;
    for (const DraftEdge& e : draft.edges) {
      if (e.edge.source < e.target) up.push_back(e);
    }
    draft.edges = up;
    RC_ASSERT(finish_graph(draft).dropped_edges == 0u);
  }));
}

}  // namespace
}  // namespace lumos
