#include "convseq/base/file/system_error.h"

#include <cstring>

namespace convseq {

Error::Cause cause_of(const std::error_code& code) {
  for (const int failure : {ENOSPC, EDQUOT, EFBIG, EIO, EMFILE, ENFILE, ENOMEM}) {
    if (code == std::error_code(failure, std::generic_category()) ||
        code == std::error_code(failure, std::system_category())) {
      return Error::Cause::Failure;
    }
  }
  return Error::Cause::BadInput;
}

void fail_to(std::string_view action, const std::filesystem::path& path, int error) {
  throw Error(fmt::format("cannot {}: {}", action, std::strerror(error)),
              cause_of({error, std::generic_category()}), path.string());
}

}  // namespace convseq
