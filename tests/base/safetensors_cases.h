#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "convseq/base/random.h"
#include "convseq/base/safetensors/safetensors.h"

// Files for the tests of the safetensors reader, as the bytes that they hold.
namespace convseq::testing {

inline std::string length_prefix(uint64_t length) {
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes;
}

inline uint64_t header_length(const std::string& file) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  return length;
}

inline std::string file_of(const std::string& header, const std::string& buffer = "") {
  return length_prefix(header.size()) + header + buffer;
}

inline std::span<const std::byte> bytes_of(const std::string& file) {
  return std::as_bytes(std::span(file));
}

inline std::vector<std::string> valid_files() {
  const std::string deep = std::string(125, '[') + std::string(125, ']');
  return {
      file_of("{}"),
      file_of("{}\r \t\n"),
      file_of(R"({"__metadata__":{}})"),
      file_of(R"({"__metadata__":null})"),
      file_of(R"({"__metadata__":{"format":"pt","":"\u00e9\n\ud83d\ude00"}})"),
      file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "12"),
      file_of(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", "1234"),
      file_of(R"({"":{"dtype":"F64","shape":[3,0],"data_offsets":[0,0]}} )"),
      file_of(R"({"b":{"dtype":"I16","shape":[1,2],"data_offsets":[1,5]},)"
              R"("a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},)"
              R"("empty":{"dtype":"BF16","shape":[0],"data_offsets":[5,5]},)"
              R"("__metadata__":{"k":"v"}})",
              "12345"),
      file_of(R"({"a":{"note":{"x":[1.5,null,true,"s",-3]},"dtype":"U8","more":1e3,)"
              R"("shape":[1],"data_offsets":[0,1]}})",
              "1"),
      file_of(R"({"a":{"note":)" + deep + R"(,"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
              "1"),
  };
}

struct RefusedFile {
  std::string bytes;
  std::string error;  // what follows the name of the file
};

