// Charts: range, ticks, thinning, SVG.

#include "tenon/watch/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "tenon/io/input.h"

namespace tenon::watch {
namespace {

constexpr double kUnits = 1e6;  // of the SVG's coordinates, in both directions
constexpr int kBuckets = 800;   // a curve has at most two points in each: its least and its greatest value
constexpr int kTicksAcross = 6, kTicksUp = 5;
constexpr size_t kMostDots = 60;  // more would hide the line they stand on

void put(std::string& html, fmt::string_view format, const auto&... args) {
  fmt::vformat_to(std::back_inserter(html), format, fmt::make_format_args(args...));
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  bool is_empty() const { return low > high; }
  double size() const { return high - low; }
  void include(double value) {
    if (!std::isfinite(value)) return;
    constexpr double kMost = 1e300;  // the size of a range must be a number too
    low = std::min(low, std::clamp(value, -kMost, kMost));
    high = std::max(high, std::clamp(value, -kMost, kMost));
  }
  void include(const std::vector<double>& values) {
    for (const double value : values) include(value);
  }
};

/// All but the outermost two hundredths: one spike must not flatten the rest.
Range usual_range(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  std::sort(values.begin(), values.end());
  Range range;
  const size_t cut = values.size() / 200;
  for (size_t i = cut; i + cut < values.size(); ++i) range.include(values[i]);
  return range;
}

/// A curve's whole range; of a noisy one without few values that alone would make it much larger.
Range range_of(const Curve& curve) {
  Range whole;
  whole.include(curve.values);
  if (curve.course.empty()) return whole;
  Range usual = usual_range(curve.values);
  usual.include(curve.course);
  return whole.size() > 2 * usual.size() ? usual : whole;
}

Range vertical_range(const Chart& chart) {
  Range range;
  for (const Curve& curve : chart.curves) {
    const Range own = range_of(curve);
    range.include(own.low);
    range.include(own.high);
  }
  if (range.is_empty()) range = {0, 1};
  if (chart.from_zero) range.include(0.0);
  const double least = std::max(std::abs(range.high), std::abs(range.low)) * 1e-3;
  if (range.size() < least || range.size() == 0) {
    const double around = std::max(least, 1e-12);
    const bool is_zero = range.low == 0 && range.high == 0;
    range = is_zero ? Range{0, 1} : Range{range.low - around, range.high + around};
  }
  const double margin = 0.06 * range.size();
  const bool stands_on_zero = chart.from_zero && range.low == 0;
  return {stands_on_zero ? 0 : range.low - margin, range.high + margin};
}

/// Steps along the axis, evenly or by their logarithm.
struct StepAxis {
  double first, last;
  bool is_log;

  StepAxis(const Chart& chart, bool log)
      : first(static_cast<double>(chart.first_step)), last(static_cast<double>(chart.last_step)), is_log(log) {
    if (last <= first) {
      first -= 1;
      last = first + 2;
    }
    if (is_log) {
      first = std::max(first, 1.0);
      last = std::max(last, first + 1);
    }
  }
  double at(double step) const {
    if (!is_log) return (step - first) / (last - first);
    return std::log(std::max(step, first) / first) / std::log(last / first);
  }
};

/// How many values to either side belong to a smoothed one: a hundredth of all; fewer at first, where a loss falls so
/// fast that a wide window would hide it.
size_t reach_of(size_t i, size_t count) { return std::min(count / 100, i / 8); }

/// A loop over windows; `add` and `remove` are told of each value as it comes and goes, `summary` gives the result.
std::vector<double> over_windows(const std::vector<double>& values, auto&& add, auto&& remove, auto&& summary) {
  std::vector<double> results;
  results.reserve(values.size());
  size_t begin = 0, end = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t reach = reach_of(i, values.size());
    for (; end < std::min(values.size(), i + reach + 1); ++end) {
      if (std::isfinite(values[end])) add(values[end]);
    }
    for (; begin < i - reach; ++begin) {
      if (std::isfinite(values[begin])) remove(values[begin]);
    }
    results.push_back(summary());
  }
  return results;
}

std::vector<double> running_medians(const std::vector<double>& values) {
  std::vector<double> ordered;  // the window; at 100,000 steps moving it takes 0.1 us, less than a tree would
  return over_windows(
      values, [&](double value) { ordered.insert(std::upper_bound(ordered.begin(), ordered.end(), value), value); },
      [&](double value) { ordered.erase(std::lower_bound(ordered.begin(), ordered.end(), value)); },
      [&] { return ordered.empty() ? std::numeric_limits<double>::quiet_NaN() : ordered[ordered.size() / 2]; });
}

std::vector<double> running_means(const std::vector<double>& values) {
  double sum = 0, count = 0;
  return over_windows(
      values, [&](double value) { sum += value, count += 1; }, [&](double value) { sum -= value, count -= 1; },
      [&] { return sum / count; });
}

/// A dot for each value.
std::string dots(const std::vector<int64_t>& steps, const std::vector<double>& values, const Range& up,
                 const StepAxis& across) {
  std::string path;
  for (size_t i = 0; i < values.size(); ++i) {
    const double height = (values[i] - up.low) / up.size();
    if (!(height >= 0 && height <= 1)) continue;
    put(path, "M{:.0f} {:.0f}l0 0", across.at(static_cast<double>(steps[i])) * kUnits, (1 - height) * kUnits);
  }
  return path;
}

/// A curve as SVG's path, thinned.
class Path {
 public:
  Path(const Range& up, const StepAxis& across) : up_(up), across_(across) {}

