#include "lumos/trace/sets/anonymise.h"

#include <gtest/gtest.h>

#include <memory>

#include "lumos/trace/write/test_demo_table.h"

namespace lumos {
namespace {

EventTable table_with(const std::vector<std::string>& texts, const std::string& file) {
  EventTable table;
  auto names = std::make_shared<NamePool>();
  for (const std::string& text : texts) {
    table.name.push_back(names->intern(text));
    table.ts_ns.push_back(0);
    table.dur_ns.push_back(1);
    table.lane.push_back(0);
    table.kind.push_back(EventKind::kAnnotation);
    table.correlation.push_back(-1);
    table.external_id.push_back(0);
    table.detail.push_back(kNoIndex);
  }
  table.lanes.resize(1);
  table.info.file = file;
  table.names = std::move(names);
  return table;
}

TEST(Anonymiser, ReplacesPathsPartByPartAndKeepsExtensions) {
  Anonymiser anonymiser;
  EXPECT_EQ(anonymiser.replace("/srv/secret/train.py(12): main"), "/folder1/folder2/file1.py(12): main");
  EXPECT_EQ(anonymiser.replace("/srv/secret/data.py"), "/folder1/folder2/file2.py");
  EXPECT_EQ(anonymiser.replace("secret/train.py"), "folder2/file1.py");
  EXPECT_EQ(anonymiser.replace("train.py"), "file1.py");
}

TEST(Anonymiser, LeavesWhatIsNoNameAlone) {
  Anonymiser anonymiser;
  for (const char* text : {"aten::add_", "void at::native::kernel<float>(int)", "forward/backward", "12.5 GB/s",
                           "step 3/100", "ProfilerStep#4", "torch.nn.Module", "nccl:all_reduce",
                           "Optimizer.step#SGD.step", R"(["a\nb", [2, 3]])", "", "/"}) {
    EXPECT_EQ(anonymiser.replace(text), text);
  }
}

TEST(Anonymiser, FindsUsersAndHostsWhereTheyStandAlone) {
  const EventTable table = table_with({"load /home/alice/x.bin", "alice's batch", "sent to node7.cluster.com.", "node7",
                                       "10.0.0.12:29500", "bob@node7.cluster.com", "malice", "D:\\Users\\dora\\x"},
                                      "traces/gpu-box_4242.1700000000000.pt.trace.json");
  Anonymiser anonymiser;
  anonymiser.learn(table);
  const EventTable out = anonymiser.replace(table);
  EXPECT_EQ(out.name_of(0), "load /folder1/user1/file1.bin");
  EXPECT_EQ(out.name_of(1), "user1's batch");
  EXPECT_EQ(out.name_of(2), "sent to host1.");
  EXPECT_EQ(out.name_of(3), "host1");
  EXPECT_EQ(out.name_of(4), "address1:29500");
  EXPECT_EQ(out.name_of(5), "user2@host1");
  EXPECT_EQ(out.name_of(6), "malice");
  EXPECT_EQ(out.name_of(7), "D:\\Users\\user3\\x");
  EXPECT_EQ(anonymiser.replace("gpu-box"), "host2");
  EXPECT_EQ(out.info.file.find("gpu-box"), std::string::npos) << out.info.file;
}

TEST(Anonymiser, ReplacesTheSameNameAlikeInEveryTable) {
  const EventTable a = table_with({"/home/carol/a.py"}, "a.json");
  const EventTable b = table_with({"/data/b.py", "carol"}, "b.json");
  Anonymiser anonymiser;
  anonymiser.learn(a);
  anonymiser.learn(b);
  EXPECT_EQ(anonymiser.replace(a).name_of(0), "/folder1/user1/file1.py");
  EXPECT_EQ(anonymiser.replace(b).name_of(1), "user1");
}

TEST(Anonymiser, ChangesNothingOfADemoTrace) {
  const auto shared = demo_table();
  const EventTable& table = *shared;
  Anonymiser anonymiser;
  anonymiser.learn(table);
  const EventTable out = anonymiser.replace(table);
  ASSERT_EQ(out.size(), table.size());
  for (size_t row = 0; row < table.size(); ++row) EXPECT_EQ(out.name_of(row), table.name_of(row));
  EXPECT_EQ(out.ts_ns, table.ts_ns);
}

}  // namespace
}  // namespace lumos
