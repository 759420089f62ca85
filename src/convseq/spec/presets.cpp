#include "convseq/spec/presets.h"

#include <map>

#include "convseq/spec/embedded_presets.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFamilies = "families/";
constexpr std::string_view kSizes = "sizes/";

// The embedded files under `folder`, by name without it: {"paper-light", {...}}, …
std::map<std::string, Json> files_under(std::string_view folder) {
  std::map<std::string, Json> files;
  for (const auto& [path, text] : kEmbeddedPresets) {
    if (!path.starts_with(folder)) continue;
    files[std::string(path.substr(folder.size()))] = parse_json(text, std::string(path));
  }
  return files;
}

std::optional<Json> find_preset(const std::string& name) {
  const auto families = files_under(kFamilies), sizes = files_under(kSizes);
  for (const auto& [family, family_json] : families) {
    for (const auto& [size, size_json] : sizes) {
      if (name != family + "-" + size) continue;
      Json merged = size_json;
      merged.update(family_json);
      merged.erase("by_size");
      if (family_json.contains("by_size") && family_json["by_size"].contains(size)) {
        merged.update(family_json["by_size"][size]);
      }
      return merged;
    }
  }
  return std::nullopt;
}

void override_key(Json& json, const std::string& setting) {
  const size_t equals = setting.find('=');
  require(equals != setting.npos && equals > 0, "{}: wants KEY=VALUE",
          OptionName("overrides", setting));
  const std::string value = setting.substr(equals + 1);
  const bool is_json = Json::accept(value);
  json[setting.substr(0, equals)] = is_json ? Json::parse(value) : Json(value);
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const auto& [family, family_json] : files_under(kFamilies)) {
    for (const auto& [size, size_json] : files_under(kSizes)) names.push_back(family + "-" + size);
  }
  return names;
}

std::vector<std::string> preset_families() {
  std::vector<std::string> names;
  for (const auto& [kind, mixer] : kEnumNames<MixerKind>) {
    for (const auto& [family, json] : files_under(kFamilies)) {
      if (json.at("mixer") == mixer) names.push_back(family);
    }
  }
  return names;
}

ModelConfig find_model_config(const std::string& name_or_path,
                              const std::vector<std::string>& overrides) {
  const bool is_folder = fs::is_directory(name_or_path);
  const fs::path path = is_folder ? fs::path(name_or_path) / kConfigFile : fs::path(name_or_path);
  std::optional<Json> json;
  // A folder may have a preset's name, such as that of a run that has no model yet.
  if (!fs::exists(path)) json = find_preset(name_or_path);
  if (!json && (fs::exists(path) || path.has_parent_path())) json = read_json_file(path);
  require(json.has_value(), "{}: no such file, model folder or preset; presets: {}", name_or_path,
          fmt::join(preset_names(), ", "));
  for (const std::string& setting : overrides) {
    require(json->is_object(), "{}: holds no JSON object", path.string());
    override_key(*json, setting);
  }
  return ModelConfig::from_json({std::move(*json), path.string()});
}

}  // namespace convseq
