// A run as one HTML file that needs nothing else: curves, figures, configuration and samples, for a browser without
// network, on a desk or a phone.

#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/watch/metrics.h"
#include "tenon/watch/profile_view.h"
#include "tenon/watch/samples.h"

namespace tenon::watch {

/// Names and values in the order in which they are shown.
using Table = std::vector<std::pair<std::string, std::string>>;

/// What the page of a run shows.
struct ReportInput {
  std::string title;                        // of the page
  std::string subtitle;                     // one line: the model, the machine, when
  Table figures;                            // more figures for the top, such as the number of parameters
  Table config;                             // keys and values
  std::vector<StepMetrics> metrics;         // ascending steps
  std::vector<Sample> samples;              // by step
  std::optional<ProfileView> profile = {};  // of some steps
  std::string profile_problem = {};         // why there is none to be shown, where there should be one
};

/// The page. Any text may stand in the input, and any number: what is not finite is marked and breaks the curve. Curves
/// are thinned, so that the page stays small (224 kB for 100,000 steps).
///   const std::string page = watch::report_html({.title = "A run", .metrics = {{.step = 1, .loss = 2.5}}});
std::string report_html(const ReportInput& input);

/// 1234567 as 1,234,567.
std::string with_separators(int64_t number);
/// "512 MiB", "1.5 GiB".
///   watch::bytes_text(512 << 20);
std::string bytes_text(int64_t bytes);
/// "1 min 02 s".
std::string duration_text(double seconds);

/// The leaves of a JSON object by their dotted path; fails with one line where the text is none.
Table config_table(std::string_view json_text, const std::string& name);

/// Writes RUN/report.html from what lies in RUN: metrics.jsonl, and config.json, profile.json and samples where there
/// are some.
/// `figures` are added at the top.
///   watch::report_from_folder("runs/demo");
void report_from_folder(const std::filesystem::path& run_folder, const Table& figures = {});

}  // namespace tenon::watch
