#pragma once

#include <string>
#include <utility>
#include <vector>

namespace convseq::bench {

struct Series {
  std::string title;
  int colour = 1;  // the same for series that belong together
  bool dashed = false;
  std::vector<std::pair<double, double>> points;
};

// Lines over a logarithmic x axis.
struct Plot {
  std::string x_label;
  std::string y_label;
  bool log_y = true;
  std::vector<Series> series;
};

// gnuplot draws the plots. Call this before a long measurement, not after it.
void require_gnuplot(const std::string& flag);
std::string draw_svg(const Plot& plot);  // the text of an SVG file

}  // namespace convseq::bench
