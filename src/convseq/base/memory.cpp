#include "convseq/base/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace convseq {
namespace fs = std::filesystem;
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// "MemAvailable:   123 kB" -> 123; "inactive_file 123" -> 123
std::optional<double> field_of(const fs::path& file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    double value = 0;
    if (words >> name >> value && name == key) return value;
  }
  return std::nullopt;
}

std::optional<double> number_in(const fs::path& file) {  // nothing for "max", or where it is absent
  std::ifstream text(file);
  double value = 0;
  if (text >> value) return value;
  return std::nullopt;
}

// What the files of one control group leave; the cache of files it holds can be taken back.
struct GroupFiles {
  const char *limit, *usage, *cache;
};
constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file"};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", "inactive_file"};

double left_in_group(const fs::path& group, const GroupFiles& files) {
  const auto limit = number_in(group / files.limit);
  const auto usage = number_in(group / files.usage);
  if (!limit || !usage) return kUnlimited;
  return *limit - *usage + field_of(group / "memory.stat", files.cache).value_or(0);
}

// A group is limited by all groups above it too. In a container /proc names a path that the mounted
// tree may not have: the groups that are there count.
double left_in_groups(const fs::path& tree, const std::string& path, const GroupFiles& files) {
  double left = left_in_group(tree, files);
  fs::path group = tree;
  for (const fs::path& part : fs::path(path).relative_path()) {
    group /= part;
    left = std::min(left, left_in_group(group, files));
  }
  return left;
}

double left_in_all_groups(const fs::path& root) {
  double left = kUnlimited;
  std::ifstream lines(root / "proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {  // "4:memory:/user.slice", "0::/user.slice"
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      left = std::min(left, left_in_groups(root / "sys/fs/cgroup", path, kVersion2));
    } else if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      left = std::min(left, left_in_groups(root / "sys/fs/cgroup/memory", path, kVersion1));
    }
  }
  return left;
}

double left_under_limit(int resource, double used_kilobytes) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return kUnlimited;
  if (limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  return static_cast<double>(limit.rlim_cur) - 1024 * used_kilobytes;
}

}  // namespace

double available_memory_bytes(const fs::path& root) {
  const fs::path status = root / "proc/self/status";
  const auto machine = field_of(root / "proc/meminfo", "MemAvailable:");
  const double left =
      std::min({machine ? 1024 * *machine : kUnlimited, left_in_all_groups(root),
                left_under_limit(RLIMIT_AS, field_of(status, "VmSize:").value_or(0)),
                left_under_limit(RLIMIT_DATA, field_of(status, "VmData:").value_or(0))});
  return std::max(left, 0.0);
}

void require_memory(double needed, const std::string& what, double limit_bytes) {
  const double limit = limit_bytes > 0 ? limit_bytes : available_memory_bytes();
  if (needed <= limit) return;
  const std::string there =
      limit_bytes > 0 ? "the limit is " + short_bytes(limit) : short_bytes(limit) + " are free";
  throw NotEnoughMemory(
      fmt::format("{}: needs about {} of memory, and {}; use smaller sizes, or {} to try anyway",
                  what, short_bytes(needed), there,
                  OptionName("max_memory", fmt::format("{:.0f}G", std::ceil(needed / 1e9)))));
}

std::string short_bytes(double bytes) {
  for (const auto& [scale, unit] :
       {std::pair{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}}) {
    if (bytes >= scale) return fmt::format("{:.4g} {}", bytes / scale, unit);
  }
  return fmt::format("{:.0f} B", bytes);
}

}  // namespace convseq
