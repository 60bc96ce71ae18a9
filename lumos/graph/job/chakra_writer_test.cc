#include "lumos/graph/job/chakra_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>

#include "lumos/base/test_folder.h"
#include "lumos/graph/test_job.h"

namespace lumos {
namespace {

struct Node {
  uint64_t id = 0;
  std::string name;
  int32_t type = 0;
  std::vector<uint64_t> sources;
  uint64_t duration_us = 0;
  std::map<std::string, int64_t> numbers;
  std::map<std::string, std::string> texts;
};

void read_attribute(protozero::pbf_reader attribute, Node& node) {
  std::string name;
  while (attribute.next()) {
    switch (attribute.tag()) {
      case 1:
        name = attribute.get_string();
        break;
      case 7:
        node.numbers[name] = attribute.get_int64();
        break;
      case 27:
        node.numbers[name] = attribute.get_bool() ? 1 : 0;
        break;
      case 29:
        node.texts[name] = attribute.get_string();
        break;
      default:
        ADD_FAILURE() << "no such attribute field: " << attribute.tag();
        attribute.skip();
    }
  }
}

Node read_node(const std::string& message) {
  Node node;
  for (protozero::pbf_reader reader(message); reader.next();) {
    switch (reader.tag()) {
      case 1:
        node.id = reader.get_uint64();
        break;
      case 2:
        node.name = reader.get_string();
        break;
      case 3:
        node.type = reader.get_enum();
        break;
      case 5:
        for (uint64_t source : reader.get_packed_uint64()) node.sources.push_back(source);
        break;
      case 7:
        node.duration_us = reader.get_uint64();
        break;
      case 10:
        read_attribute(reader.get_message(), node);
        break;
      default:
        reader.skip();
    }
  }
  return node;
}

/// The messages of a file after the metadata, whose version is checked.
std::vector<Node> read_trace_nodes(const std::string& bytes) {
  std::vector<Node> nodes;
  const char* at = bytes.data();
  const char* end = at + bytes.size();
  bool first = true;
  while (at < end) {
    const uint64_t size = protozero::decode_varint(&at, end);
    const std::string message(at, size);
    at += size;
    if (!first) nodes.push_back(read_node(message));
    first = false;
  }
  return nodes;
}

TEST(ChakraWriter, EveryNodeComesAfterWhatItWaitsFor) {
  const LinkedJob job = link_job(make_test_job({}).tables, {});
  for (uint32_t r = 0; r < job.linked.graph.ranks.size(); ++r) {
    std::map<uint64_t, bool> seen;
    for (const Node& node : read_trace_nodes(chakra_trace(job, r))) {
      for (uint64_t source : node.sources) EXPECT_TRUE(seen[source]) << node.name << " waits for " << source;
      EXPECT_FALSE(seen[node.id]) << node.id;
      seen[node.id] = true;
    }
    EXPECT_FALSE(seen.empty());
  }
}

TEST(ChakraWriter, ACollectiveIsOneNodeWithItsBytesAndGroup) {
  const TestJobShape shape;
  const LinkedJob job = link_job(make_test_job(shape).tables, {});
  size_t collectives = 0;
  size_t kernels = 0;
  for (const Node& node : read_trace_nodes(chakra_trace(job, 0))) {
    kernels += node.name == "gemm";
    if (node.type != 7) continue;
    ++collectives;
    EXPECT_EQ(node.numbers.at("comm_type"), 0);  // all-reduce
    EXPECT_GT(node.numbers.at("comm_size"), 0);
    EXPECT_EQ(node.numbers.at("is_cpu_op"), 0);
    EXPECT_LT(std::stoul(node.texts.at("pg_name")), job.matches.groups.size());
  }
  EXPECT_EQ(kernels, static_cast<size_t>(shape.rounds));
  EXPECT_EQ(collectives, 2 * static_cast<size_t>(shape.rounds));
}

TEST(ChakraWriter, RoundingLosesNoTime) {
  const LinkedJob job = link_job(make_test_job({}).tables, {});
  const ExecGraph& graph = job.linked.graph;
  int64_t gemm_ns = 0;
  for (uint32_t task = graph.ranks[0].first_task; task < graph.ranks[0].end_task; ++task) {
    const uint32_t row = graph.event[task];
    if (row != kNoIndex && graph.ranks[0].table->name_of(row) == "gemm") gemm_ns += graph.duration_ns[task];
  }
  int64_t written_us = 0;
  int64_t nodes = 0;
  for (const Node& node : read_trace_nodes(chakra_trace(job, 0))) {
    if (node.name == "gemm") {
      written_us += static_cast<int64_t>(node.duration_us);
      ++nodes;
    }
  }
  EXPECT_GE(written_us, gemm_ns / 1000 - nodes);  // Gaps of the stream are in there too.
}

TEST(ChakraWriter, WritesAFilePerRankAndTheGroups) {
  const TempFolder folder;
  const LinkedJob job = link_job(make_test_job({}).tables, {});
  const auto files = write_chakra_traces(job, folder.path(""));
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->size(), job.linked.graph.ranks.size() + 1);
  EXPECT_TRUE(std::filesystem::exists(folder.path("trace.3.et")));
  EXPECT_GT(std::filesystem::file_size(folder.path("comm_groups.json")), 10u);
  EXPECT_FALSE(write_chakra_traces(job, "/dev/null/folder"));
}

}  // namespace
}  // namespace lumos
