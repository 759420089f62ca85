#pragma once

#include <filesystem>

namespace convseq {

// Whether the path names the file that is open as `descriptor`; false if either does not exist.
bool leads_to(const std::filesystem::path& path, int descriptor);

}  // namespace convseq
