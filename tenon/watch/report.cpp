// Fills the page: figures, charts, samples, configuration.

#include "tenon/watch/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ctime>
#include <iterator>

#include "tenon/io/file.h"
#include "tenon/io/json.h"
#include "tenon/io/json_text.h"
#include "tenon/watch/chart.h"
#include "tenon/watch/profile_section.h"
#include "tenon/watch/report_page.h"

namespace tenon::watch {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostSamples = 40, kMostSampleBytes = 4000, kMostResumeLines = 50;

std::string short_count(double number) {
  if (number < 1e6) return with_separators(static_cast<int64_t>(number));
  return number < 1e9 ? fmt::format("{:.4g} M", number / 1e6) : fmt::format("{:.4g} G", number / 1e9);
}

struct Figure {
  std::string name, value, remark;
};

std::vector<double> column(const std::vector<StepMetrics>& metrics, double StepMetrics::*member) {
  std::vector<double> values;
  values.reserve(metrics.size());
  for (const StepMetrics& each : metrics) values.push_back(each.*member);
  return values;
}

std::string capitalised(std::string word) {
  if (!word.empty()) word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
  return word;
}

/// Steps and values of each validation metric, in the order of their first appearance.
using Points = std::vector<std::pair<int64_t, double>>;
std::vector<std::pair<std::string, Points>> validation_columns(const std::vector<StepMetrics>& metrics) {
  std::vector<std::pair<std::string, Points>> columns;
  for (const StepMetrics& each : metrics) {
    for (const auto& [name, value] : each.validation_metrics) {
      auto found = std::ranges::find(columns, name, &std::pair<std::string, Points>::first);
      if (found == columns.end()) found = columns.insert(columns.end(), {name, {}});
      found->second.emplace_back(each.step, value);
    }
  }
  return columns;
}

std::vector<Figure> figures_of(const std::vector<StepMetrics>& metrics) {
  std::vector<Figure> figures;
  if (metrics.empty()) return figures;
  const StepMetrics& last = metrics.back();
  const std::vector<double> losses = column(metrics, &StepMetrics::loss);
  figures.push_back({"Training loss", fmt::format("{:.4f}", smoothed(losses).back()), "smoothed"});
  const StepMetrics* best = nullptr;
  int64_t peak = 0;
  for (const StepMetrics& each : metrics) {
    peak = std::max(peak, each.resident_bytes);
    if (each.validation_loss && (!best || *each.validation_loss < *best->validation_loss)) best = &each;
  }
  if (best) {
    figures.push_back({"Best validation loss", fmt::format("{:.4f}", *best->validation_loss),
                       fmt::format("step {}", with_separators(best->step))});
  }
  for (const auto& [name, values] : validation_columns(metrics)) {
    figures.push_back({"Validation " + name, fmt::format("{:.4f}", values.back().second),
                       fmt::format("step {}", with_separators(values.back().first))});
  }
  const std::string unit = capitalised(last.unit);
  figures.push_back({"Steps", with_separators(last.step), ""});
  figures.push_back({unit, short_count(static_cast<double>(last.items)), ""});
  figures.push_back({"Training time", duration_text(last.seconds), "of the steps"});
  if (last.seconds > 0) {
    const double speed = static_cast<double>(last.items) / last.seconds;
    figures.push_back({unit + " per second", short_count(speed), "on average"});
  }
  if (peak > 0)
    figures.push_back({"Peak memory", fmt::format("{:.2f} GiB", static_cast<double>(peak) / (1 << 30)), ""});
  const auto broken = std::count_if(losses.begin(), losses.end(), [](double loss) { return !std::isfinite(loss); });
  if (broken > 0) figures.push_back({"Non-finite losses", with_separators(broken), ""});
  return figures;
}

void put_figures(std::string& html, const ReportInput& input) {
  std::vector<Figure> figures = figures_of(input.metrics);
  for (const auto& [name, value] : input.figures) figures.push_back({name, value, ""});
  if (figures.empty()) return;
  html += "<dl class=\"figures\">";
  for (const Figure& figure : figures) {
    html += "<div><dt>" + escaped(figure.name) + "</dt><dd>" + escaped(figure.value);
    if (!figure.remark.empty()) html += " <small>" + escaped(figure.remark) + "</small>";
    html += "</dd></div>";
  }
  html += "</dl>\n";
}

/// The part of a curve that every step has.
Curve curve_of(const std::vector<StepMetrics>& metrics, std::string name, std::string style,
               double StepMetrics::*member) {
  Curve curve{std::move(name), std::move(style), {}, column(metrics, member), {}};
  for (const StepMetrics& each : metrics) curve.steps.push_back(each.step);
  return curve;
}

/// The same of a number that only some steps have.
Curve curve_of(const std::vector<StepMetrics>& metrics, std::string name, std::string style,
               std::optional<double> StepMetrics::*member) {
  Curve curve{std::move(name), std::move(style), {}, {}, {}};
  for (const StepMetrics& each : metrics) {
    if (!(each.*member)) continue;
    curve.steps.push_back(each.step);
    curve.values.push_back(*(each.*member));
  }
  return curve;
}

Curve memory_curve(const std::vector<StepMetrics>& metrics) {
  Curve curve{"GiB", "memory", {}, {}, {}};
  for (const StepMetrics& each : metrics) {
    if (each.resident_bytes <= 0) continue;
    curve.steps.push_back(each.step);
    curve.values.push_back(static_cast<double>(each.resident_bytes) / (1 << 30));
  }
  return curve;
}

std::vector<Chart> charts_of(const std::vector<StepMetrics>& metrics) {
  constexpr size_t kFewPoints = 30;  // so few need no smoothing
  Curve loss = curve_of(metrics, "train", "train", &StepMetrics::loss);
  Curve norm = curve_of(metrics, "norm", "norm", &StepMetrics::gradient_norm);
  Curve validation = curve_of(metrics, "validation", "validation", &StepMetrics::validation_loss);
  Curve speed = curve_of(metrics, metrics.back().unit + "/s", "speed", &StepMetrics::items_per_second);
  Curve scale = curve_of(metrics, "scale", "memory", &StepMetrics::loss_scale);
  Curve memory = memory_curve(metrics);
  for (Curve* noisy : {&loss, &norm, &speed}) {
    if (metrics.size() > kFewPoints) noisy->course = smoothed(noisy->values);
  }

  std::vector<Chart> charts;
  charts.push_back({"Loss", "large", {std::move(loss)}});
  if (!validation.values.empty()) charts[0].curves.push_back(std::move(validation));
  for (const auto& [name, points] : validation_columns(metrics)) {
    Curve curve{name, "validation", {}, {}, {}};
    for (const auto& [step, value] : points) {
      curve.steps.push_back(step);
      curve.values.push_back(value);
    }
    charts.push_back({"Validation " + name, "", {std::move(curve)}});
  }
  charts.push_back({"Learning rate", "", {curve_of(metrics, "rate", "lr", &StepMetrics::lr)}, 0, 0, {}, true});
  charts.push_back({"Gradient norm", "", {std::move(norm)}, 0, 0, {}, true});
  charts.push_back({capitalised(metrics.back().unit) + " per second", "", {std::move(speed)}, 0, 0, {}, true});
  if (!memory.values.empty()) charts.push_back({"Resident memory, GiB", "", {std::move(memory)}, 0, 0, {}, true});
  if (!scale.values.empty()) charts.push_back({"Loss scale", "", {std::move(scale)}, 0, 0, {}, true});
  for (Chart& chart : charts) {
    chart.first_step = metrics.front().step;
    chart.last_step = metrics.back().step;
    for (const StepMetrics& each : metrics) {
      if (each.resumed && chart.resumed.size() < kMostResumeLines) chart.resumed.push_back(each.step);
    }
  }
  return charts;
}

void put_charts(std::string& html, const std::vector<StepMetrics>& metrics) {
  if (metrics.empty()) {
    html += "<p class=\"empty\">No step has been made yet.</p>\n";
    return;
  }
  html +=
      "<div class=\"switches\">Steps <label for=\"even\">even</label><label for=\"log\">logarithmic</label></div>\n";
  html += "<div class=\"charts\">\n";
  for (const Chart& chart : charts_of(metrics)) html += chart_html(chart);
  html += "</div>\n";
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view three = bytes.substr(at, 3);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < three.size() ? static_cast<unsigned char>(three[i]) : 0U);
    for (size_t i = 0; i < 4; ++i) text += i <= three.size() ? kLetters[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

/// At most so many bytes, and no half character at the end.
std::string_view shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

/// The newest is open. Of many, some are shown at even distances: first and last always.
void put_samples(std::string& html, const std::vector<Sample>& samples) {
  if (samples.empty()) return;
  const size_t count = std::min(samples.size(), kMostSamples);
  html += "<h2>Samples</h2>\n";
  for (size_t i = count; i-- > 0;) {
    const Sample& sample = samples[count == 1 ? samples.size() - 1 : i * (samples.size() - 1) / (count - 1)];
    const std::string_view text = shortened(sample.text, kMostSampleBytes);
    html += fmt::format("<details{}><summary>Step {}", i + 1 == count ? " open" : "", with_separators(sample.step));
    if (text.size() < sample.text.size()) html += "<small>the beginning</small>";
    html += "</summary>";
    if (!sample.picture.empty()) html += "<img src=\"data:image/png;base64," + base64(sample.picture) + "\" alt=\"\">";
    html += "<pre>" + escaped(text) + "</pre></details>\n";
  }
  if (count < samples.size()) {
    html += fmt::format("<p class=\"subtitle\">{} of {} samples are shown.</p>\n", count, samples.size());
  }
}

void put_config(std::string& html, const Table& config) {
  if (config.empty()) return;
  html += "<h2>Configuration</h2>\n<details open><summary>Settings</summary><table>";
  for (const auto& [name, value] : config) {
    html += "<tr><td>" + escaped(name) + "</td><td>" + escaped(value) + "</td></tr>\n";
  }
  html += "</table></details>\n";
}

void add_leaves(const nlohmann::ordered_json& value, const std::string& path, Table& table) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, inner] : value.items()) add_leaves(inner, path.empty() ? key : path + "." + key, table);
  } else {
    table.emplace_back(path, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local)};
}

}  // namespace