  std::string of(const std::vector<int64_t>& steps, const std::vector<double>& values) {
    const bool is_thinned = values.size() > 2 * kBuckets;
    int64_t bucket = -1;
    for (size_t i = 0; i < values.size(); ++i) {
      const double across = across_.at(static_cast<double>(steps[i]));
      const int64_t own = is_thinned ? static_cast<int64_t>(across * kBuckets) : static_cast<int64_t>(i);
      if (own != bucket) end_bucket();
      bucket = own;
      saw_other_ |= !std::isfinite(values[i]);
      if (!std::isfinite(values[i])) continue;
      const Point point{across, values[i]};
      if (!least_ || point.value < least_->value) least_ = point;
      if (!greatest_ || point.value > greatest_->value) greatest_ = point;
    }
    end_bucket();
    if (path_.ends_with('M')) path_.pop_back();
    return path_;
  }

 private:
  struct Point {
    double across, value;
  };

  void end_bucket() {
    if (!least_) {
      is_joined_ = is_joined_ && !saw_other_;  // a gap only where nothing else would be seen
    } else {
      const bool rises = least_->across <= greatest_->across;
      add(rises ? *least_ : *greatest_);
      if (least_->across != greatest_->across) add(rises ? *greatest_ : *least_);
    }
    least_.reset();
    greatest_.reset();
    saw_other_ = false;
  }

  void add(const Point& point) {
    const auto x = std::llround(point.across * kUnits);
    // A spike far beyond the axis needs no more than to leave it.
    const double height = std::clamp((point.value - up_.low) / up_.size(), -1.0, 2.0);
    const auto y = std::llround((1 - height) * kUnits);
    if (is_joined_)
      put(path_, " {} {}", x - x_, y - y_);
    else
      put(path_, "M{} {}l0 0", x, y);  // a line of no length: a point that stands alone is a dot
    is_joined_ = true;
    x_ = x;
    y_ = y;
  }

  const Range& up_;
  const StepAxis& across_;
  std::optional<Point> least_, greatest_;
  bool saw_other_ = false, is_joined_ = false;
  int64_t x_ = 0, y_ = 0;
  std::string path_;
};

void put_line(std::string& html, const char* style, double x1, double y1, double x2, double y2) {
  put(html, "<path class=\"{}\" d=\"M{:.0f} {:.0f}L{:.0f} {:.0f}\"/>", style, x1 * kUnits, y1 * kUnits, x2 * kUnits,
      y2 * kUnits);
}

/// Powers of ten, with 2 and 5 between them where there is room.
std::vector<double> log_ticks(const StepAxis& axis) {
  std::vector<double> ticks;
  const bool is_short = axis.last / axis.first < 200;
  for (double power = std::pow(10, std::floor(std::log10(axis.first))); power <= axis.last; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && !is_short) continue;
      if (power * factor >= axis.first && power * factor <= axis.last) ticks.push_back(power * factor);
    }
  }
  return ticks;
}

std::string step_text(double step) {
  for (const auto& [unit, letter] : {std::pair(1e9, "G"), std::pair(1e6, "M"), std::pair(1e3, "k")}) {
    if (step >= unit * (unit == 1e3 ? 10 : 1)) return fmt::format("{:.6g}{}", step / unit, letter);
  }
  return fmt::format("{:.0f}", step);
}

/// A red mark at the foot of the chart for each value that is not finite.
void put_broken(std::string& html, const Curve& curve, const StepAxis& across) {
  int64_t last_bucket = -1;
  for (size_t i = 0; i < curve.values.size(); ++i) {
    const double x = across.at(static_cast<double>(curve.steps[i]));
    const auto bucket = static_cast<int64_t>(x * kBuckets);
    if (std::isfinite(curve.values[i]) || bucket == last_bucket) continue;
    put_line(html, "broken", x, 0.94, x, 1);
    last_bucket = bucket;
  }
}

