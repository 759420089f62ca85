#include "convseq/data/corpus/shard/shard_manifest.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

fs::path manifest_file(const fs::path& folder) { return folder / "manifest.json"; }

}  // namespace

bool ShardManifest::is_in(const fs::path& folder) { return fs::exists(manifest_file(folder)); }

ShardManifest ShardManifest::load(const fs::path& folder) {
  const fs::path file = manifest_file(folder);
  const JsonObject json = JsonObject::from_file(file);
  const auto items = [&](const std::string& key) {
    std::vector<JsonObject> objects;
    require(json.has(key) && json.json().at(key).is_array(), "{}: {} is no list", file.string(),
            key);
    for (const Json& item : json.json().at(key)) {
      objects.emplace_back(item, file.string() + ": " + key);
    }
    return objects;
  };
  ShardManifest manifest;
  manifest.tokenizer = json.get<uint32_t>("tokenizer");
  manifest.pieces = json.get<int32_t>("pieces");
  manifest.shard_tokens = json.get<int64_t>("shard_tokens");
  manifest.field = json.get_or("field", manifest.field);
  for (const JsonObject& input : items("corpus")) {
    manifest.corpus.push_back(CorpusInput::from_json(input));
  }
  for (const JsonObject& shard : items("shards")) {
    manifest.shards.push_back({shard.get<std::string>("file"), shard.get<int64_t>("documents"),
                               shard.get<int64_t>("tokens")});
  }
  manifest.next = {json.get<int64_t>("next_file"), json.get<int64_t>("next_line")};
  manifest.bad_lines = json.get<int64_t>("bad_lines");
  manifest.complete = json.get<bool>("complete");
  require(manifest.next.file >= 0 && manifest.next.line >= 0,
          "{}: next_file or next_line is negative", file.string());
  return manifest;
}

void ShardManifest::save(const fs::path& folder) const {
  Json json = {{"tokenizer", tokenizer}, {"pieces", pieces},        {"shard_tokens", shard_tokens},
               {"field", field},         {"corpus", Json::array()}, {"shards", Json::array()},
               {"next_file", next.file}, {"next_line", next.line},  {"bad_lines", bad_lines},
               {"complete", complete}};
  for (const CorpusInput& input : corpus) json["corpus"].push_back(input.to_json());
  for (const Shard& shard : shards) {
    json["shards"].push_back(
        {{"file", shard.file}, {"documents", shard.documents}, {"tokens", shard.tokens}});
  }
  write_json_file(manifest_file(folder), json);
}

int64_t ShardManifest::documents() const {
  int64_t sum = 0;
  for (const Shard& shard : shards) sum += shard.documents;
  return sum;
}

int64_t ShardManifest::tokens() const {
  int64_t sum = 0;
  for (const Shard& shard : shards) sum += shard.tokens;
  return sum;
}

}  // namespace convseq
