#include "base/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

void refuse_inputs(const fs::path& path, const std::vector<fs::path>& inputs) {
  std::error_code error;
  for (const fs::path& input : inputs) {
    require(!fs::equivalent(path, input, error) || error,
            "{}: is read by this command; write to another file", path.string());
  }
}

// Where the link, or chain of links, leads; the file there need not exist.
fs::path target_of(fs::path path) {
  std::error_code error;
  for (int links = 0; fs::is_symlink(path, error); ++links) {
    require(links < 40, "{}: too many symbolic links", path.string());
    const fs::path next = fs::read_symlink(path, error);
    require(!error, "{}: cannot follow the link: {}", path.string(), error.message());
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

}  // namespace

OutputFile::OutputFile(const fs::path& path, const std::vector<fs::path>& inputs) : path_(path) {
  if (path == "-") {
    stream_ = stdout;
    return;
  }
  refuse_inputs(path, inputs);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);  // of what a link leads to
  require(!fs::is_directory(status), "{}: is a folder, not a file", path.string());
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    stream_ = std::fopen(path.c_str(), "wb");
    require(stream_ != nullptr, "{}: cannot open: {}", path.string(), std::strerror(errno));
    return;
  }
  file_.emplace(target_of(path));
}

OutputFile::~OutputFile() {
  if (stream_ != nullptr && stream_ != stdout) std::fclose(stream_);
}

void OutputFile::write(std::string_view text) {
  if (file_) return file_->write(text);
  require(std::fwrite(text.data(), 1, text.size(), stream_) == text.size(), "{}: cannot write: {}",
          path_ == "-" ? "standard output" : path_.string(), std::strerror(errno));
}

void OutputFile::commit() {
  if (file_) return file_->commit();
  require(std::fflush(stream_) == 0, "{}: cannot write: {}",
          path_ == "-" ? "standard output" : path_.string(), std::strerror(errno));
}

}  // namespace convseq