/// Everything that depends on how steps are laid out.
void put_plot(std::string& html, const Chart& chart, const Range& up, bool is_log) {
  const StepAxis across(chart, is_log);
  put(html, "<div class=\"area {}\" data-unit=\"{}\" data-x0=\"{}\" data-x1=\"{}\" data-y0=\"{}\" data-y1=\"{}\">",
      is_log ? "log" : "even", escaped(chart.unit), across.first, across.last, up.low, up.high);
  put(html, "<svg viewBox=\"0 0 {0:.0f} {0:.0f}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{1}\">",
      kUnits, escaped(chart.title));
  std::string labels;
  const auto rows = axis_ticks(up.low, up.high, kTicksUp);
  const double spacing = rows.size() > 1 ? rows[1] - rows[0] : 1;
  for (const double tick : rows) {
    const double top = 1 - (tick - up.low) / up.size();
    put_line(html, "grid", 0, top, 1, top);
    put(labels, "<span class=\"y\" style=\"top:{:.2f}%\">{}</span>", top * 100, tick_text(tick, spacing));
  }
  for (const double tick : is_log ? log_ticks(across) : axis_ticks(across.first, across.last, kTicksAcross)) {
    if (tick != std::floor(tick) || tick < 0) continue;  // there are no half steps
    put_line(html, "grid", across.at(tick), 0, across.at(tick), 1);
    put(labels, "<span class=\"x\" style=\"left:{:.2f}%\">{}</span>", across.at(tick) * 100, step_text(tick));
  }
  put_line(html, "axis", 0, 1, 1, 1);
  for (const int64_t step : chart.resumed) {
    const double x = across.at(static_cast<double>(step));
    put_line(html, "resumed", x, 0, x, 1);
  }
  for (const Curve& curve : chart.curves) {
    put_broken(html, curve, across);
    const bool has_course = !curve.course.empty();
    put(html, "<path class=\"curve {}{}\" data-name=\"{}\" d=\"{}\"/>", curve.style, has_course ? " pale" : "",
        escaped(curve.name), Path(up, across).of(curve.steps, curve.values));
    if (has_course) {
      put(html, "<path class=\"curve {}\" data-name=\"{}, smoothed\" d=\"{}\"/>", curve.style, escaped(curve.name),
          Path(up, across).of(curve.steps, curve.course));
    } else if (curve.values.size() <= kMostDots) {
      put(html, "<path class=\"dots {}\" d=\"{}\"/>", curve.style, dots(curve.steps, curve.values, up, across));
    }
  }
  put(html, "</svg>{}<span class=\"unit\">{}</span></div>", labels, escaped(chart.unit));
}

void put_legend(std::string& html, const Chart& chart, const Range& up) {
  html += "<span class=\"legend\">";
  int64_t broken = 0, beyond = 0;
  for (const Curve& curve : chart.curves) {
    if (chart.curves.size() > 1) put(html, "<span class=\"key {}\">{}</span>", curve.style, escaped(curve.name));
    for (const double value : curve.values) {
      broken += !std::isfinite(value);
      beyond += std::isfinite(value) && (value < up.low || value > up.high);
    }
  }
  if (!chart.resumed.empty()) html += "<span class=\"key resumed\">resumed</span>";
  if (beyond > 0) put(html, "<span>{} beyond the axis</span>", beyond);
  if (broken > 0) put(html, "<span class=\"key broken\">{} not finite</span>", broken);
  html += "</span>";
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, int parts) {
  const double rough = (high - low) / parts;
  if (!(rough > 0) || !std::isfinite(rough)) return {low};
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double spacing = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough * 0.8) spacing = factor * power;
  }
  std::vector<double> ticks;
  const double first = std::ceil(low / spacing - 1e-9);
  for (int i = 0; i <= 2 * parts && (first + i) * spacing <= high + spacing * 1e-9; ++i) {
    ticks.push_back((first + i) * spacing + 0.0);  // + 0.0: -0 is written as 0
  }
  return ticks;
}

std::string tick_text(double value, double spacing) {
  if (std::abs(value) < spacing * 1e-6) return "0";
  const double size = std::max(std::abs(value), spacing);
  if (size >= 1e4 || spacing >= 1e3) {
    for (const auto& [unit, letter] :
         {std::pair(1e12, "T"), std::pair(1e9, "G"), std::pair(1e6, "M"), std::pair(1e3, "k")}) {
      if (size >= unit) return fmt::format("{:.6g}{}", value / unit, letter);
    }
  }
  if (spacing < 1e-3 && size < 1e-2) return fmt::format("{:.4g}", value);
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(spacing) - 1e-9)), 0, 12);
  return fmt::format("{:.{}f}", value, digits);
}

std::vector<double> smoothed(const std::vector<double>& values) {
  std::vector<double> means = running_means(running_medians(values));  // medians alone go in stairs
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) means[i] = values[i];
  }
  return means;
}

std::string chart_html(const Chart& chart) {
  const Range up = vertical_range(chart);
  std::string html;
  put(html, "<figure class=\"chart {}\"><figcaption><b>{}</b>", chart.style, escaped(chart.title));
  put_legend(html, chart, up);
  html += "</figcaption><div class=\"plot\">";
  for (const bool is_log : {false, true}) put_plot(html, chart, up, is_log);
  html += "</div></figure>\n";
  return html;
}

std::string escaped(std::string_view text) {
  std::string html;
  const bool is_utf8 = io::is_utf8(text);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&')
      html += "&amp;";
    else if (c == '<')
      html += "&lt;";
    else if (c == '>')
      html += "&gt;";
    else if (c == '"')
      html += "&quot;";
    else if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F || (!is_utf8 && byte >= 0x80))
      html += "\uFFFD";
    else
      html += c;
  }
  return html;
}

}  // namespace tenon::watch
