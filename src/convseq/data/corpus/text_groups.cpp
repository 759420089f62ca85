#include "convseq/data/corpus/text_groups.h"

#include "convseq/base/checksum.h"
#include "convseq/base/random.h"
#include "convseq/data/random_use.h"

namespace convseq {
namespace fs = std::filesystem;

TextGroups::TextGroups(std::vector<fs::path> files, Tokenizer tokenizer,
                       const TextGroupsOptions& options)
    : files_(std::move(files)),
      tokenizer_(std::move(tokenizer)),
      options_(options),
      segmenter_{options.segment_length} {
  for (const fs::path& file : files_) {
    require(fs::is_regular_file(file),
            "{}: is not a file that can be read repeatedly; convseq tokenize it first",
            file.string());
  }
}

void TextGroups::start_reading(const GroupPlace& place) {
  std::vector<fs::path> order = files_;
  Random(options_.seed, {kFileOrder, static_cast<uint64_t>(place.epoch)}).shuffle(order);
  documents_ = std::make_unique<TokenizedDocuments>(
      std::move(order), tokenizer_,
      // Enough that the next group is ready when this one ends.
      TokenizedDocumentsOptions{.threads = options_.threads,
                                .bytes_ahead = options_.group_bytes,
                                .reader = {.lines = {.bad_lines = options_.bad_lines}}},
      place.text);
  ahead_ = documents_->next();
}

int64_t TextGroups::open(const GroupPlace& place) {
  if (place != following_ || place.text == DocumentPlace{}) start_reading(place);
  require(ahead_ || place.group > 0, "{}: the corpus holds no document", files_.front().string());
  ids_.clear();
  following_ = {.epoch = place.epoch, .group = place.group + 1, .text = place.text};
  for (int64_t bytes = 0; ahead_ && bytes < options_.group_bytes; ahead_ = documents_->next()) {
    ids_.insert(ids_.end(), ahead_->ids.begin(), ahead_->ids.end());
    bytes += ahead_->text_bytes;
    following_.text = ahead_->end;
  }
  if (!ahead_) following_ = {.epoch = place.epoch + 1};
  return segmenter_.count(std::ssize(ids_));
}

void TextGroups::read(int64_t segment, std::vector<int32_t>& out) {
  const auto begin = ids_.begin() + segmenter_.begin(segment);
  out.insert(out.end(), begin, begin + segmenter_.size(segment, std::ssize(ids_)));
}

uint32_t TextGroups::fingerprint() const {
  std::string all = fmt::format("text for {}", tokenizer_.fingerprint());
  for (const fs::path& file : files_) {
    all += fmt::format(" {}:{}", file.filename().string(), fs::file_size(file));
  }
  return crc32_of(all);
}

}  // namespace convseq
