#pragma once

#include "convseq/data/corpus/segment_groups.h"
#include "convseq/data/corpus/segmenter.h"
#include "convseq/data/corpus/shard/tokenized_documents.h"

namespace convseq {

struct TextGroupsOptions {
  int64_t segment_length = 568;
  int64_t group_bytes = 4 << 20;  // of text; about a million tokens
  size_t threads = 1;
  uint64_t seed = 0;
  BadLines* bad_lines = nullptr;  // null: a bad line is an Error
};

// Raw text as groups, tokenized as it is read. Each epoch shuffles the files, and a group is the
// next `group_bytes` of documents. Each process reads and tokenizes the whole corpus; with many
// processes, make token shards once (`convseq tokenize`).
class TextGroups : public SegmentGroups {
 public:
  TextGroups(std::vector<std::filesystem::path> files, Tokenizer tokenizer,
             const TextGroupsOptions& options);

  int64_t open(const GroupPlace& place) override;
  GroupPlace following() const override { return following_; }
  void read(int64_t segment, std::vector<int32_t>& out) override;
  uint32_t fingerprint() const override;

 private:
  void start_reading(const GroupPlace& place);

  std::vector<std::filesystem::path> files_;
  Tokenizer tokenizer_;
  TextGroupsOptions options_;
  Segmenter segmenter_;
  std::unique_ptr<TokenizedDocuments> documents_;  // positioned at following_
  std::optional<TokenizedChunk> ahead_;            // its next chunk
  GroupPlace following_{.epoch = -1};
  std::vector<int32_t> ids_;  // of the current group
};

}  // namespace convseq
