#include "tenon/train/game_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tenon/base/error.h"
#include "tenon/io/file.h"
#include "tenon/io/json.h"
#include "tenon/watch/chart.h"
#include "tenon/watch/report.h"
#include "tenon/watch/report_page.h"

namespace tenon::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using watch::Chart;
using watch::Curve;
using watch::escaped;

constexpr std::string_view kFormat = "metrics";
constexpr int64_t kMostGames = 1'000'000'000'000;  // so that sums of counts stay numbers

double number_of(const Json& value) { return value.is_number() ? value.get<double>() : std::nan(""); }

Curve curve_of(const std::vector<GameMetrics>& metrics, std::string name, std::string style,
               const std::function<double(const GameMetrics&)>& value) {
  constexpr size_t kFewPoints = 30;  // so few need no smoothing
  Curve curve{std::move(name), std::move(style), {}, {}, {}};
  for (const GameMetrics& each : metrics) {
    curve.steps.push_back(each.episode);
    curve.values.push_back(value(each));
  }
  if (metrics.size() > kFewPoints) curve.course = watch::smoothed(curve.values);
  return curve;
}

double reached(const GameMetrics& metrics, int tile) {
  rl::Summary sum;
  sum.by_tile = metrics.by_tile;
  return 100 * sum.reached(tile);
}

void put_charts(std::string& html, const std::vector<GameMetrics>& metrics) {
  std::vector<Chart> charts;
  charts.push_back(
      {"Score", "large", {curve_of(metrics, "mean", "train", [](const GameMetrics& m) { return m.mean_score; })}});
  charts[0].curves.push_back(
      curve_of(metrics, "best", "validation", [](const GameMetrics& m) { return static_cast<double>(m.best_score); }));
  for (const auto& [tile, style] : {std::pair(512, "train"), std::pair(2048, "validation")})
    charts.push_back(
        {fmt::format("Games that reached {}, %", tile),
         "",
         {curve_of(metrics, "%", style, [tile = tile](const GameMetrics& m) { return reached(m, tile); })}});
  if (std::any_of(metrics.begin(), metrics.end(), [](const GameMetrics& m) { return m.epsilon > 0; }))
    charts.push_back({"Random moves (epsilon)", "", {curve_of(metrics, "share", "lr", [](const GameMetrics& m) {
                        return m.epsilon;
                      })}});
  charts.push_back({"Episodes per second", "", {curve_of(metrics, "1/s", "speed", [](const GameMetrics& m) {
                      return m.episodes_per_second;
                    })}});
  html +=
      "<div class=\"switches\">Games <label for=\"even\">even</label><label for=\"log\">logarithmic</label></div>\n"
      "<div class=\"charts\">\n";
  for (Chart& chart : charts) {
    chart.from_zero = true;
    chart.unit = "game";
    chart.first_step = metrics.front().episode;
    chart.last_step = metrics.back().episode;
    for (const GameMetrics& each : metrics) {
      if (each.resumed) chart.resumed.push_back(each.episode);
    }
    html += watch::chart_html(chart);
  }
  html += "</div>\n";
}

// Bars of plain HTML: how many games ended with which tile as their largest.
void put_tiles(std::string& html, const std::string& title, const std::vector<int64_t>& by_tile) {
  int64_t games = 0, most = 1;
  for (const int64_t count : by_tile) {
    games += count;
    most = std::max(most, count);
  }
  if (games == 0) return;
  html += "<h2>" + escaped(title) + "</h2>\n<table>";
  for (size_t exponent = 1; exponent < by_tile.size(); ++exponent) {
    if (by_tile[exponent] == 0) continue;
    const auto count = static_cast<double>(by_tile[exponent]);
    html += fmt::format(
        "<tr><td>{}</td><td style=\"white-space:nowrap\">{} ({})</td><td style=\"width:60%\"><div "
        "style=\"background:#4477aa;height:1em;width:{:.1f}%\">"
        "</div></td></tr>\n",
        1 << exponent, watch::with_separators(by_tile[exponent]), share_text(count / static_cast<double>(games)),
        100 * count / static_cast<double>(most));
  }
  html += "</table>\n";
}

void put_figure(std::string& html, const std::string& name, const std::string& value) {
  html += "<div><dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd></div>";
}

void put_figures(std::string& html, const GameReport& report) {
  const GameMetrics& last = report.metrics.back();
  int64_t best = 0;
  for (const GameMetrics& each : report.metrics) best = std::max(best, each.best_score);
  html += "<dl class=\"figures\">";
  put_figure(html, "Games", watch::with_separators(last.episode));
  put_figure(html, "Best score", watch::with_separators(best));
  put_figure(html, "Time of playing", watch::duration_text(last.seconds));
  if (last.seconds > 0)
    put_figure(html, "Games per second", fmt::format("{:.0f}", static_cast<double>(last.episode) / last.seconds));
  if (report.evaluation) {
    put_figure(html, "Mean score, best moves", watch::with_separators(std::llround(report.evaluation->mean_score)));
    put_figure(html, "Reach 2048, best moves", share_text(report.evaluation->reached(2048)));
  }
  if (report.random) put_figure(html, "Mean score, random moves", fmt::format("{:.0f}", report.random->mean_score));
  html += "</dl>\n";
}

