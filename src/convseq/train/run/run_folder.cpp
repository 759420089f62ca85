#include "convseq/train/run/run_folder.h"

#include <algorithm>

#include "convseq/base/counted.h"
#include "convseq/base/error.h"
#include "convseq/base/memory.h"

namespace convseq {

void RunFolder::check_room(int64_t parameters, int64_t keep, int64_t kept) const {
  // A checkpoint holds the weights and AdamW's two running averages in fp32.
  const int64_t more = keep + 1 - std::min(kept, keep);
  const double needed = static_cast<double>(parameters) * 4 * 3 * static_cast<double>(more);
  std::error_code error;
  const auto free = static_cast<double>(std::filesystem::space(path(), error).available);
  require(error || free >= needed, "{}: {} of this model need {}, and {} are free; keep fewer",
          path().string(), counted(more, "more checkpoint"), short_bytes(needed),
          short_bytes(free));
}

}  // namespace convseq
