#include "data/synth/new_folder.h"

#include "base/atomic_file.h"
#include "base/error.h"

namespace convseq::synth {
namespace fs = std::filesystem;

void write_new_folder(const fs::path& path, const std::function<void(const fs::path&)>& fill) {
  std::error_code error;
  require(!fs::exists(path, error) || fs::is_empty(path, error),
          "{}: is there already; remove it or name another folder", path.string());
  write_folder_atomically(path, fill);
}

}  // namespace convseq::synth