std::vector<int64_t> tiles_of(const std::vector<GameMetrics>& metrics) {
  std::vector<int64_t> all(rl::kLargestExponent + 1);
  for (const GameMetrics& each : metrics) {
    for (size_t i = 0; i < std::min(all.size(), each.by_tile.size()); ++i) all[i] += each.by_tile[i];
  }
  return all;
}

}  // namespace

std::string share_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string game_metrics_line(const GameMetrics& metrics) {
  Json line;
  line["episode"] = metrics.episode;
  line["mean_score"] = metrics.mean_score;
  line["mean_moves"] = metrics.mean_moves;
  line["best_score"] = metrics.best_score;
  line["by_tile"] = metrics.by_tile;
  line["epsilon"] = metrics.epsilon;
  line["loss"] = metrics.loss;  // null before anything was learned
  line["episodes_per_second"] = metrics.episodes_per_second;
  line["moves_per_second"] = metrics.moves_per_second;
  line["learning_ms"] = metrics.learning_ms;
  line["resident_bytes"] = metrics.resident_bytes;
  line["seconds"] = metrics.seconds;
  if (metrics.resumed) line["resumed"] = true;
  return line.dump() + "\n";
}

std::vector<GameMetrics> read_game_metrics(const fs::path& path) {
  const auto file = io::MappedFile::open(kFormat, path);
  std::string_view text = io::as_text(file->bytes());
  std::vector<GameMetrics> all;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // a kill may leave a piece of the last one
    const std::string name = fmt::format("{}: line {}", path.string(), number);
    const io::Input input{kFormat, name, std::as_bytes(std::span(text.substr(0, end)))};
    const Json line = io::parse_json<Json>(input);
    GameMetrics one;
    one.episode = io::json_field<int64_t>(input, line, "episode");
    one.mean_score = io::json_field<double>(input, line, "mean_score");
    one.mean_moves = io::json_field<double>(input, line, "mean_moves");
    one.best_score = io::json_field<int64_t>(input, line, "best_score");
    const Json by_tile = io::json_field<Json>(input, line, "by_tile");
    const auto is_count = [](const Json& count) { return count.is_number_unsigned() && count <= kMostGames; };
    if (!by_tile.is_array() || by_tile.size() > rl::kLargestExponent + 1 ||
        !std::all_of(by_tile.begin(), by_tile.end(), is_count))
      io::fail(input, "by_tile is no list of at most {} counts", rl::kLargestExponent + 1);
    one.by_tile = by_tile.get<std::vector<int64_t>>();
    one.epsilon = io::json_field<double>(input, line, "epsilon");
    one.loss = number_of(io::json_field<Json>(input, line, "loss"));
    one.episodes_per_second = io::json_field<double>(input, line, "episodes_per_second");
    if (line.contains("moves_per_second")) {  // lines of older versions go without
      one.moves_per_second = io::json_field<double>(input, line, "moves_per_second");
      one.learning_ms = number_of(io::json_field<Json>(input, line, "learning_ms"));
      one.resident_bytes = io::json_field<int64_t>(input, line, "resident_bytes");
    }
    one.seconds = io::json_field<double>(input, line, "seconds");
    one.resumed = line.contains("resumed");
    all.push_back(std::move(one));
    text.remove_prefix(end + 1);
  }
  return all;
}

void write_game_report(const GameReport& report) {
  const fs::path folder = report.run.has_filename() ? report.run : report.run.parent_path();
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  const std::string title = escaped(folder.filename().string());
  html += "<title>" + title + "</title>\n<style>";
  html += watch::report_style();
  html +=
      "</style></head>\n<body><div class=\"page\">\n"
      "<input class=\"switch\" type=\"radio\" name=\"steps\" id=\"even\" checked>"
      "<input class=\"switch\" type=\"radio\" name=\"steps\" id=\"log\">\n";
  html += "<header><h1>" + title + "</h1><p class=\"subtitle\">A learner that plays 2048</p></header>\n<main>\n";
  if (report.metrics.empty()) {
    html += "<p class=\"empty\">No game has ended yet.</p>\n";
  } else {
    put_figures(html, report);
    put_charts(html, report.metrics);
    if (report.evaluation)
      put_tiles(html, "Largest tiles of games with the best moves, after training", report.evaluation->by_tile);
    put_tiles(html, "Largest tiles of the games of training", tiles_of(report.metrics));
  }
  html += "<h2>Configuration</h2>\n<table>";
  for (const auto& [name, value] : watch::config_table(report.config, "config.json"))
    html += "<tr><td>" + escaped(name) + "</td><td>" + escaped(value) + "</td></tr>\n";
  html += "</table>\n</main>\n<footer>Written by Tenon.</footer>\n</div>\n<script>";
  html += watch::report_script();
  html += "</script></body></html>\n";
  io::ReplacingFile file("report", report.run / "report.html");
  file.write(html);
  file.commit();
}

}  // namespace tenon::train
