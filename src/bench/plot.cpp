#include "bench/plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>

#include "base/error.h"

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

std::string script_for(const std::filesystem::path& path, const Plot& plot) {
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
  script += fmt::format("set output {}\n", quoted(path.string()));
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
          "{}: gnuplot is not installed; install it, or leave {} out", flag, flag);
}

void write_svg(const std::filesystem::path& path, const Plot& plot) {
  require(has_points(plot), "{}: nothing to draw", path.string());
  std::FILE* gnuplot = ::popen("gnuplot > /dev/null 2>&1", "w");
  require(gnuplot != nullptr, "{}: gnuplot does not start", path.string());
  const std::string script = script_for(path, plot);
  std::fwrite(script.data(), 1, script.size(), gnuplot);
  require(::pclose(gnuplot) == 0, "{}: gnuplot cannot write it", path.string());
}

}  // namespace convseq::bench