// One row for each check that the reference makes.
inline std::vector<RefusedFile> files_the_reference_refuses() {
  const std::string types =
      "BOOL, U8, I8, F8_E5M2, F8_E4M3, I16, U16, F16, BF16, I32, U32, F32, F64, I64, U64";
  const std::string sizes = "at most 64 whole numbers from 0 to 9223372036854775807";
  const auto entry = [](const std::string& fields, const std::string& buffer = "") {
    return file_of(R"({"a":{)" + fields + "}}", buffer);
  };
  const auto shape = [&](const std::string& list) {
    return entry(R"("dtype":"F32","data_offsets":[0,4],"shape":)" + list, "1234");
  };
  const auto offsets = [&](const std::string& list) {
    return entry(R"("dtype":"F32","shape":[1],"data_offsets":)" + list, "1234");
  };
  const auto dtype = [&](const std::string& name) {
    return entry(R"("shape":[1],"data_offsets":[0,4],"dtype":)" + name, "1234");
  };
  const auto pair = [&](const std::string& first, const std::string& second) {
    return file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + first +
                       R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}",
                   "1234");
  };
  return {
      // The frame: length, header, buffer.
      {"", "0 bytes long; a safetensors file has at least 8"},
      {"1234567", "7 bytes long; a safetensors file has at least 8"},
      {length_prefix(1), "header of 1 bytes, of which the file has 0"},
      {length_prefix(3) + "{}", "header of 3 bytes, of which the file has 2"},
      {length_prefix(100'000'001) + "{}", "header of 100000001 bytes; allowed: at most 100000000"},
      {length_prefix(uint64_t{1} << 63) + "{}",
       "header of 9223372036854775808 bytes; allowed: at most 100000000"},
      {length_prefix(~uint64_t{0}) + "{}",
       "header of 18446744073709551615 bytes; allowed: at most 100000000"},
      {file_of(""), "header does not begin with {"},
      {file_of("[]"), "header does not begin with {"},
      {file_of("\xEF\xBB\xBF{}"), "header does not begin with {"},
      {file_of("{}", "1"), "its tensors take 0 bytes; 1 bytes follow the header"},

      // The JSON.
      {file_of("{"),
       "header is not JSON: parse error at line 1, column 2: syntax error while "
       "parsing object key - unexpected end of input; expected string literal"},
      {file_of("{}{}"),
       "header is not JSON: parse error at line 1, column 3: syntax error while "
       "parsing value - unexpected '{'; expected end of input"},
      {file_of(std::string("{}\0garbage", 10)), "header holds a zero byte"},
      {file_of("{\"\xFF\":1}"),
       "header is not JSON: parse error at line 1, column 3: syntax error while parsing object "
       "key - invalid string: ill-formed UTF-8 byte"},
      {file_of(R"({"\ud800":1})"),
       "header is not JSON: parse error at line 1, column 9: syntax error while parsing object "
       "key - invalid string: surrogate U+D800..U+DBFF must be followed by U+DC00..U+DFFF"},
      {file_of(R"({"a":{"note":)" + std::string(126, '[')), "header is nested too deep"},
      {file_of(R"({"a":{"note":)" + std::string(1'000'000, '[')), "header is nested too deep"},
      {file_of(R"({"a":)" + std::string(1'000'000, '[')),
       R"(tensor "a" is a list; allowed: an object with dtype, shape, data_offsets)"},
      {entry(R"("note":1e999)"), "header is not JSON: number overflow parsing '1e999'"},

      // The entries.
      {file_of(R"({"a":3})"),
       R"(tensor "a" is 3; allowed: an object with dtype, shape, data_offsets)"},
      {file_of(R"({"a":null})"),
       R"(tensor "a" is null; allowed: an object with dtype, shape, data_offsets)"},
      {file_of(R"({"a":{}})"), R"(tensor "a": dtype is missing)"},
      {entry(R"("dtype":"F32")"), R"(tensor "a": shape is missing)"},
      {entry(R"("dtype":"F32","shape":[1])"), R"(tensor "a": data_offsets is missing)"},
      {entry(R"("dtype":"F32","dtype":"F32")"), R"(tensor "a": dtype is given twice)"},
      {entry(R"("shape":[],"shape":[])"), R"(tensor "a": shape is given twice)"},
      {entry(R"("data_offsets":[0,4],"data_offsets":[0,4])"),
       R"(tensor "a": data_offsets is given twice)"},
      {dtype("\"f32\""), R"(tensor "a": dtype is "f32"; allowed: )" + types},
      {dtype("\"" + std::string(500, 'F') + "\""),
       R"(tensor "a": dtype is ")" + std::string(79, 'F') + "…; allowed: " + types},
      {dtype("32"), R"(tensor "a": dtype is 32; allowed: )" + types},
      {dtype("[]"), R"(tensor "a": dtype is a list; allowed: )" + types},
      {shape("null"), R"(tensor "a": shape is null; allowed: a list of whole numbers)"},
      {shape("1"), R"(tensor "a": shape is 1; allowed: a list of whole numbers)"},
      {shape("{}"), R"(tensor "a": shape is an object; allowed: a list of whole numbers)"},
      {shape("[-1]"), R"(tensor "a": shape holds -1; allowed: )" + sizes},
      {shape("[-0]"), R"(tensor "a": shape holds -0; allowed: )" + sizes},
      {shape("[1.0]"), R"(tensor "a": shape holds 1.0; allowed: )" + sizes},
      {shape("[1e0]"), R"(tensor "a": shape holds 1e0; allowed: )" + sizes},
      {shape("[\"1\"]"), R"(tensor "a": shape holds "1"; allowed: )" + sizes},
      {shape("[true]"), R"(tensor "a": shape holds true; allowed: )" + sizes},
      {shape("[[1]]"), R"(tensor "a": shape holds a list; allowed: )" + sizes},
      {shape("[18446744073709551616]"),
       R"(tensor "a": shape holds 18446744073709551616; allowed: )" + sizes},
      {offsets("4"), R"(tensor "a": data_offsets is 4; allowed: a list of whole numbers)"},
      {offsets("[]"),
       R"(tensor "a": data_offsets holds less than two numbers; allowed: two whole numbers, )"
       "begin and end"},
      {offsets("[0]"),
       R"(tensor "a": data_offsets holds less than two numbers; allowed: two whole numbers, )"
       "begin and end"},
      {offsets("[0,4,4]"),
       R"(tensor "a": data_offsets holds a third number; allowed: two whole numbers, begin and end)"},
      {offsets("[-4,0]"),
       R"(tensor "a": data_offsets holds -4; allowed: two whole numbers, begin and end)"},
      {offsets("[0,4.0]"),
       R"(tensor "a": data_offsets holds 4.0; allowed: two whole numbers, begin and end)"},
      {file_of("{\"\\n\\u0007" + std::string(200, 'n') + "\":0}"),
       R"(tensor "\n\u0007)" + std::string(71, 'n') +
           "… is 0; allowed: an object with dtype, shape, data_offsets"},

      // The metadata.
      {file_of(R"({"__metadata__":"pt"})"),
       R"(__metadata__ is "pt"; allowed: an object of strings)"},
      {file_of(R"({"__metadata__":{"k":1}})"), R"(__metadata__: "k" is 1; allowed: a string)"},
      {file_of(R"({"__metadata__":{"k":null}})"),
       R"(__metadata__: "k" is null; allowed: a string)"},
      {file_of(R"({"__metadata__":{"k":{}}})"),
       R"(__metadata__: "k" is an object; allowed: a string)"},
      {file_of(R"({"__metadata__":{},"__metadata__":{}})"), "__metadata__ is given twice"},

      // Entries against the buffer.
      {shape("[2]"), R"(tensor "a": data_offsets [0, 4] span 4 bytes; F32 [2] takes 8)"},
      {shape("[0]"), R"(tensor "a": data_offsets [0, 4] span 4 bytes; F32 [0] takes 0)"},
      {shape("[4294967296,4294967296]"),
       R"(tensor "a": F32 [4294967296, 4294967296] takes more bytes than an int64 counts)"},
      {shape("[9223372036854775807,9223372036854775807,0]"),
       R"(tensor "a": F32 [9223372036854775807, 9223372036854775807, 0] takes more bytes than )"
       "an int64 counts"},
      {entry(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])"),
       R"(tensor "a": U8 [4294967296, 4294967296] takes more bytes than an int64 counts)"},
      {shape("[4611686018427387905]"),
       R"(tensor "a": F32 [4611686018427387905] takes more bytes than an int64 counts)"},
      {offsets("[4,0]"), R"(tensor "a": data_offsets [4, 0] end before they begin)"},
      {offsets("[0,3]"), R"(tensor "a": data_offsets [0, 3] span 3 bytes; F32 [1] takes 4)"},
      {offsets("[18446744073709551612,18446744073709551615]"),
       R"(tensor "a": data_offsets [18446744073709551612, 18446744073709551615] span 3 bytes; )"
       "F32 [1] takes 4"},
      {offsets("[4,8]"),
       R"(tensor "a": data_offsets [4, 8] leave a hole behind byte 0, where the tensor before it )"
       "ends"},
      {pair("[0,2]", "[1,3]"),
       R"(tensor "b": data_offsets [1, 3] overlap byte 2, where the tensor before it ends)"},
      {pair("[0,2]", "[0,2]"),
       R"(tensor "b": data_offsets [0, 2] overlap byte 2, where the tensor before it ends)"},
      {pair("[2,4]", "[3,5]"),
       R"(tensor "a": data_offsets [2, 4] leave a hole behind byte 0, where the tensor before it )"
       "ends"},
      {pair("[0,2]", "[2,4]") + "5", "its tensors take 4 bytes; 5 bytes follow the header"},
  };
}

