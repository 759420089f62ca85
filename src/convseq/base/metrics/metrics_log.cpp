#include "convseq/base/metrics/metrics_log.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

// A whole line that is no later than `step`.
bool belongs(std::string_view line, int64_t step) {
  const Json value = Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return false;
  const auto found = value.find("step");
  return found != value.end() && found->is_number_integer() && found->get<int64_t>() <= step;
}

// Steps ascend within a file, so the lines to keep come before all others.
uint64_t bytes_up_to(const fs::path& path, int64_t step) {
  if (!fs::exists(path)) return 0;
  const std::string file = read_text_file(path);
  const std::string_view text = file;
  size_t end = 0;
  for (size_t next = 0; (next = text.find('\n', end)) != text.npos; end = next + 1) {
    if (!belongs(text.substr(end, next - end), step)) break;
  }
  return end;
}

}  // namespace

MetricsLog::MetricsLog(const fs::path& path, std::optional<int64_t> resumed_step)
    : file_(path, resumed_step ? bytes_up_to(path, *resumed_step) : 0) {}

void MetricsLog::write(int64_t step, const Json& values) {
  Json line = {{"step", step}};
  for (const auto& [key, value] : values.items()) line[key] = value;
  file_.append(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace convseq
