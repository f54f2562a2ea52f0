// The report: one file, well-formed whatever the run was like, small however long it was.

#include "tenon/watch/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/watch/chart.h"
#include "tests/watch/support.h"

namespace tenon::watch {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

std::vector<StepMetrics> run_of(int64_t steps) {
  std::vector<StepMetrics> metrics;
  for (int64_t step = 1; step <= steps; ++step) {
    StepMetrics each{
        .step = step, .loss = 1 + 9 / std::sqrt(static_cast<double>(step)), .lr = 1e-3, .gradient_norm = 1};
    each.loss += 0.1 * static_cast<double>(step * 7919 % 101) / 101;
    each.items_per_second = 40000 + static_cast<double>(step * 104729 % 1000);
    each.items = step * 8192;
    each.seconds = 0.2 * static_cast<double>(step);
    each.resident_bytes = int64_t{1} << 30;
    if (step % 100 == 0) each.validation_loss = each.loss + 0.1;
    metrics.push_back(each);
  }
  return metrics;
}

int64_t count_of(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class Report : public InFolder {
 protected:
  Report() : InFolder("report.html") {}

  /// The page, checked.
  std::string page(const ReportInput& input) const {
    const std::string html = report_html(input);
    const fs::path file = write(html);
    const auto [status, text] = output_of("python3 " TENON_SOURCE_DIR "/tests/watch/check_html.py " + file.string());
    EXPECT_EQ(status, 0) << text;
    for (const char* address : {"http:", "https:", "url(", "@import"}) EXPECT_EQ(html.find(address), html.npos);
    for (const char* number : {">nan<", ">inf<", "NaN", "inf%", "nan%"}) EXPECT_EQ(html.find(number), html.npos);
    return html;
  }
  std::string page(const std::vector<StepMetrics>& metrics) const {
    return page(ReportInput{.title = "run", .metrics = metrics});
  }
};

TEST_F(Report, ShowsFiguresCurvesSamplesAndConfiguration) {
  const std::string html = page({.title = "my run",
                                 .subtitle = "on a test",
                                 .figures = {{"Parameters", "15.2 M"}},
                                 .config = {{"model.layers", "6"}},
                                 .metrics = run_of(1000),
                                 .samples = {{500, "first text"}, {1000, "second text"}}});
  for (const char* part :
       {"<h1>my run</h1>", "on a test", "15.2 M", "model.layers", "first text",
        "<summary>Step 1,000</summary><pre>second text", "Best validation loss", "8.192 M", "3 min 20 s", "1.00 GiB"}) {
    EXPECT_NE(html.find(part), html.npos) << part;
  }
  for (const char* title : {"Loss", "Learning rate", "Gradient norm", "Tokens per second", "Resident memory, GiB"}) {
    EXPECT_EQ(count_of(html, fmt::format("<figcaption><b>{}</b>", title)), 1) << title;
  }
  EXPECT_EQ(count_of(html, "data-name=\"train\""), 2);  // even and logarithmic
  EXPECT_EQ(count_of(html, "data-name=\"train, smoothed\""), 2);
  EXPECT_EQ(count_of(html, "data-name=\"validation\""), 2);
}

TEST_F(Report, ShowsTheMetricsAndPicturesOfATask) {
  std::vector<StepMetrics> metrics = run_of(10);
  for (StepMetrics& each : metrics) each.unit = "images";
  metrics[4].validation_metrics = {{"accuracy", 0.5}};
  metrics[9].validation_metrics = {{"accuracy", 0.75}};
  const std::string html = page({.title = "run", .metrics = metrics, .samples = {{10, "text", "PNG!"}}});
  EXPECT_EQ(count_of(html, "<figcaption><b>Validation accuracy</b>"), 1);
  EXPECT_EQ(count_of(html, "<figcaption><b>Images per second</b>"), 1);
  EXPECT_NE(html.find("0.7500 <small>step 10</small>"), html.npos);
  EXPECT_NE(html.find("<img src=\"data:image/png;base64,UE5HIQ==\" alt=\"\"><pre>text"), html.npos);
}

TEST_F(Report, TextIsNeverMarkup) {
  const std::string evil = "</script></pre><img src=x onerror=alert(1)>\"'&\x01\xff";
  const std::string html = page(
      {.title = evil, .subtitle = evil, .figures = {{evil, evil}}, .config = {{evil, evil}}, .samples = {{1, evil}}});
  EXPECT_EQ(html.find("<img"), html.npos);
}

TEST_F(Report, RunWithoutStepsSaysSo) {
  EXPECT_NE(page(std::vector<StepMetrics>{}).find("No step has been made yet."), std::string::npos);
}

TEST_F(Report, OneStepIsADot) {
  const std::string html = page(run_of(1));
  EXPECT_NE(html.find("<path class=\"dots train\" d=\"M500000 "), html.npos);
}

TEST_F(Report, LossesThatAreNotFiniteAreMarkedAndBreakTheCurve) {
  std::vector<StepMetrics> metrics = run_of(20);
  metrics[9].loss = kNan;
  metrics[14].loss = kInfinity;
  const std::string html = page(metrics);
  EXPECT_NE(html.find("2 not finite"), html.npos);
  const size_t curve = html.find("data-name=\"train\" d=\"");
  EXPECT_EQ(count_of(html.substr(curve, html.find("/>", curve) - curve), "M"), 3);
}

TEST_F(Report, RunsOfNothingButFailuresAreDrawn) {
  std::vector<StepMetrics> metrics = run_of(50);
  for (StepMetrics& each : metrics) {
    each.loss = kNan;
    each.lr = each.gradient_norm = each.items_per_second = -kInfinity;
    each.seconds = kNan;
    each.validation_loss = kNan;
    each.loss_scale = kInfinity;
  }
  EXPECT_NE(page(metrics).find("50 not finite"), std::string::npos);
}

TEST_F(Report, EnormousNumbersAreDrawn) {
  std::vector<StepMetrics> metrics = run_of(5);
  metrics[1].loss = 1e308;
  metrics[2].loss = -1e308;
  metrics[3].gradient_norm = 1e-320;
  metrics[4].step = std::numeric_limits<int64_t>::max();
  page(metrics);
}

TEST_F(Report, SpikesDoNotFlattenTheCurve) {
  std::vector<StepMetrics> metrics = run_of(1000);
  metrics[600].loss = 1e6;
  const std::string html = page(metrics);
  EXPECT_NE(html.find("1 beyond the axis"), html.npos);
  EXPECT_NE(html.find("<span class=\"y\" style=\"top:"), html.npos);
  const size_t high = html.find("data-y1=\"");
  EXPECT_LT(std::stod(html.substr(high + 9)), 12);
}

TEST_F(Report, ResumesAreLines) {
  std::vector<StepMetrics> metrics = run_of(100);
  metrics[50].resumed = true;
  EXPECT_EQ(count_of(page(metrics), "<path class=\"resumed\""), 2 * 5);
}

TEST_F(Report, StaysSmall) {
  std::vector<Sample> samples(1000, {1, std::string(100'000, 'x')});
  const std::string html = page({.title = "long", .metrics = run_of(100'000), .samples = samples});
  EXPECT_LT(html.size(), 600'000U);
  EXPECT_NE(html.find("40 of 1000 samples are shown."), html.npos);
}

TEST_F(Report, ThinningKeepsTheExtremes) {
  std::vector<double> values(100'000, 1.0);
  std::vector<int64_t> steps(values.size());
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<int64_t>(i);
  values[77'777] = 1.9;
  const std::string html = chart_html({"Loss", "", {{"train", "train", steps, values, {}}}, 0, 99'999});
  // Margins of 6% below 1 and above 1.9; the only departure is the spike.
  EXPECT_NE(html.find("\" d=\"M0 946429l0 0"), html.npos);
  const size_t curve = html.find("data-name=\"train\"");
  EXPECT_EQ(count_of(html.substr(curve, html.find("/>", curve) - curve), " -892858 "), 1);
}

TEST(Chart, TicksAreRound) {
  EXPECT_EQ(axis_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(axis_ticks(1.9, 4.1, 5), (std::vector<double>{2, 2.5, 3, 3.5, 4}));
  EXPECT_EQ(axis_ticks(1, 3000, 6), (std::vector<double>{500, 1000, 1500, 2000, 2500, 3000}));
  EXPECT_EQ(axis_ticks(3, 3, 5), std::vector<double>{3});
}

TEST(Chart, TickTextsAreShort) {
  EXPECT_EQ(tick_text(2.5, 0.5), "2.5");
  EXPECT_EQ(tick_text(2, 0.5), "2.0");
  EXPECT_EQ(tick_text(0, 0.5), "0");
  EXPECT_EQ(tick_text(40000, 10000), "40k");
  EXPECT_EQ(tick_text(5000, 1000), "5k");
  EXPECT_EQ(tick_text(1.5e6, 5e5), "1.5M");
  EXPECT_EQ(tick_text(0.0006, 0.0002), "0.0006");
  EXPECT_EQ(tick_text(-3, 1), "-3");
}

TEST(Chart, SmoothingFollowsTheCourseAndNotTheSpikes) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(i);
  values[500] = 1e9;
  values[700] = kNan;
  const std::vector<double> course = smoothed(values);
  EXPECT_EQ(course[0], 0);
  EXPECT_NEAR(course[400], 400, 1);
  EXPECT_NEAR(course[500], 500, 2);
  EXPECT_TRUE(std::isnan(course[700]));
  EXPECT_NEAR(course[701], 701, 2);
}

TEST(Chart, ConfigurationIsALineForEachValue) {
  EXPECT_EQ(
      config_table("{\"model\":{\"layers\":6,\"bias\":true},\"betas\":[0.9,0.95],\"name\":\"x\",\"rest\":{}}",
                   "config.json"),
      (Table{{"model.layers", "6"}, {"model.bias", "true"}, {"betas", "[0.9,0.95]"}, {"name", "x"}, {"rest", "{}"}}));
  EXPECT_EQ(text_of([] { config_table("{", "config.json"); }),
            "[report] config.json: is not valid JSON (at byte 2 of it)");
}

TEST_F(Report, IsDrawnFromAFolder) {
  fs::create_directory(path("samples"));
  write("metrics.jsonl", metrics_line({.step = 1, .loss = 4.5}) + "{\"step\":2,");
  write("config.json", "{\"seed\":1337}");
  write("samples/step_00000001.txt", "Once upon");
  write("samples/readme.md", "not a sample");
  report_from_folder(folder_, {{"Device", "cpu"}});
  const std::string html = content_of(path());
  for (const char* part : {"4.5000", "1337", "Once upon", "Device"}) EXPECT_NE(html.find(part), html.npos) << part;
  EXPECT_EQ(html.find("not a sample"), html.npos);
  EXPECT_NE(html.find("<h1>" + folder_.filename().string() + "</h1>"), html.npos);
}

}  // namespace
}  // namespace tenon::watch
