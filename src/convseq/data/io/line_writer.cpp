#include "convseq/data/io/line_writer.h"

#include <zlib.h>

namespace convseq {

class LineWriter::Packer {
 public:
  explicit Packer(AtomicFile& file) : file_(file), packed_(1 << 16) {
    constexpr int kGzip = 15 + 16;  // the largest window, and a gzip header (without a date)
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~Packer() { deflateEnd(&stream_); }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  void write(std::string_view text) { pack(text, Z_NO_FLUSH); }
  void finish() { pack("", Z_FINISH); }

 private:
  void pack(std::string_view text, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(packed_.data());
      stream_.avail_out = static_cast<uInt>(packed_.size());
      deflate(&stream_, flush);
      file_.write(std::string_view(packed_.data(), packed_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

  AtomicFile& file_;
  z_stream stream_{};
  std::vector<char> packed_;
};

LineWriter::LineWriter(const std::filesystem::path& path) : file_(path) {
  if (path.extension() == ".gz") packer_ = std::make_unique<Packer>(file_);
}

LineWriter::~LineWriter() = default;

void LineWriter::write(std::string_view line) {
  if (packer_) {
    packer_->write(line);
    packer_->write("\n");
  } else {
    file_.write(line);
    file_.write("\n");
  }
}

void LineWriter::commit() {
  if (packer_) packer_->finish();
  file_.commit();
}

}  // namespace convseq
