#include "convseq/bench/plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "convseq/base/error.h"

namespace convseq::bench {
namespace {

std::string quoted(const std::string& text) {  // as gnuplot reads it
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

std::string data_block(size_t number, const Series& series) {
  std::string text = fmt::format("$data{} << END\n", number);
  for (const auto& [x, y] : series.points) text += fmt::format("{} {}\n", x, y);
  return text + "END\n";
}

std::string script_for(const Plot& plot) {
  std::string script;
  std::vector<std::string> lines;
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    script += data_block(i, series);
    lines.push_back(
        fmt::format("$data{} with linespoints linetype {} dashtype {} linewidth 1.5 title {}", i,
                    series.colour, series.dashed ? 2 : 1, quoted(series.title)));
  }
  script += "set terminal svg size 800,480 background '#ffffff' font 'sans-serif,13' noenhanced\n";
  script +=
      fmt::format("set xlabel {}\nset ylabel {}\n", quoted(plot.x_label), quoted(plot.y_label));
  script += "set logscale x 2\nset grid linecolor '#dddddd'\nset key outside right\n";
  if (plot.log_y) script += "set logscale y\n";
  return script + fmt::format("plot {}\n", fmt::join(lines, ", "));
}

bool has_points(const Plot& plot) {
  for (const Series& series : plot.series) {
    if (!series.points.empty()) return true;
  }
  return false;
}

}  // namespace

void require_gnuplot(const std::string& flag) {
  require(std::system("command -v gnuplot > /dev/null 2>&1") == 0,
          "{}: gnuplot is not installed; install it (Debian and Ubuntu: apt-get install "
          "gnuplot-nox), or omit {}",
          flag, flag);
}

std::string draw_svg(const Plot& plot) {
  require(has_points(plot), "plot of {}: nothing to draw", plot.y_label);
  // gnuplot reads the script from a file, so that its standard output can be read here.
  std::string script = (std::filesystem::temp_directory_path() / "convseq-plot-XXXXXX").string();
  const int file = ::mkstemp(script.data());
  require(file >= 0, "{}: cannot create: {}", script, std::strerror(errno));
  const std::string text = script_for(plot);
  const bool written = ::write(file, text.data(), text.size()) == std::ssize(text);
  ::close(file);
  std::string svg;
  std::FILE* gnuplot =
      written ? ::popen(("gnuplot '" + script + "' 2> /dev/null").c_str(), "r") : nullptr;
  if (gnuplot != nullptr) {
    char buffer[4096];
    size_t got = 0;
    while ((got = std::fread(buffer, 1, sizeof buffer, gnuplot)) > 0) svg.append(buffer, got);
  }
  const bool drawn = gnuplot != nullptr && ::pclose(gnuplot) == 0;
  std::filesystem::remove(script);
  require(drawn, "plot of {}: gnuplot cannot draw it", plot.y_label);
  return svg;
}

}  // namespace convseq::bench
