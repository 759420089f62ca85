#include "convseq/base/file/sha256.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace convseq {
namespace {

// The examples of FIPS 180-4.
TEST(Sha256, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnThePieces) {
  const std::string text(200, 'x');
  Sha256 hash;
  for (size_t i = 0; i < text.size(); i += 7) hash.add(std::string_view(text).substr(i, 7));
  EXPECT_EQ(hash.hex(), sha256_of(text));
  const testing::TempFolder folder;
  EXPECT_EQ(sha256_of_file(folder.file("x", text)), hash.hex());
  EXPECT_EQ(sha256_of_file(folder.file("empty", "")), sha256_of(""));
}

}  // namespace
}  // namespace convseq