// What the reference takes and we do not: files that do not say what they mean, or that libtorch
// could not hold.
inline std::vector<RefusedFile> files_that_we_alone_refuse() {
  const std::string u8 = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  const std::string sizes = "at most 64 whole numbers from 0 to 9223372036854775807";
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  return {
      {file_of(" {}"), "header does not begin with {"},
      {file_of(R"({"a":)" + u8 + R"(,"a":)" + u8 + "}", "1"), R"(tensor "a" is given twice)"},
      {file_of(R"({"__metadata__":{"k":"1","k":"2"}})"), R"(__metadata__: "k" is given twice)"},
      {file_of(R"({"a":["U8",[1],[0,1]]})", "1"),
       R"(tensor "a" is a list; allowed: an object with dtype, shape, data_offsets)"},
      {file_of(R"({"a":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}})", "12345678"),
       R"(tensor "a": dtype is "C64"; allowed: BOOL, U8, I8, F8_E5M2, F8_E4M3, I16, U16, F16, )"
       "BF16, I32, U32, F32, F64, I64, U64"},
      {file_of(R"({"a":{"dtype":"U8","shape":[0,9223372036854775808],"data_offsets":[0,0]}})"),
       R"(tensor "a": shape holds 9223372036854775808; allowed: )" + sizes},
      {file_of(R"({"a":{"dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})"),
       R"(tensor "a": U8 [0, 4294967296, 4294967296] takes more bytes than an int64 counts)"},
      {file_of(R"({"a":{"dtype":"U8","shape":[)" + ones + R"(],"data_offsets":[0,1]}})", "1"),
       R"(tensor "a": shape holds over 64 numbers; allowed: )" + sizes},
  };
}

// The file with one to three changes behind its length, which mostly is made right again: few files
// would get past a wrong one.
inline std::string mutated(std::string file, Random& random) {
  using namespace std::string_literals;
  const std::string alphabet = "{}[]:,\"\\0189-+.eE \0\xFF"s;
  const size_t buffer = file.size() - 8 - header_length(file);
  for (uint64_t changes = 1 + random.below(3); changes > 0; --changes) {
    const size_t at = 8 + random.below(file.size() - 7);
    const std::string drawn(1, alphabet[random.below(alphabet.size())]);
    const std::string nearby = file.substr(at, 1 + random.below(60));
    const std::string change[] = {"", drawn, drawn + file.substr(at, 1), nearby + nearby};
    const uint64_t kind = random.below(4);
    file.replace(at, kind == 3 ? nearby.size() : 1, change[kind]);
  }
  const size_t header = file.size() - std::min(file.size(), 8 + buffer);
  return file.replace(0, 8, length_prefix(random.below(8) > 0 ? header : random.bits64()));
}

inline void expect_equal(const std::map<std::string, TensorView>& left,
                         const std::map<std::string, TensorView>& right) {
  ASSERT_EQ(left.size(), right.size());
  for (const auto& [name, view] : left) {
    ASSERT_TRUE(right.contains(name)) << name;
    const TensorView& other = right.at(name);
    EXPECT_EQ(view.type, other.type) << name;
    EXPECT_EQ(view.shape, other.shape) << name;
    EXPECT_TRUE(
        std::equal(view.bytes.begin(), view.bytes.end(), other.bytes.begin(), other.bytes.end()))
        << name;
  }
}

}  // namespace convseq::testing
