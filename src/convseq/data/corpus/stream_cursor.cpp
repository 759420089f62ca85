#include "convseq/data/corpus/stream_cursor.h"

namespace convseq {

Json StreamCursor::to_json() const {
  Json json = {{"examples", examples}, {"fingerprint", fingerprint}, {"corpora", Json::array()}};
  if (version > 1) json["version"] = version;
  for (const SegmentCursor& corpus : corpora) {
    json["corpora"].push_back({{"epoch", corpus.group.epoch},
                               {"group", corpus.group.group},
                               {"file", corpus.group.text.file},
                               {"line", corpus.group.text.line},
                               {"position", corpus.position}});
  }
  return json;
}

StreamCursor StreamCursor::from_json(const JsonObject& json) {
  StreamCursor cursor{.examples = json.get<int64_t>("examples"),
                      .corpora = {},
                      .fingerprint = json.get<uint32_t>("fingerprint"),
                      .version = json.get_or<int64_t>("version", 1)};
  if (cursor.version < 1 || cursor.version > kVersion) {
    json.refuse("version", "is {}; this program reads up to {}", cursor.version, kVersion);
  }
  const std::string origin = json.origin() + ": corpora";
  require(json.has("corpora") && json.json().at("corpora").is_array(), "{} is no list", origin);
  for (const Json& item : json.json().at("corpora")) {
    const JsonObject corpus(item, origin);
    const auto count = [&](const char* key) {
      const auto value = corpus.get<int64_t>(key);
      if (value < 0) corpus.refuse(key, "is {}; allowed: 0 or more", value);
      return value;
    };
    cursor.corpora.push_back({.group = {.epoch = count("epoch"),
                                        .group = count("group"),
                                        .text = {.file = count("file"), .line = count("line")}},
                              .position = count("position")});
  }
  return cursor;
}

}  // namespace convseq
