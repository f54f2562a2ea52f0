// What the page shows is put together here; profile_assets.cpp has its style and its script.

#include "tenon/watch/profile_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "tenon/io/file.h"
#include "tenon/io/json.h"
#include "tenon/watch/chart.h"
#include "tenon/watch/doctor.h"
#include "tenon/watch/profile_section.h"
#include "tenon/watch/report_page.h"

namespace tenon::watch {
namespace {

using Kind = ProfileEvent::Kind;
using nlohmann::json;

constexpr size_t kMostEvents = 20'000, kMostMemory = 4'000, kMostKernels = 300;

double in_ms(uint64_t ns) { return static_cast<double>(ns) / 1e6; }
double per_cent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}
bool is_on_device(const ProfileEvent& event) { return event.kind != Kind::host && event.kind != Kind::note; }

// ---- advice ----

void put_advice(std::string& html, const ProfileView& view) {
  const std::vector<Advice> all = advice(view);
  html += "<h3>What to change</h3>\n";
  if (all.empty()) {
    html += "<p class=\"subtitle\">Nothing stands out: what takes the time is below.</p>\n";
    return;
  }
  html += "<ol class=\"advice\">";
  for (const Advice& one : all)
    html += "<li><p>" + escaped(one.text) + "</p><p class=\"subtitle\">" + escaped(one.figure) + "</p></li>\n";
  html += "</ol>\n";
}

// ---- the time line ----

/// Classes of the style sheet, by which the script colours.
enum class Colour : uint8_t { forward, backward, optimizer, transfer, engine, own, wait, data, note };

Colour colour_of(const ProfileEvent& event) {
  if (event.kind == Kind::note) return Colour::note;
  if (event.kind == Kind::launch)
    return event.pass == "backward"    ? Colour::backward
           : event.pass == "optimizer" ? Colour::optimizer
                                       : Colour::forward;
  if (event.kind != Kind::host) return Colour::transfer;
  if (event.name == "data") return Colour::data;
  if (event.name == "wait") return Colour::wait;
  constexpr std::array<std::string_view, 8> kEngine{"record", "plan",     "compile", "run",
                                                    "replay", "allocate", "reuse",   "release"};
  return std::ranges::find(kEngine, event.name) == kEngine.end() ? Colour::own : Colour::engine;
}

/// Each text once, by its number.
class Texts {
 public:
  size_t number_of(const std::string& text) {
    const auto [at, is_new] = numbers_.emplace(text, numbers_.size());
    if (is_new) all_.push_back(text);
    return at->second;
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::map<std::string, size_t> numbers_;
  std::vector<std::string> all_;
};

std::vector<const ProfileEvent*> longest_of(const ProfileView& view) {
  std::vector<const ProfileEvent*> all;
  for (const ProfileEvent& event : view.events) all.push_back(&event);
  if (all.size() <= kMostEvents) return all;
  const auto length = [](const ProfileEvent* event) { return event->end_ns - event->begin_ns; };
  std::ranges::nth_element(all, all.begin() + kMostEvents, std::ranges::greater{}, length);
  all.resize(kMostEvents);
  std::ranges::sort(all);  // as they stood
  return all;
}

json memory_of(const ProfileView& view, const std::string& device) {
  std::vector<const ProfileMemory*> points;
  for (const ProfileMemory& at : view.memory) {
    if (at.device == device) points.push_back(&at);
  }
  std::vector<const ProfileMemory*> kept;
  const size_t stride = points.size() / kMostMemory + 1;
  for (size_t i = 0; i < points.size(); i += stride) {  // the highest of those that stand together
    const auto end = points.begin() + static_cast<ptrdiff_t>(std::min(points.size(), i + stride));
    kept.push_back(*std::max_element(points.begin() + static_cast<ptrdiff_t>(i), end,
                                     [](const auto* a, const auto* b) { return a->in_all() < b->in_all(); }));
  }
  json made{{"device", device}, {"at", json::array()}, {"peak", json::array()}, {"bytes", json::array()}};
  for (const ProfileMemory* at : kept) {
    made["at"].push_back(at->at_ns);
    made["peak"].push_back(at->planned_peak);
    made["bytes"].push_back(
        {at->weights, at->moments, at->gradients, at->kept, at->scratch, at->values, at->reserve, at->pool});
  }
  return made;
}

// Nothing in it is markup: a script ends at the first </script, and <!-- begins something else.
std::string in_script(const json& value) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string safe;
  for (const char c : text) c == '<' ? safe += "\\u003c" : safe += c;
  return safe;
}

json line_of(const ProfileView& view) {
  Texts texts;
  std::vector<std::string> rows;
  std::map<std::pair<std::string, uint32_t>, size_t> numbers;  // of rows, by device and thread
  for (const ProfileEvent& event : view.events) numbers[{event.device, event.thread}] = 0;
  for (auto& [key, number] : numbers) {  // the host, which has no name, comes first
    number = rows.size();
    rows.push_back(!key.first.empty() ? key.first
                   : key.second == 0  ? "host"
                                      : fmt::format("host, thread {}", key.second));
  }
  json events = json::array();
  for (const ProfileEvent* event : longest_of(view)) {
    const std::string module = event->module.empty() ? "" : " in " + event->module;
    for (const uint64_t number :
         {uint64_t{numbers[{event->device, event->thread}]}, uint64_t{texts.number_of(event->name)},
          uint64_t{texts.number_of(event->detail + module)}, uint64_t{static_cast<uint8_t>(colour_of(*event))},
          event->begin_ns, event->end_ns - event->begin_ns})
      events.push_back(number);
  }
  json memory = json::array();
  std::vector<std::string> devices;
  for (const ProfileMemory& at : view.memory) {
    if (std::ranges::find(devices, at.device) == devices.end()) devices.push_back(at.device);
  }
  for (const std::string& device : devices) memory.push_back(memory_of(view, device));
  uint64_t end = view.wall_ns;
  for (const ProfileEvent& event : view.events) end = std::max(end, event.end_ns);
  return {{"wall", end}, {"texts", texts.all()}, {"rows", rows}, {"events", events}, {"memory", memory}};
}

void put_time_line(std::string& html, const ProfileView& view) {
  html +=
      "<h3>Time line</h3>\n<div class=\"panel\"><div class=\"tools\">"
      "<button type=\"button\" data-do=\"in\" aria-label=\"zoom in\">+</button>"
      "<button type=\"button\" data-do=\"out\" aria-label=\"zoom out\">&minus;</button>"
      "<button type=\"button\" data-do=\"left\" aria-label=\"earlier\">&larr;</button>"
      "<button type=\"button\" data-do=\"right\" aria-label=\"later\">&rarr;</button>"
      "<button type=\"button\" data-do=\"whole\">whole</button><span class=\"legend\">";
  for (const char* name : {"forward", "backward", "optimizer", "transfer", "engine", "own", "wait", "data"})
    html += fmt::format("<span class=\"key c-{}\">{}</span>", name,
                        std::string_view(name) == "engine" ? "Tenon on the host"
                        : std::string_view(name) == "own"  ? "your code"
                                                           : name);
  html +=
      "</span></div>\n<div class=\"lanes\" tabindex=\"0\" role=\"application\" aria-label=\"time line: arrow keys "
      "move, "
      "plus and minus zoom, Home shows all, comma and full stop go from event to event\"></div>\n"
      "<p class=\"picked\" aria-live=\"polite\">Drag to move, Ctrl and wheel or pinch to zoom, click for "
      "details.</p>\n";
  if (view.events.size() > kMostEvents)
    html += fmt::format("<p class=\"picked\">{} shorter events are left out.</p>\n", view.events.size() - kMostEvents);
  html += "</div>\n";
  if (view.memory.empty()) return;
  html += "<h3>Memory</h3>\n<div class=\"panel\"><div class=\"tools\"><span class=\"legend\">";
  constexpr std::array<std::pair<const char*, const char*>, 9> kHolders{{{"weights", "weights"},
                                                                         {"moments", "moments"},
                                                                         {"gradients", "gradients"},
                                                                         {"kept", "kept activations"},
                                                                         {"scratch", "scratch"},
                                                                         {"values", "other tensors"},
                                                                         {"reserve", "rest of the arena"},
                                                                         {"pool", "pool"},
                                                                         {"peak", "planned peak"}}};
  for (const auto& [style, name] : kHolders) html += fmt::format("<span class=\"key m-{}\">{}</span>", style, name);
  html += "</span></div>\n<div class=\"courses\"></div>\n<p class=\"picked\" aria-live=\"polite\"></p></div>\n";
}

// ---- the flame graph ----

struct Frame {
  uint64_t ns = 0;
  std::map<std::string, Frame> inner;
};

// Passes, then modules within modules, then kinds of kernels.
Frame flames_of(const ProfileView& view) {
  Frame all;
  for (const ProfileEvent& event : view.events) {
    if (event.kind != Kind::launch) continue;
    const uint64_t ns = event.end_ns - event.begin_ns;
    Frame* at = &all;
    const auto enter = [&](const std::string& name) {
      at->ns += ns;
      at = &at->inner[name];
    };
    enter(event.pass.empty() ? "forward" : event.pass);
    std::string_view rest = event.module;
    while (!rest.empty()) {
      const size_t dot = std::min(rest.find('.'), rest.size());
      enter(std::string(rest.substr(0, dot)));
      rest.remove_prefix(std::min(dot + 1, rest.size()));
    }
    enter(event.name + " ");  // which no module is called
    at->ns += ns;
  }
  return all;
}

void put_frame(std::string& html, const std::string& name, const Frame& frame, uint64_t whole, int depth) {
  constexpr double kLeast = 0.1;  // per cent: narrower than a pixel
  constexpr int kDeepest = 40;
  html += fmt::format(
      "<div class=\"frame\" style=\"flex-grow:{}\"><button type=\"button\" title=\"{}: {:.3f} ms, {:.1f} %\">",
      frame.ns / 100 + 1, escaped(name), in_ms(frame.ns), per_cent(frame.ns, whole));
  html += fmt::format("{} <small>{:.1f} %</small></button>", escaped(name), per_cent(frame.ns, whole));
  std::vector<const std::pair<const std::string, Frame>*> inner;
  for (const auto& each : frame.inner) inner.push_back(&each);
  std::ranges::stable_sort(inner, std::ranges::greater{}, [](const auto* each) { return each->second.ns; });
  uint64_t rest = frame.ns;
  if (!inner.empty() && depth < kDeepest) {
    html += "<div class=\"inner\">";
    for (const auto* each : inner) {
      if (per_cent(each->second.ns, whole) < kLeast) continue;
      put_frame(html, each->first, each->second, whole, depth + 1);
      rest -= std::min(rest, each->second.ns);
    }
    if (rest > 0) html += fmt::format("<div class=\"rest\" style=\"flex-grow:{}\"></div>", rest / 100 + 1);
    html += "</div>";
  }
  html += "</div>\n";
}

void put_flames(std::string& html, const ProfileView& view) {
  const Frame all = flames_of(view);
  if (all.ns == 0) return;
  html += "<h3>Modules</h3>\n<div class=\"panel flames\">";
  for (const char* pass : {"forward", "backward", "optimizer"}) {
    const auto found = all.inner.find(pass);
    if (found == all.inner.end()) continue;
    html += fmt::format("<div class=\"flame c-{}\">", pass);
    put_frame(html, pass, found->second, all.ns, 0);
    html += "</div>\n";
  }
  html +=
      "<p class=\"picked\">Widths are times of kernels. Click a module to see it alone, and again for all.</p></div>\n";
}

// ---- the table ----

struct Row {
  std::string what, device, library;
  uint64_t count = 0, ns = 0, bytes = 0;
  double flops = 0;
};

std::vector<Row> rows_of(const ProfileView& view) {
  std::map<std::pair<std::string, std::string>, Row> rows;
  for (const ProfileEvent& event : view.events) {
    if (!is_on_device(event)) continue;
    Row& row = rows[{event.device, event.detail}];
    row.what = event.detail;
    row.device = event.device;
    row.library = event.library;
    ++row.count;
    row.ns += event.end_ns - event.begin_ns;
    row.bytes += event.bytes;
    row.flops += event.flops;
  }
  std::vector<Row> all;
  for (auto& [key, row] : rows) all.push_back(std::move(row));
  std::ranges::stable_sort(all, std::ranges::greater{}, &Row::ns);
  return all;
}

void put_cell(std::string& html, double value, const std::string& text) {
  html += fmt::format("<td data-value=\"{:.6g}\">{}</td>", value, text);
}

void put_kernels(std::string& html, const ProfileView& view) {
  const std::vector<Row> rows = rows_of(view);
  if (rows.empty()) return;
  uint64_t whole = 0;
  for (const Row& row : rows) whole += row.ns;
  html += "<h3>Kernels and transfers</h3>\n<div class=\"panel scrolls\"><table class=\"kernels\"><thead><tr>";
  for (const char* title : {"Kernel", "Device", "Time, ms", "Share", "Count", "Each, us", "GB/s", "TFLOP/s", "Library"})
    html += fmt::format("<th{}><button type=\"button\">{}</button></th>",
                        std::string_view(title) == "Time, ms" ? " aria-sort=\"descending\"" : "", title);
  html += "</tr></thead><tbody>\n";
  for (size_t i = 0; i < std::min(rows.size(), kMostKernels); ++i) {
    const Row& row = rows[i];
    const double ns = static_cast<double>(std::max<uint64_t>(row.ns, 1));
    const double each = static_cast<double>(row.ns) / static_cast<double>(row.count) / 1e3;
    html += "<tr><td>" + escaped(row.what) + "</td><td>" + escaped(row.device) + "</td>";
    put_cell(html, in_ms(row.ns), fmt::format("{:.3f}", in_ms(row.ns)));
    put_cell(html, per_cent(row.ns, whole), fmt::format("{:.1f} %", per_cent(row.ns, whole)));
    put_cell(html, static_cast<double>(row.count), fmt::format("{}", row.count));
    put_cell(html, each, fmt::format("{:.1f}", each));
    const double bandwidth = static_cast<double>(row.bytes) / ns, speed = row.flops / ns / 1e3;
    put_cell(html, bandwidth, row.bytes > 0 ? fmt::format("{:.1f}", bandwidth) : "");
    put_cell(html, speed, row.flops > 0 ? fmt::format("{:.3f}", speed) : "");
    html += "<td>" + escaped(row.library) + "</td></tr>\n";
  }
  html += "</tbody></table></div>\n";
  if (rows.size() > kMostKernels)
    html +=
        fmt::format("<p class=\"subtitle\">{} more, which take less, are not shown.</p>\n", rows.size() - kMostKernels);
}

std::string summary_of(const ProfileView& view) {
  const std::string text = advice_text(view);
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string profile_section(const ProfileView& view) {
  std::string html = "<section class=\"profile\"><h2>Profile</h2>\n<p class=\"subtitle\">";
  html += escaped(summary_of(view)) + "</p>\n";
  put_advice(html, view);
  put_time_line(html, view);
  put_flames(html, view);
  put_kernels(html, view);
  html += "<script type=\"application/json\" class=\"profile-data\">" + in_script(line_of(view)) + "</script>\n";
  html += "</section>\n";
  return html;
}

std::string profile_html(const ProfileView& view, const std::string& title) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";
  html += escaped(title) + "</title>\n<style>";
  html += report_style();
  html += profile_style();
  html += "</style></head>\n<body><div class=\"page\">\n<header><h1>" + escaped(title) + "</h1></header>\n<main>\n";
  html += profile_section(view);
  html += "</main>\n<footer>Written by Tenon.</footer>\n</div>\n<script>";
  html += profile_script();
  html += "</script></body></html>\n";
  return html;
}

void save_profile_page(const ProfileView& view, const std::filesystem::path& path, const std::string& title) {
  io::ReplacingFile file("profile", path);
  file.write(profile_html(view, title.empty() ? path.stem().string() : title));
  file.commit();
}

}  // namespace tenon::watch
