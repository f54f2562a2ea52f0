// metrics.jsonl: what is written comes back, a resume cuts it, a kill leaves at most a torn last line.

#include "tenon/watch/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/watch/support.h"

namespace tenon::watch {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

StepMetrics at_step(int64_t step) {
  StepMetrics metrics;
  metrics.step = step;
  metrics.loss = 1.0 / static_cast<double>(step);
  return metrics;
}

std::vector<int64_t> steps_of(const std::vector<StepMetrics>& metrics) {
  std::vector<int64_t> steps;
  for (const StepMetrics& each : metrics) steps.push_back(each.step);
  return steps;
}

class Metrics : public InFolder {
 protected:
  Metrics() : InFolder("metrics.jsonl") {}

  void write_steps(int64_t first, int64_t last, std::optional<int64_t> resumed_after = {}) const {
    MetricsLog log = MetricsLog::open(path(), resumed_after);
    for (int64_t step = first; step <= last; ++step) log.write(at_step(step));
  }
  void append(const std::string& text) const { write(content_of(path()) + text); }
  std::string refusal(const std::string& content) const {
    const fs::path file = write(content);
    return io::refusal_by("metrics", file, [&] { read_metrics(file); });
  }
};

TEST_F(Metrics, EveryNumberComesBack) {
  const StepMetrics written{.step = 7,
                            .loss = 0.1 + 0.2,
                            .lr = 6e-4,
                            .gradient_norm = 1e-300,
                            .items_per_second = 41234.5,
                            .items = 9'007'199'254'740'993,  // not a double
                            .seconds = 12.25,
                            .resident_bytes = 1 << 30,
                            .validation_loss = 3.5,
                            .loss_scale = 65536};
  {
    MetricsLog log = MetricsLog::open(path());
    log.write(written);
    log.flush();
  }
  const std::vector<StepMetrics> metrics = read_metrics(path());
  ASSERT_EQ(metrics.size(), 1U);
  const StepMetrics& read = metrics[0];
  EXPECT_EQ(read.step, written.step);
  EXPECT_EQ(read.loss, written.loss);
  EXPECT_EQ(read.lr, written.lr);
  EXPECT_EQ(read.gradient_norm, written.gradient_norm);
  EXPECT_EQ(read.items_per_second, written.items_per_second);
  EXPECT_EQ(read.items, written.items);
  EXPECT_EQ(read.seconds, written.seconds);
  EXPECT_EQ(read.resident_bytes, written.resident_bytes);
  EXPECT_EQ(read.validation_loss, written.validation_loss);
  EXPECT_EQ(read.loss_scale, written.loss_scale);
  EXPECT_FALSE(read.resumed);
}

TEST_F(Metrics, LineIsWhatOthersRead) {
  EXPECT_EQ(
      metrics_line({.step = 2, .loss = 3.25, .lr = 0.001, .gradient_norm = 1, .items_per_second = 50.5, .items = 64}),
      "{\"step\":2,\"loss\":3.25,\"lr\":0.001,\"gradient_norm\":1,\"tokens_per_second\":50.5,\"tokens\":64,"
      "\"seconds\":0,\"resident_bytes\":0}\n");
}

TEST_F(Metrics, OtherTasksCountOtherThings) {
  StepMetrics written{.step = 2, .loss = 0.25, .items_per_second = 50.5, .items = 64};
  written.validation_loss = 0.5;
  written.validation_metrics = {{"accuracy", 0.75}, {"top_five", 0.875}};
  written.unit = "images";
  const std::string line = metrics_line(written);
  EXPECT_EQ(line,
            "{\"step\":2,\"unit\":\"images\",\"loss\":0.25,\"lr\":0,\"gradient_norm\":0,\"images_per_second\":50.5,"
            "\"images\":64,\"seconds\":0,\"resident_bytes\":0,\"validation_loss\":0.5,\"validation_accuracy\":0.75,"
            "\"validation_top_five\":0.875}\n");
  write(line);
  const StepMetrics read = read_metrics(path()).at(0);
  EXPECT_EQ(read.unit, "images");
  EXPECT_EQ(read.items, 64);
  EXPECT_EQ(read.items_per_second, 50.5);
  EXPECT_EQ(read.validation_loss, 0.5);
  EXPECT_EQ(read.validation_metrics, written.validation_metrics);
}

TEST_F(Metrics, NumbersThatAreNotFiniteAreValidJsonAndComeBack) {
  {
    MetricsLog log = MetricsLog::open(path());
    log.write({.step = 1, .loss = kNan, .gradient_norm = kInfinity, .validation_loss = -kInfinity});
  }
  EXPECT_TRUE(nlohmann::json::accept(content_of(path())));
  const StepMetrics read = read_metrics(path()).at(0);
  EXPECT_TRUE(std::isnan(read.loss));
  EXPECT_EQ(read.gradient_norm, kInfinity);
  EXPECT_EQ(read.validation_loss, -kInfinity);
}

TEST_F(Metrics, NullOfOtherWritersIsNan) {
  write("{\"step\":1,\"loss\":null}\n");
  EXPECT_TRUE(std::isnan(read_metrics(path()).at(0).loss));
}

TEST_F(Metrics, KeysOfOthersArePassedOver) {
  write("{\"note\":{\"step\":9,\"loss\":\"x\"},\"step\":1,\"list\":[1,{\"loss\":2}],\"loss\":0.5,\"flag\":true}\n\n");
  const std::vector<StepMetrics> metrics = read_metrics(path());
  ASSERT_EQ(metrics.size(), 1U);
  EXPECT_EQ(metrics[0].step, 1);
  EXPECT_EQ(metrics[0].loss, 0.5);
}

TEST_F(Metrics, NewRunBeginsWithAnEmptyFile) {
  write_steps(1, 3);
  write_steps(1, 2);
  EXPECT_EQ(steps_of(read_metrics(path())), (std::vector<int64_t>{1, 2}));
}

TEST_F(Metrics, ResumeCutsWhatCameAfterTheCheckpoint) {
  write_steps(1, 5);
  write_steps(4, 5, 3);
  const std::vector<StepMetrics> metrics = read_metrics(path());
  EXPECT_EQ(steps_of(metrics), (std::vector<int64_t>{1, 2, 3, 4, 5}));
  EXPECT_TRUE(metrics[3].resumed);
  EXPECT_FALSE(metrics[4].resumed);
  EXPECT_EQ(files(), std::vector<std::string>{"metrics.jsonl"});
}

TEST_F(Metrics, ResumeCutsATornLine) {
  write_steps(1, 2);
  append("{\"step\":3,\"lo");
  write_steps(3, 3, 2);
  EXPECT_EQ(steps_of(read_metrics(path())), (std::vector<int64_t>{1, 2, 3}));
}

TEST_F(Metrics, ResumeGivesALastLineItsMissingBreak) {
  write("{\"step\":1,\"loss\":2}");
  write_steps(2, 2, 1);
  EXPECT_EQ(steps_of(read_metrics(path())), (std::vector<int64_t>{1, 2}));
}

TEST_F(Metrics, ResumeWithoutAFileBeginsOne) {
  write_steps(4, 4, 3);
  EXPECT_EQ(steps_of(read_metrics(path())), std::vector<int64_t>{4});
}

TEST_F(Metrics, EveryCutOfALastLineIsTolerated) {
  const std::string first = metrics_line(at_step(1)), second = metrics_line(at_step(2));
  for (size_t kept = 0; kept + 2 < second.size(); ++kept) {
    write(first + second.substr(0, kept));
    EXPECT_EQ(steps_of(read_metrics(path())), std::vector<int64_t>{1}) << kept;
  }
}

TEST_F(Metrics, OtherDamageIsNamedByItsLine) {
  const std::string good = metrics_line(at_step(1)),
                    advice = "; the file is damaged, repair that line or move the file away";
  EXPECT_EQ(refusal(good + "{\"step\":2,\n" + good), "line 2 is not a JSON object" + advice);
  EXPECT_EQ(refusal(good + "[1]\n"), "line 2 is not a JSON object" + advice);
  EXPECT_EQ(refusal("7\n"), "line 1 is not a JSON object" + advice);
  EXPECT_EQ(refusal(good + good + "{\"loss\":1}\n"), "line 3 has no step" + advice);
  EXPECT_EQ(refusal("{\"step\":1}\n"), "line 1 has no loss" + advice);
  EXPECT_EQ(refusal("{\"step\":1.5,\"loss\":1}\n"), "line 1 has no count for step" + advice);
  EXPECT_EQ(refusal("{\"step\":-1,\"loss\":1}\n"), "line 1 has no count for step" + advice);
  EXPECT_EQ(refusal("{\"step\":18446744073709551615,\"loss\":1}\n"), "line 1 has no count for step" + advice);
  EXPECT_EQ(refusal("{\"step\":1,\"loss\":\"high\"}\n"), "line 1 has no number for loss" + advice);
  EXPECT_EQ(refusal("{\"step\":1,\"loss\":{}}\n"), "line 1 has no number for loss" + advice);
  EXPECT_EQ(refusal(std::string("{\"step\":1,\"loss\":1}\0\n", 21)), "line 1 is not a JSON object" + advice);
}

TEST_F(Metrics, MissingFilesAndFoldersAreOneLine) {
  EXPECT_EQ(io::refusal_by("metrics", path("none"), [&] { read_metrics(path("none")); }),
            "cannot be read: No such file or directory");
  EXPECT_EQ(io::refusal_by("metrics", path("no/where"), [&] { MetricsLog::open(path("no/where")); }),
            "cannot be written: No such file or directory");
}

TEST_F(Metrics, FullDiskIsOneLine) {
  MetricsLog log = MetricsLog::open(path());
  log.write(at_step(1));
  const io::FileSizeLimit full(content_of(path()).size());
  EXPECT_EQ(io::refusal_by("metrics", path(), [&] { log.write(at_step(2)); }), "cannot be written: File too large");
}

TEST_F(Metrics, ReadersWhileTheRunGoesOnSeeEveryStep) {
  MetricsLog log = MetricsLog::open(path());
  for (int64_t step = 1; step <= 3; ++step) {
    log.write(at_step(step));
    EXPECT_EQ(read_metrics(path()).size(), static_cast<size_t>(step));
  }
}

}  // namespace
}  // namespace tenon::watch
