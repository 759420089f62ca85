#pragma once

#include <filesystem>

#include "convseq/base/enum_names.h"

namespace convseq {

// The folders that commands write, and the files by which each is known.
enum class FolderKind { Model, Run, Tokenizer, Shards, Corpus, Tasks };
template <>
inline constexpr auto kEnumNames<FolderKind> = std::to_array<EnumName<FolderKind>>({
    {FolderKind::Model, "model folder"},
    {FolderKind::Run, "training run"},
    {FolderKind::Tokenizer, "tokenizer"},
    {FolderKind::Shards, "folder of token shards"},
    {FolderKind::Corpus, "synthetic corpus"},
    {FolderKind::Tasks, "folder of synthetic tasks"},
});

struct OutputFolderOptions {
  // Only training runs and token shards are continued in place; other folders are replaced if
  // `force` is set.
  bool force = false;
  std::filesystem::path input = {};  // a folder that the command reads; never overwritten
};

// What an output folder may be, for all commands:
//   new, or empty;
//   a training run or token shards that the same kind of command began: it goes on there, and
//     leaves files that are not its own alone;
//   with `force` a folder of the same kind that holds nothing but what convseq writes there.
// Anything else is refused by an Error that names an entry of the folder: files of other origin are
// never replaced or removed. A folder that is `input`, holds it, or lies in it is refused too.
void check_output_folder(const std::filesystem::path& folder, FolderKind kind,
                         const OutputFolderOptions& options = {});

}  // namespace convseq
