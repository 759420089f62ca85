#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace convseq::testing {

// A folder of its own for one test, gone with it.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "convseq-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path file(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// What a call throws, as text; empty when it throws nothing.
template <class Exception, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace convseq::testing
