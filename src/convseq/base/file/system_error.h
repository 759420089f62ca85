#pragma once

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "convseq/base/error.h"

namespace convseq {

// A full disk, a broken device or too few resources are a failure of the machine; anything else (no
// such file, no permission) is a path that was given wrongly.
Error::Cause cause_of(const std::error_code& code);

// Throws "PATH: cannot DO: REASON" for a system call that failed; call it before errno changes.
[[noreturn]] void fail_to(std::string_view action, const std::filesystem::path& path,
                          int error = errno);

}  // namespace convseq
