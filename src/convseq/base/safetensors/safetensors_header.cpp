#include "convseq/base/safetensors/safetensors_header.h"

#include <limits>
#include <optional>
#include <utility>

#include "convseq/base/file/json_file.h"

namespace convseq {
namespace {

constexpr uint64_t kMaxSize = std::numeric_limits<int64_t>::max();
constexpr size_t kMaxRank = 64;        // libtorch's limit
constexpr int kMaxIgnoredDepth = 125;  // the reference's limit, inside a tensor's entry

// A streaming (SAX) parser of the header. A header may be 100 MB and hostile: no tree is built,
// only the result is kept, and parsing ends at the first invalid token.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& origin) : origin_(origin) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(size_t) override {
    if (ignoring()) return ignore_deeper();
    if (place_ == Place::File) {
      place_ = Place::Header;
    } else if (place_ == Place::Header) {
      place_ = name_ == kMetadataKey ? Place::Metadata : Place::Tensor;
      key_.clear();
    } else {
      refuse("an object");
    }
    return true;
  }

  bool end_object() override {
    if (ignored_depth_ > 0) return end_ignored();
    if (place_ == Place::Tensor) finish_tensor();
    place_ = Place::Header;
    return true;
  }

  bool start_array(size_t) override {
    if (ignoring()) return ignore_deeper();
    if (place_ == Place::Tensor && key_ == "shape") {
      place_ = Place::Shape;
      draft_.shape.emplace();
    } else if (place_ == Place::Tensor && key_ == "data_offsets") {
      place_ = Place::Offsets;
      draft_.offsets.emplace();
    } else {
      refuse("a list");
    }
    return true;
  }

  bool end_array() override {
    if (ignored_depth_ > 0) return end_ignored();
    if (place_ == Place::Offsets && draft_.offsets->size() != 2) refuse("less than two numbers");
    place_ = Place::Tensor;
    return true;
  }

  bool key(std::string& key) override {
    if (ignored_depth_ > 0) return true;
    (place_ == Place::Header ? name_ : key_) = std::move(key);
    if (given_before()) fail("{}: {} is given twice", origin_, subject());
    return true;
  }

  bool number_unsigned(uint64_t value) override {
    if (place_ == Place::Shape && value <= kMaxSize) {
      if (draft_.shape->size() == kMaxRank) refuse(fmt::format("over {} numbers", kMaxRank));
      draft_.shape->push_back(static_cast<int64_t>(value));
    } else if (place_ == Place::Offsets) {
      if (draft_.offsets->size() == 2) refuse("a third number");
      draft_.offsets->push_back(value);
    } else {
      return ignore_or_refuse(fmt::to_string(value));
    }
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::Metadata) {
      header_.metadata.emplace(key_, std::move(value));
    } else if (place_ == Place::Tensor && key_ == "dtype") {
      draft_.type = enum_from_name<TensorType>(value);
      if (!draft_.type) refuse(brief_value(value));
    } else {
      return ignore_or_refuse(brief_value(value));
    }
    return true;
  }

  bool null() override {
    const bool no_metadata = place_ == Place::Header && name_ == kMetadataKey;
    return no_metadata || ignore_or_refuse("null");
  }

  bool boolean(bool value) override { return ignore_or_refuse(value ? "true" : "false"); }

  bool number_integer(int64_t value) override {  // only what has a minus sign
    return ignore_or_refuse(value == 0 ? "-0" : fmt::to_string(value));
  }

  bool number_float(double, const std::string& text) override {
    return ignore_or_refuse(brief_text(text));
  }

  bool binary(Json::binary_t&) override { return false; }  // no such thing in text

  bool parse_error(size_t, const std::string&, const Json::exception& error) override {
    fail("{}: header is {}", origin_, not_json(error));
  }

 private:
  enum class Place { File, Header, Metadata, Tensor, Shape, Offsets };

  struct Draft {
    std::optional<TensorType> type;
    std::optional<std::vector<int64_t>> shape;
    std::optional<std::vector<uint64_t>> offsets;
  };

  // What a tensor's entry holds under any other key is passed over, as the reference does.
  bool ignoring() const {
    return ignored_depth_ > 0 || (place_ == Place::Tensor && key_ != "dtype" && key_ != "shape" &&
                                  key_ != "data_offsets");
  }
  bool ignore_deeper() {
    require(++ignored_depth_ <= kMaxIgnoredDepth, "{}: header is nested too deep", origin_);
    return true;
  }
  bool end_ignored() {
    --ignored_depth_;
    return true;
  }
  bool ignore_or_refuse(const std::string& value) const {
    if (!ignoring()) refuse(value);
    return true;
  }

  bool given_before() {
    if (place_ == Place::Metadata) return header_.metadata.contains(key_);
    if (place_ == Place::Header) {
      return name_ == kMetadataKey ? std::exchange(metadata_given_, true)
                                   : header_.tensors.contains(name_);
    }
    return (key_ == "dtype" && draft_.type) || (key_ == "shape" && draft_.shape) ||
           (key_ == "data_offsets" && draft_.offsets);
  }

  void finish_tensor() {
    const auto need = [&](bool given, const char* key) {
      if (!given) fail("{}: tensor {}: {} is missing", origin_, brief_value(name_), key);
    };
    need(draft_.type.has_value(), "dtype");
    need(draft_.shape.has_value(), "shape");
    need(draft_.offsets.has_value(), "data_offsets");
    header_.tensors[name_] = {*draft_.type, std::move(*draft_.shape), draft_.offsets->front(),
                              draft_.offsets->back()};
    draft_ = {};
  }

  [[noreturn]] void refuse(const std::string& value) const {
    const char* verb = place_ == Place::Shape || place_ == Place::Offsets ? "holds" : "is";
    fail("{}: {} {} {}; allowed: {}", origin_, subject(), verb, value, allowed());
  }

  std::string subject() const {
    if (place_ == Place::File) return "header";
    if (place_ == Place::Metadata) return fmt::format("{}: {}", kMetadataKey, brief_value(key_));
    if (place_ == Place::Header && name_ == kMetadataKey) return std::string(kMetadataKey);
    const std::string tensor = "tensor " + brief_value(name_);
    return place_ == Place::Header ? tensor : tensor + ": " + key_;
  }

  std::string allowed() const {
    switch (place_) {
      case Place::File:
        return "an object";
      case Place::Header:
        return name_ == kMetadataKey ? "an object of strings"
                                     : "an object with dtype, shape, data_offsets";
      case Place::Metadata:
        return "a string";
      case Place::Tensor:
        if (key_ == "dtype") return all_names<TensorType>();
        return "a list of whole numbers";
      case Place::Shape:
        return fmt::format("at most {} whole numbers from 0 to {}", kMaxRank, kMaxSize);
      case Place::Offsets:
        return "two whole numbers, begin and end";
    }
    return "?";
  }

  const std::string& origin_;
  SafetensorsHeader header_;
  bool metadata_given_ = false;

  Place place_ = Place::File;
  int ignored_depth_ = 0;
  std::string name_;  // the key in the header: a tensor's name, or __metadata__
  std::string key_;   // the key inside of that
  Draft draft_;       // the tensor that the parser is inside of
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& origin) {
  require(text.starts_with('{'), "{}: header does not begin with {{", origin);
  // To the parser a zero byte is the end of the text, whatever follows.
  require(text.find('\0') == text.npos, "{}: header holds a zero byte", origin);
  HeaderReader reader(origin);
  Json::sax_parse(text.begin(), text.end(), &reader);
  return reader.take();
}

}  // namespace convseq
