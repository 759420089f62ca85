#include "convseq/base/error.h"

#include <gtest/gtest.h>

#include "convseq/base/file/system_error.h"

namespace convseq {
namespace {

Error thrown_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error("nothing was thrown");
}

std::string as_flag(const OptionName& option) {
  return option.value.empty() ? "--" + option.name : "--" + option.name + " " + option.value;
}

}  // namespace

TEST(Error, IsOneLineOfWhereAndWhat) {
  const Error error = Error("is empty").at("column 2").at("data.csv:7").with("remove it");
  EXPECT_EQ(error.where(), "data.csv:7: column 2");
  EXPECT_EQ(error.problem(), "is empty; remove it");
  EXPECT_STREQ(error.what(), "data.csv:7: column 2: is empty; remove it");
  EXPECT_EQ(Error("is empty").where(), "");
  EXPECT_STREQ(Error("is empty").what(), "is empty");
}

TEST(Error, NamesOptionsInTheSpellingOfItsReader) {
  const Error error = thrown_by([] {
    fail("{} is {}; use {}, or name files with {}", OptionName("share"), 2,
         OptionName("held_out", 0.5), OptionName("train"));
  });
  EXPECT_STREQ(error.what(), "share is 2; use held_out=0.5, or name files with train");
  EXPECT_EQ(error.message(as_flag), "--share is 2; use --held_out 0.5, or name files with --train");
  EXPECT_EQ(error.at("task").with("or stop").message(as_flag),
            "task: --share is 2; use --held_out 0.5, or name files with --train; or stop");
}

TEST(Error, LeavesTextThatOnlyLooksLikeAMarkAsItIs) {
  EXPECT_STREQ(Error("a\x01 b").what(), "a\x01 b");
  EXPECT_EQ(Error("\x03\x02\x01").message(as_flag), "\x03\x02\x01");
}

TEST(Error, OfAFullDiskIsAFailureAndOfAMissingFileBadInput) {
  const Error full = thrown_by([] { fail_to("write", "out.txt", ENOSPC); });
  EXPECT_STREQ(full.what(), "out.txt: cannot write: No space left on device");
  EXPECT_EQ(full.cause(), Error::Cause::Failure);
  EXPECT_EQ(full.with("free some").cause(), Error::Cause::Failure);
  EXPECT_EQ(thrown_by([] { fail_to("open", "in.txt", ENOENT); }).cause(), Error::Cause::BadInput);
}

}  // namespace convseq
