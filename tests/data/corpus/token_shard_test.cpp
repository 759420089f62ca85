#include "convseq/data/corpus/shard/token_shard.h"

#include <gtest/gtest.h>

#include <cstring>

#include "convseq/base/file/json_file.h"
#include "convseq/base/random.h"
#include "convseq/data/corpus/shard/token_shard_writer.h"
#include "temp_folder.h"

namespace convseq {
namespace {

using testing::message_of;
using testing::TempFolder;

constexpr uint32_t kTokenizer = 1234;

std::vector<int32_t> random_document(Random& random, int32_t pieces) {
  std::vector<int32_t> ids(random.below(3000));
  for (int32_t& id : ids) {
    id = static_cast<int32_t>(random.below(static_cast<uint64_t>(pieces)));
  }
  ids.push_back(Vocabulary::kEos);
  return ids;
}

std::filesystem::path write_shard(const TempFolder& folder,
                                  const std::vector<std::vector<int32_t>>& documents,
                                  int32_t pieces) {
  TokenShardWriter writer(folder / "a.tokens", Vocabulary(pieces), kTokenizer);
  for (const auto& document : documents) writer.add(document);
  writer.commit();
  return folder / "a.tokens";
}

std::string reading(const std::filesystem::path& file) {
  return message_of<Error>([&] { TokenShard(file).verify(); });
}

// The file's head with one field changed and its checksum made right again.
template <class Field>
std::string with_head(std::string file, Field TokenShardHead::*field, Field value) {
  TokenShardHead head;
  std::memcpy(&head, file.data(), sizeof head);
  head.*field = value;
  head.head_crc = head.right_head_crc();
  std::memcpy(file.data(), &head, sizeof head);
  return file;
}

}  // namespace

TEST(TokenShard, GivesBackWhatWasWrittenIn16And32Bits) {
  for (const int32_t pieces : {1000, 65'400, 65'500, 250'000}) {
    TempFolder folder;
    Random random(1);
    std::vector<std::vector<int32_t>> documents;
    std::vector<int32_t> all;
    for (int i = 0; i < 500; ++i) {
      documents.push_back(random_document(random, pieces));
      all.insert(all.end(), documents.back().begin(), documents.back().end());
    }
    TokenShard shard(write_shard(folder, documents, pieces));
    EXPECT_EQ(shard.head().id_bytes, pieces <= 65'400 ? 2u : 4u);
    EXPECT_EQ(shard.head().tokenizer, kTokenizer);
    EXPECT_EQ(shard.documents(), 500);
    ASSERT_EQ(shard.tokens(), std::ssize(all));
    for (int i = 0; i < 200; ++i) {
      const auto begin = static_cast<size_t>(random.below(all.size()));
      std::vector<int32_t> read(random.below(all.size() - begin + 1));
      shard.read(static_cast<int64_t>(begin), read);
      ASSERT_TRUE(std::equal(read.begin(), read.end(), all.begin() + static_cast<long>(begin)));
    }
    uint64_t end = 0;
    for (size_t i = 0; i < documents.size(); ++i) {
      EXPECT_EQ(shard.document_ends()[i], end += documents[i].size());
    }
  }
}

TEST(TokenShard, MayBeEmpty) {
  TempFolder folder;
  TokenShard shard(write_shard(folder, {}, 1000));
  EXPECT_EQ(shard.tokens(), 0);
  EXPECT_EQ(shard.document_ends().size(), 0u);
}

TEST(TokenShard, NoticesEveryChangedByte) {
  TempFolder folder;
  const auto file = write_shard(folder, {{5, 6, 7, 1}, {8, 1}, {9, 10, 1}}, 1000);
  const std::string good = read_text_file(file);
  const size_t ids_end = sizeof(TokenShardHead) + 9 * 2;
  for (size_t i = 0; i < good.size(); ++i) {
    if (i >= ids_end && i % 8 != 0 && i < ids_end + 6) continue;  // padding has no meaning
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    const auto changed = folder.file("bad.tokens", bad);
    EXPECT_EQ(reading(changed).find(changed.string()), 0u) << "byte " << i;
  }
}

TEST(TokenShard, NoticesEveryTruncation) {
  TempFolder folder;
  const std::string good = read_text_file(write_shard(folder, {{5, 6, 7, 1}, {8, 1}}, 1000));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(reading(folder.file("bad.tokens", good.substr(0, size))), "") << size;
  }
  EXPECT_NE(reading(folder.file("bad.tokens", good + "x")), "");
}

TEST(TokenShard, SaysWhatIsWrong) {
  TempFolder folder;
  using Head = TokenShardHead;
  const auto file = write_shard(folder, {{5, 6, 7, 1}, {8, 900, 1}}, 1000);
  const std::string good = read_text_file(file);
  std::string flipped = good;
  flipped[sizeof(Head) + 3] ^= 1;
  constexpr uint64_t kHuge = ~uint64_t{0} / 2 + 1;
  const std::pair<std::string, std::string> cases[] = {
      {"", "too short for a token shard"},
      {std::string(100, 'x'), "not a token shard"},
      {flipped, "wrong checksum of tokens 0 to 6"},
      {with_head(good, &Head::version, 9u), "a token shard of version 9; this program reads"},
      {with_head(good, &Head::id_bytes, 3u), "its ids are neither of 16 nor of 32 bits"},
      {with_head(good, &Head::id_bytes, 4u), "where its head tells of"},
      {with_head(good, &Head::tokens, kHuge), "truncated"},
      {with_head(good, &Head::documents, kHuge), "truncated"},
      {with_head(good, &Head::tokens, uint64_t{4}), "where its head tells of"},
      {with_head(good, &Head::vocabulary, 800u), "holds id 900, outside its vocabulary of 800"},
      {good.substr(0, good.size() - 4), "where its head tells of"},
  };
  for (const auto& [content, expected] : cases) {
    const auto bad = folder.file("bad.tokens", content);
    EXPECT_EQ(reading(bad).find(bad.string() + ": "), 0u) << expected;
    EXPECT_NE(reading(bad).find(expected), std::string::npos) << reading(bad);
  }
  EXPECT_EQ(reading(file), "");
}

TEST(TokenShard, ReadsNothingOfABlockThatIsBroken) {
  TempFolder folder;
  std::vector<int32_t> document(TokenShardHead::kBlockBytes * 2, 7);  // four blocks of 16-bit ids
  document.push_back(Vocabulary::kEos);
  const auto file = write_shard(folder, {document}, 1000);
  std::string bytes = read_text_file(file);
  bytes[sizeof(TokenShardHead) + 2 * TokenShardHead::kBlockBytes + 99] ^= 1;
  TokenShard shard(folder.file("bad.tokens", bytes));
  const auto block_tokens = static_cast<int64_t>(TokenShardHead::kBlockBytes / 2);
  std::vector<int32_t> out(10);
  shard.read(0, out);
  shard.read(2 * block_tokens - 10, out);
  EXPECT_THROW(shard.read(2 * block_tokens - 5, out), Error);
  EXPECT_THROW(shard.read(3 * block_tokens - 1, out), Error);
  shard.read(3 * block_tokens, out);
}

}  // namespace convseq
