#pragma once

#include <optional>
#include <string>
#include <vector>

#include "convseq/eval/bootstrap.h"

namespace convseq::report {

// Charts as SVG texts that show in light and dark, inside a page or as files of their own. Drawn
// here, not by a plotting program, so that the same scores give the same bytes everywhere.

// Values with their intervals as bars and their seeds as points, in labelled rows.
struct IntervalChart {
  struct Mark {
    size_t series = 0;
    double value = 0;
    Interval interval = {};
    std::vector<double> seeds = {};
  };
  struct Row {
    std::string label;
    std::vector<Mark> marks = {};
  };
  std::string x_label = {};
  std::vector<std::string> series = {};
  std::vector<Row> rows = {};
  bool zero_line = false;
};

// Points over an axis, joined by lines where a series has an order.
struct LineChart {
  struct Point {
    double x = 0;
    double y = 0;
    std::optional<Interval> interval = {};
    std::vector<double> seeds = {};
  };
  struct Series {
    std::string title;
    std::vector<Point> points = {};
  };
  std::string x_label = {}, y_label = {};
  std::vector<Series> series = {};
  bool log_x = false;
  bool log_y = false;
  bool lines = true;
};

std::string draw(const IntervalChart& chart);
std::string draw(const LineChart& chart);

}  // namespace convseq::report
