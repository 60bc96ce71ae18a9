#include "lumos/report/page/page.h"

#include <gtest/gtest.h>

#include <vector>

#include "lumos/report/figures/kernel_use.h"
#include "lumos/report/page/html.h"
#include "lumos/sim/simulate.h"
#include "lumos/sim/test_graph.h"

namespace lumos {
namespace {

/// Whether every element that is opened is closed, in order.
bool is_balanced(const std::string& html) {
  std::vector<std::string> open;
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    if (html.compare(at, 2, "<!") == 0) continue;
    const size_t end = html.find('>', at);
    const bool closing = html[at + 1] == '/';
    const size_t name_at = at + (closing ? 2 : 1);
    const std::string name = html.substr(name_at, html.find_first_of(" >/", name_at) - name_at);
    if (closing) {
      if (open.empty() || open.back() != name) return false;
      open.pop_back();
    } else if (html[end - 1] != '/' && name != "meta" && name != "link" && name != "br") {
      open.push_back(name);
      if (name == "script" || name == "style") at = html.find("</" + name, end) - 1;  // Not HTML inside.
    }
  }
  return open.empty();
}

struct Made {
  Made() { job.linked.graph = small_step(); }
  LinkedJob job;
  Timeline timeline = simulate(small_step());
  ReplayResult result = replay_result(small_step(), timeline, {});
};

TEST(Page, IsOneWellFormedDocumentWithoutOutsideHelp) {
  const Made made;
  std::string page = report_page({made.job, made.timeline, made.result, 0, 0, std::nullopt, 1, std::nullopt});
  // ECharts names the namespaces of SVG, which no browser fetches; that it fetches nothing else the browser test shows.
  const size_t charts = page.rfind("<script>");
  if (charts != page.find("<script>")) page.erase(charts, page.find("</script>", charts) - charts + 9);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(is_balanced(page));
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
}

TEST(Page, ShowsTheNumbersOfTheReplay) {
  const Made made;
  const std::string page = report_page({made.job, made.timeline, made.result, 0, 0, std::nullopt, 1, std::nullopt});
  EXPECT_NE(page.find("measured step</dt><dd><b>" + html_ms(made.result.measured_ms)), std::string::npos);
  EXPECT_NE(page.find("<th scope=\"row\">replayed</th><td>" + html_ms(made.result.replayed.exposed_compute)),
            std::string::npos);
}

TEST(Page, PutsAComparisonBesideTheRun) {
  const Made made;
  PageComparison comparison{"<predicted>", "prediction.json", 12.5, {10, 1, 1, 0.5}, std::nullopt, {}, std::nullopt};
  const std::string page = report_page({made.job, made.timeline, made.result, 0, 0, comparison, 1, std::nullopt});
  EXPECT_NE(page.find("<th scope=\"row\">&lt;predicted&gt;</th><td><data value=\"10\">"), std::string::npos);
  EXPECT_TRUE(is_balanced(page));
  EXPECT_EQ(page.find("What makes the difference"), std::string::npos);
}

TEST(Page, ShowsWhatAPredictionSaysOfTheWork) {
  const Made made;
  PageComparison comparison{"predicted", "p.json", 12.5, {10, 1, 1, 0.5}, std::nullopt, {}, std::nullopt};
  comparison.work = WorkUse{{{"GEMM", 0.25, 0}}, {}, {}};
  const std::string page = report_page({made.job, made.timeline, made.result, 0, 0, comparison, 1, std::nullopt});
  EXPECT_TRUE(is_balanced(page));
  EXPECT_NE(page.find("<th scope=\"row\">GEMM</th><td>" + html_ms(0.0005) + "</td><td>" + html_ms(0.25)),
            std::string::npos);
}

TEST(Html, EscapesTextAndKeepsExactValues) {
  EXPECT_EQ(html_escape("a<b> & \"c\"\x01"), "a&lt;b&gt; &amp; &quot;c&quot; ");
  EXPECT_EQ(html_name("aten::add<>"), "aten::add&lt;&gt;");
  EXPECT_NE(html_name(std::string(100, 'x')).find("title=\"" + std::string(100, 'x') + "\""), std::string::npos);
  EXPECT_EQ(html_ms(6.126724), "<data value=\"6.126724\">6.127</data>");
}

TEST(KernelUse, CountsWhatStartsInTheWindows) {
  TestGraph g(1, 1);
  g.row(EventKind::kKernel, "void sgemm<float>(int)", 1, 0, 30);
  g.row(EventKind::kKernel, "void sgemm<half>(int)", 1, 50, 40);
  g.row(EventKind::kKernel, "late", 1, 200, 40);
  g.finish({});
  const std::vector<KernelUse> uses = kernel_uses(g.table(), {{0, 100}});
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].name, "sgemm");
  EXPECT_EQ(uses[0].family, "GEMM");
  EXPECT_EQ(uses[0].count, 2u);
  EXPECT_EQ(uses[0].total_ns, 70);
}

}  // namespace
}  // namespace lumos
