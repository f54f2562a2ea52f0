// One chart of a report, drawn here and not in the browser: the page shows it at once, without scripts too.
//
// The SVG is stretched to whatever space there is, with lines of constant width, and the labels are HTML beside it: so
// text has the same size on a phone. Coordinates are whole numbers out of a million, from which the page's script reads
// the values back for the pointer; the numbers need not be there twice.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::watch {

struct Curve {
  std::string name;   // in the legend
  std::string style;  // a class of the page's style sheet
  std::vector<int64_t> steps;
  std::vector<double> values;
  std::vector<double> course;  // drawn over the values, which then become pale: smoothed(values), or empty for none
};

struct Chart {
  std::string title;
  std::string style;
  std::vector<Curve> curves;
  int64_t first_step = 0, last_step = 0;  // shared by the charts of a page
  std::vector<int64_t> resumed;           // steps with a vertical line
  bool from_zero = false;                 // the axis includes 0
  std::string unit = "step";              // what is counted along the axis
};

std::string chart_html(const Chart& chart);

/// Round numbers that divide an axis from `low` to `high` into about `parts`.
std::vector<double> axis_ticks(double low, double high, int parts);

/// A number of an axis whose ticks lie `spacing` apart: as few digits as tell them apart.
std::string tick_text(double value, double spacing);

/// The course of noisy values: medians, so that a spike leaves no trace, and means of those. What is not finite stays
/// out of it and stays as it is.
std::vector<double> smoothed(const std::vector<double>& values);

/// Text for HTML, whatever bytes it has.
std::string escaped(std::string_view text);

}  // namespace tenon::watch
