#include "cli/picture/svg.h"

#include <fmt/format.h>

#include <cmath>

namespace vdnn::cli {
namespace {

std::string points_text(const std::vector<Svg::Point>& points) {
  std::string text;
  for (const auto& point : points)
    text += fmt::format("{}{:.1f},{:.1f}", text.empty() ? "" : " ", point.x, point.y);
  return text;
}

std::string title(std::string_view tooltip) {
  return tooltip.empty() ? "" : fmt::format("<title>{}</title>", escaped(tooltip));
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

Svg::Svg(double width, double height) : width_(width), height_(height) {}

void Svg::rectangle(double x, double y, double width, double height, std::string_view css_class,
                    std::string_view tooltip) {
  body_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\">{}</rect>\n", x, y,
      width, height, css_class, title(tooltip));
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view css_class) {
  body_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1,
                       y1, x2, y2, css_class);
}

void Svg::text(double x, double y, std::string_view what, std::string_view css_class,
               std::string_view anchor) {
  body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y,
                       css_class, anchor, escaped(what));
}

void Svg::legend(double x, double y, const std::vector<std::pair<int, std::string>>& meanings) {
  for (const auto& [colour, meaning] : meanings) {
    rectangle(x, y, 11, 11, fmt::format("s{}", colour));
    text(x + 16, y + 10, meaning);
    x += 34 + 7.0 * static_cast<double>(meaning.size());
  }
}

void Svg::area(const std::vector<Point>& outline, std::string_view css_class, std::string_view tooltip) {
  body_ += fmt::format("<polygon points=\"{}\" class=\"{}\">{}</polygon>\n", points_text(outline), css_class,
                       title(tooltip));
}

void Svg::polyline(const std::vector<Point>& points, std::string_view css_class) {
  body_ += fmt::format("<polyline points=\"{}\" class=\"p {}\"/>\n", points_text(points), css_class);
}

std::string Svg::document() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\">\n"
      "<style>{2}</style>\n<rect width=\"100%\" height=\"100%\" class=\"b\"/>\n{3}</svg>\n",
      width_, height_, svg_style(), body_);
}

std::string Svg::element() const {
  return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n{}</svg>\n", width_, height_, body_);
}

std::string svg_style() {
  // Colours of Okabe and Ito, told apart by people who are colour-blind.
  return "text{font:12px system-ui,sans-serif}.t{fill:#1a1a1a}.m{fill:#666}.h{fill:#1a1a1a;font-weight:600;"
         "font-size:14px}.b{fill:#fff}.g{stroke:#ddd}.l{stroke:#c00;stroke-dasharray:5 3}.p{fill:none;stroke-"
         "width:2}.s0{fill:#0072b2;stroke:#0072b2}.s1{fill:#e69f00;stroke:#e69f00}.s2{fill:#009e73;stroke:#"
         "009e73}"
         ".s3{fill:#cc79a7;stroke:#cc79a7}.s4{fill:#56b4e9;stroke:#56b4e9}.s5{fill:#d55e00;stroke:#d55e00}"
         ".s6{fill:#f0e442;stroke:#f0e442}.s7{fill:#999;stroke:#999}rect,polygon{stroke-width:0}.p{fill:none}"
         "@media(prefers-color-scheme:dark){.t,.h{fill:#eee}.m{fill:#aaa}.b{fill:#161616}.g{stroke:#3a3a3a}"
         ".l{stroke:#ff6b6b}}";
}

double round_step(double most, int least_parts) {
  if (!(most > 0) || !std::isfinite(most)) return 1;
  const double power = std::pow(10, std::floor(std::log10(most / least_parts)));
  for (const double factor : {10.0, 5.0, 2.5, 2.0}) {
    if (most / (factor * power) >= least_parts) return factor * power;
  }
  return power;
}

}  // namespace vdnn::cli
