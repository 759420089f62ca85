#include "convseq/base/file/output_file.h"

#include <unistd.h>

#include "convseq/base/file/same_file.h"
#include "convseq/base/file/system_error.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

void refuse_inputs(const fs::path& path, const std::vector<fs::path>& inputs) {
  std::error_code error;
  for (const fs::path& input : inputs) {
    const bool is_same = input == "-"
                             ? fs::is_regular_file(path, error) && leads_to(path, STDIN_FILENO)
                             : fs::equivalent(path, input, error) && !error;
    require(!is_same, "{}: is read by this command; write to another file", path.string());
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

// Standard output that cannot be written is reported by main(), with what else is printed there.
[[noreturn]] void fail_to_write(const fs::path& path, const std::FILE* stream) {
  if (stream == stdout) throw std::runtime_error("cannot write to standard output");
  fail_to("write", path);
}

}  // namespace

OutputFile::OutputFile(const fs::path& path, const std::vector<fs::path>& inputs) : path_(path) {
  // Replacing a file that standard output is redirected to would lose what else is printed there.
  if (path == "-" || leads_to(path, STDOUT_FILENO)) {
    stream_ = stdout;
    return;
  }
  if (leads_to(path, STDERR_FILENO)) {
    stream_ = stderr;
    return;
  }
  refuse_inputs(path, inputs);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);  // of what a link leads to
  require(!fs::is_directory(status), "{}: is a folder, not a file", path.string());
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    stream_ = std::fopen(path.c_str(), "wb");
    if (stream_ == nullptr) fail_to("open", path);
    return;
  }
  const fs::path target = target_of(path);
  remove_abandoned(target);
  file_.emplace(target);
}

OutputFile::~OutputFile() {
  const bool ours = stream_ != stdout && stream_ != stderr;
  if (stream_ != nullptr && ours) std::fclose(stream_);
}

void OutputFile::write(std::string_view text) {
  if (file_) return file_->write(text);
  if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size())
    fail_to_write(path_, stream_);
}

void OutputFile::flush() {
  if (stream_ != nullptr && std::fflush(stream_) != 0) fail_to_write(path_, stream_);
}

void OutputFile::commit() {
  if (file_) return file_->commit();
  flush();
}

}  // namespace convseq
