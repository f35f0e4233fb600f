#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vdnn::cli {

// Text made safe inside XML and HTML.
std::string escaped(std::string_view text);

// An SVG document that is built up; light or dark as the reader's system is. Lengths in pixels. Classes: s0
// to s7 fill with a series' colour, t is text, m is muted text, g a grid line, l a limit line.
class Svg {
 public:
  Svg(double width, double height);

  void rectangle(double x, double y, double width, double height, std::string_view css_class,
                 std::string_view tooltip = {});
  void line(double x1, double y1, double x2, double y2, std::string_view css_class);
  // anchor: start, middle or end.
  void text(double x, double y, std::string_view what, std::string_view css_class = "t",
            std::string_view anchor = "start");
  // Squares of colours (of the series s0, s1, ...) and what they mean, from left to right.
  void legend(double x, double y, const std::vector<std::pair<int, std::string>>& meanings);
  struct Point {
    double x = 0;
    double y = 0;
  };
  void area(const std::vector<Point>& outline, std::string_view css_class, std::string_view tooltip = {});
  void polyline(const std::vector<Point>& points, std::string_view css_class);

  // A document of its own; or, inside a page that has svg_style() once, only the element.
  [[nodiscard]] std::string document() const;
  [[nodiscard]] std::string element() const;

 private:
  double width_;
  double height_;
  std::string body_;
};

std::string svg_style();

// The largest of 1, 2, 2.5 and 5 times a power of ten that cuts `most` into at least `least_parts`.
double round_step(double most, int least_parts);

inline constexpr int kSeriesColours = 8;

}  // namespace vdnn::cli
