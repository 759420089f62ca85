#pragma once

#include <filesystem>

namespace convseq {

// Whether the path leads to the file that is open as `descriptor`; false where there is none.
bool leads_to(const std::filesystem::path& path, int descriptor);

}  // namespace convseq