std::string report_html(const ReportInput& input) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += "<title>" + escaped(input.title) + "</title>\n<style>";
  html += report_style();
  if (input.profile) html += profile_style();
  html += "</style></head>\n<body><div class=\"page\">\n";
  html +=
      "<input class=\"switch\" type=\"radio\" name=\"steps\" id=\"even\" checked>"
      "<input class=\"switch\" type=\"radio\" name=\"steps\" id=\"log\">\n";
  html += "<header><h1>" + escaped(input.title) + "</h1>";
  if (!input.subtitle.empty()) html += "<p class=\"subtitle\">" + escaped(input.subtitle) + "</p>";
  html += "</header>\n<main>\n";
  put_figures(html, input);
  put_charts(html, input.metrics);
  if (input.profile) html += profile_section(*input.profile);
  if (!input.profile_problem.empty())
    html += "<h2>Profile</h2>\n<p class=\"subtitle\">" + escaped(input.profile_problem) + "</p>\n";
  put_samples(html, input.samples);
  put_config(html, input.config);
  html += "</main>\n<footer>Written by Tenon.</footer>\n</div>\n<script>";
  html += report_script();
  if (input.profile) html += profile_script();
  html += "</script></body></html>\n";
  return html;
}

Table config_table(std::string_view json_text, const std::string& name) {
  const io::Input input{"report", name, std::as_bytes(std::span(json_text))};
  io::check_json_object(input);
  Table table;
  add_leaves(io::parse_json(input), "", table);
  return table;
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0 && seconds < 1e10)) return "unknown";
  const auto whole = static_cast<int64_t>(seconds);
  if (whole >= 86400) return fmt::format("{} d {} h", whole / 86400, whole / 3600 % 24);
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{:.1f} s", seconds);
}

std::string bytes_text(int64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? fmt::format("{:.0f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
}

std::string with_separators(int64_t number) {
  std::string text = fmt::format("{}", number);
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<size_t>(at), ",");
  return text;
}

void report_from_folder(const fs::path& run_folder, const Table& figures) {
  ReportInput input;
  const fs::path folder = run_folder.has_filename() ? run_folder : run_folder.parent_path();
  input.title = folder.filename().string();
  input.figures = figures;
  input.metrics = read_metrics(run_folder / "metrics.jsonl");
  input.samples = read_samples(run_folder);
  std::error_code ignored;
  if (const fs::path config = run_folder / "config.json"; fs::exists(config, ignored)) {
    const auto file = io::MappedFile::open("report", config);
    input.config = config_table(io::as_text(file->bytes()), config.string());
  }
  if (fs::exists(run_folder / "profile.json", ignored)) {
    try {
      input.profile = read_profile(run_folder / "profile.json");
    } catch (const Error& error) {  // the curves are worth a page without it
      input.profile_problem = error.what();
    }
  }
  input.subtitle = "as of " + today();
  io::ReplacingFile file("report", run_folder / "report.html");
  file.write(report_html(input));
  file.commit();
}

}  // namespace tenon::watch
