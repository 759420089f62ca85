#include "convseq/data/corpus/shard/token_corpus.h"

#include <algorithm>

namespace convseq {

TokenCorpus::TokenCorpus(const std::filesystem::path& folder)
    : manifest_(ShardManifest::load(folder)), begins_{0} {
  require(manifest_.complete, "{}: the shards are not complete; run convseq tokenize again",
          folder.string());
  for (const ShardManifest::Shard& listed : manifest_.shards) {
    const std::filesystem::path file = folder / listed.file;
    const TokenShard& shard = shards_.emplace_back(file);
    require(shard.tokens() == listed.tokens && shard.documents() == listed.documents &&
                shard.head().tokenizer == manifest_.tokenizer,
            "{}: is not the shard that the folder's manifest describes", file.string());
    begins_.push_back(begins_.back() + shard.tokens());
  }
  require(tokens() > 0, "{}: the shards hold no token", folder.string());
}

void TokenCorpus::read(int64_t begin, std::span<int32_t> out) {
  auto shard = static_cast<size_t>(std::upper_bound(begins_.begin(), begins_.end(), begin) -
                                   begins_.begin() - 1);
  while (!out.empty()) {
    const int64_t count = std::min(std::ssize(out), begins_[shard + 1] - begin);
    shards_[shard].read(begin - begins_[shard], out.first(static_cast<size_t>(count)));
    out = out.subspan(static_cast<size_t>(count));
    begin += count;
    ++shard;
  }
}

void TokenCorpus::drop_pages() const {
  for (const TokenShard& shard : shards_) shard.drop_pages();
}

}  // namespace convseq
