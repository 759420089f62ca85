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
  void write_at(size_t offset, std::span<const std::byte> bytes);  // overwrites earlier bytes
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::FILE* file_ = nullptr;
};

void write_file_atomically(const std::filesystem::path& path, std::string_view text);

// The same for a folder: `fill` writes into a temporary one, which then takes the place of `path`
// in one step; the folder that stood there before, if any, is removed afterwards.
void write_folder_atomically(const std::filesystem::path& path,
                             const std::function<void(const std::filesystem::path&)>& fill);

// Whether the name is a temporary one: of a file or folder that a process was writing or replacing.
bool is_unfinished(const std::filesystem::path& path);

// Removes what processes left of `path` that were killed while they wrote it, an hour ago or more:
// a process of another machine that shares the folder may be writing now.
void remove_abandoned(const std::filesystem::path& path);

// Removes the temporary files that killed processes left in `folder`, and restores what one of them
// was about to replace. No process may be writing there.
void remove_unfinished(const std::filesystem::path& folder);

}  // namespace convseq
