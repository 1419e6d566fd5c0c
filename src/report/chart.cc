#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tw::report {
namespace {

constexpr double kWidth = 760, kHeight = 300;
constexpr double kLeft = 70, kRight = 20, kTop = 30, kBottom = 45;

// Maps data to picture coordinates; y is logarithmic, since latencies of one run span decades.
struct Axes {
  double x_max = 1, log_min = 0, log_max = 1;

  double X(double x) const { return kLeft + x / x_max * (kWidth - kLeft - kRight); }
  double Y(double y) const {
    const double share = (std::log10(y) - log_min) / (log_max - log_min);
    return kHeight - kBottom - share * (kHeight - kTop - kBottom);
  }
};

Axes Fit(const std::vector<Point>& dots, const std::vector<Point>& steps) {
  double low = 1e300, high = 0, x_max = 1;
  for (const auto* points : {&dots, &steps}) {
    for (const Point& p : *points) {
      low = std::min(low, p.y);
      high = std::max(high, p.y);
      x_max = std::max(x_max, p.x);
    }
  }
  // Half decades, so that a run whose latencies lie close together still fills the picture.
  Axes axes{x_max, std::floor(std::log10(low) * 2) / 2, std::ceil(std::log10(high) * 2) / 2};
  if (axes.log_max <= axes.log_min) axes.log_max = axes.log_min + 0.5;
  return axes;
}

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     Escape(text));
}

// Three digits, without an exponent where that is longer.
std::string Tick(double value) {
  return value >= 100 && value < 1e6 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string Grid(const Axes& axes) {
  std::string svg;
  for (double l = axes.log_min; l <= axes.log_max + 1e-9; l += 0.5) {
    const double y = axes.Y(std::pow(10, l));
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kLeft,
        kWidth - kRight, y, y);
    svg += Text(kLeft - 6, y + 4, "end", Tick(std::pow(10, l)));
  }
  const int ticks = std::min(8, static_cast<int>(axes.x_max));
  for (int i = 0; i <= ticks; ++i) {
    const double x = std::round(axes.x_max * i / std::max(ticks, 1));
    svg += Text(axes.X(x), kHeight - kBottom + 16, "middle", fmt::format("{:g}", x));
  }
  return svg;
}

}  // namespace

std::string Escape(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string ToSvg(const Chart& chart) {
  if (chart.dots.empty() && chart.steps.empty()) return "";
  const Axes axes = Fit(chart.dots, chart.steps);
  std::string svg = fmt::format("<svg viewBox=\"0 0 {:g} {:g}\" role=\"img\" aria-label=\"{}\">\n",
                                kWidth, kHeight, Escape(chart.title));
  svg += Text(kLeft, 18, "start", chart.title);
  svg += Text((kLeft + kWidth - kRight) / 2, kHeight - 8, "middle", chart.x_label);
  svg += fmt::format(
      "<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      (kTop + kHeight - kBottom) / 2, Escape(chart.y_label));
  svg += Grid(axes);
  for (const Point& p : chart.dots) {
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{}</title></circle>\n",
                       axes.X(p.x), axes.Y(p.y), Escape(p.label));
  }
  if (!chart.steps.empty()) {
    std::string path =
        fmt::format("M{:.1f} {:.1f}", axes.X(chart.steps[0].x), axes.Y(chart.steps[0].y));
    for (std::size_t i = 1; i < chart.steps.size(); ++i) {
      path += fmt::format("H{:.1f}V{:.1f}", axes.X(chart.steps[i].x), axes.Y(chart.steps[i].y));
    }
    svg += fmt::format("<path class=\"best\" d=\"{}H{:.1f}\"/>\n", path, axes.X(axes.x_max));
  }
  return svg + "</svg>\n";
}

}  // namespace tw::report
