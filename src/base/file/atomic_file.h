#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

namespace convseq {

// A file that appears whole or not at all: written beside its place under a temporary name, synced,
// renamed on commit(). Destroyed without commit() it leaves nothing, and the old file untouched.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view text);
  void write(std::span<const std::byte> bytes);
  void write_at(size_t offset, std::span<const std::byte> bytes);  // over what was written before
  void commit();

 private:
  [[noreturn]] void fail_with_errno(const char* doing) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::FILE* file_ = nullptr;
};

void write_file_atomically(const std::filesystem::path& path, std::string_view text);

// The same for a folder: `fill` writes into a temporary one, which then takes the place of `path`
// in one step; the folder that stood there before, if any, is removed afterwards.
void write_folder_atomically(const std::filesystem::path& path,
                             const std::function<void(const std::filesystem::path&)>& fill);

// Whether the name is that of something a process has not finished writing, or replacing.
bool is_unfinished(const std::filesystem::path& path);

// Removes what processes that were killed while they wrote left in `folder`, and brings back what
// one was about to replace. Nobody may be writing there.
void remove_unfinished(const std::filesystem::path& folder);

}  // namespace convseq
