#pragma once

#include "convseq/data/corpus/segment_groups.h"
#include "convseq/data/corpus/segmenter.h"
#include "convseq/data/corpus/shard/token_corpus.h"

namespace convseq {

struct ShardGroupsOptions {
  int64_t segment_length = 568;
  int64_t block_segments = 64;  // contiguous on disk: 73 KB at 16 bits
  int64_t group_blocks = 64;    // from all over the corpus, shuffled together
  uint64_t seed = 0;
};

// Token shards as groups. Each epoch shuffles the blocks of the whole corpus, and a group is the
// next `group_blocks` of them. Only the pages of one group are in memory.
class ShardGroups : public SegmentGroups {
 public:
  ShardGroups(TokenCorpus corpus, const ShardGroupsOptions& options);

  int64_t open(const GroupPlace& place) override;
  GroupPlace following() const override;
  void read(int64_t segment, std::vector<int32_t>& out) override;
  uint32_t fingerprint() const override;

 private:
  void order_blocks(int64_t epoch);

  TokenCorpus corpus_;
  ShardGroupsOptions options_;
  Segmenter segmenter_;
  GroupPlace place_{.epoch = -1};
  std::vector<int64_t> blocks_;    // of the corpus, in the epoch's order
  std::vector<int64_t> segments_;  // of the current group
};

}  // namespace convseq
