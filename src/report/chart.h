// A scatter and step chart as inline SVG: no script, no network, readable when printed.
#pragma once

#include <string>
#include <vector>

namespace tw::report {

struct Point {
  double x = 0;
  double y = 0;  // > 0: the axis is logarithmic
  std::string label;
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Point> dots;
  std::vector<Point> steps;  // by x; drawn as a staircase
};

// "" when there is nothing to draw.
std::string ToSvg(const Chart& chart);

// Replaces & < > " by their entities.
std::string Escape(const std::string& text);

}  // namespace tw::report
