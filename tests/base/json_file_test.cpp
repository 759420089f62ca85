#include "convseq/base/file/json_file.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace convseq {

enum class Fruit { Apple, Pear };
template <>
inline constexpr auto kEnumNames<Fruit> = std::to_array<EnumName<Fruit>>({{Fruit::Apple, "apple"},
                                                                          {Fruit::Pear, "pear"}});

using testing::message_of;
using testing::TempFolder;

namespace {
JsonObject object(const std::string& text) { return {parse_json(text, "x.json"), "x.json"}; }
}  // namespace

TEST(JsonObject, ReadsEveryKindOfValue) {
  const JsonObject json =
      object(R"({"i": 3, "d": 0.5, "b": true, "s": "t", "l": [1, 2], "f": "pear"})");
  EXPECT_EQ(json.get<int64_t>("i"), 3);
  EXPECT_EQ(json.get<double>("d"), 0.5);
  EXPECT_EQ(json.get<double>("i"), 3.0);
  EXPECT_TRUE(json.get<bool>("b"));
  EXPECT_EQ(json.get<std::string>("s"), "t");
  EXPECT_EQ(json.get<std::vector<int64_t>>("l"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(json.get<Fruit>("f"), Fruit::Pear);
  EXPECT_EQ(json.get_or<int64_t>("none", 9), 9);
}

TEST(JsonObject, ErrorsNameFileKeyValueAndWhatIsAllowed) {
  const auto message = [](const std::string& text, auto read) {
    return message_of<Error>([&] { read(object(text)); });
  };
  EXPECT_EQ(message("{}", [](auto j) { j.template get<bool>("b"); }), "x.json: b is missing");
  EXPECT_EQ(message(R"({"n": "3"})", [](auto j) { j.template get<int64_t>("n"); }),
            R"(x.json: n is "3"; allowed: a whole number)");
  EXPECT_EQ(message(R"({"n": 1.5})", [](auto j) { j.template get<int64_t>("n"); }),
            "x.json: n is 1.5; allowed: a whole number");
  EXPECT_EQ(message(R"({"n": 18446744073709551615})", [](auto j) { j.template get<int64_t>("n"); }),
            "x.json: n is 18446744073709551615; allowed: a whole number");
  EXPECT_EQ(message(R"({"n": -1})", [](auto j) { j.template get<uint32_t>("n"); }),
            "x.json: n is -1; allowed: 0 to 4294967295");
  EXPECT_EQ(message(R"({"n": 3000000000})", [](auto j) { j.template get<int32_t>("n"); }),
            "x.json: n is 3000000000; allowed: -2147483648 to 2147483647");
  EXPECT_EQ(message(R"({"f": "plum"})", [](auto j) { j.template get<Fruit>("f"); }),
            R"(x.json: f is "plum"; allowed: apple, pear)");
  EXPECT_EQ(message(R"({"dd": 1})",
                    [](auto j) {
                      j.allow_only({"d", "e"});
                    }),
            "x.json: dd is no known key; allowed: d, e");
  EXPECT_EQ(message("[1]", [](auto) {}), "x.json: holds no JSON object");
  EXPECT_EQ(message(R"({"a": 1, "a": 2})", [](auto) {}), "x.json: a is given twice");
}

TEST(JsonFile, ErrorsOfSyntaxNameTheLine) {
  TempFolder folder;
  const auto path = folder.file("bad.json", "{\n  \"a\": 1,\n}");
  const std::string message = message_of<Error>([&] { read_json_file(path); });
  EXPECT_EQ(message.find(path.string() + ": not JSON: parse error at line 3"), 0u) << message;
  EXPECT_EQ(message.find('\n'), message.npos);
}

TEST(JsonFile, AFailingReadIsNoShorterText) {  // address 0 is not mapped
  EXPECT_EQ(message_of<Error>([] { read_text_file("/proc/self/mem"); }),
            "/proc/self/mem: cannot read: Input/output error");
}

TEST(JsonFile, BoundsWhatAStrangersTextCosts) {
  const auto message = [](const std::string& text) {
    return message_of<Error>([&] { parse_json(text, "x.json"); });
  };
  const auto nested = [](int levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(message(nested(100)), "");
  EXPECT_EQ(message(nested(101)), "x.json: nested deeper than 100 levels");
  EXPECT_EQ(message(std::string(1'000'000, '[')), "x.json: nested deeper than 100 levels");
  std::string keys = "{\"\":0";
  for (int key = 0; key < 10'000; ++key) keys += fmt::format(",\"{}\":0", key);
  EXPECT_EQ(message(keys + "}"), "x.json: over 10000 keys in one object");
  EXPECT_EQ(message(std::string("{}\0{}", 5)), "x.json: not JSON: holds a zero byte");
}

TEST(JsonFile, ErrorsShowStrangeTextOnOneShortLine) {
  const auto message = [](const std::string& text) {
    return message_of<Error>([&] { object(text).get<int64_t>("n"); });
  };
  EXPECT_EQ(message("{\"n\": \"" + std::string(500, 'x') + "\"}"),
            "x.json: n is \"" + std::string(79, 'x') + "…; allowed: a whole number");
  EXPECT_EQ(message(R"({"\n": 1, "\n": 2})"), R"(x.json: \n is given twice)");
  EXPECT_EQ(message("{\"\xFF\": 1}"),
            "x.json: not JSON: parse error at line 1, column 3: syntax error while parsing object "
            "key - invalid string: ill-formed UTF-8 byte");
}

TEST(JsonFile, WritesWhatItReads) {
  TempFolder folder;
  const Json value = {{"z", 1}, {"a", {1, 2}}};
  write_json_file(folder / "v.json", value);
  EXPECT_EQ(read_json_file(folder / "v.json"), value);
}

}  // namespace convseq
