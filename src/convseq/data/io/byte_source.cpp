#include "convseq/data/io/byte_source.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "convseq/base/file/system_error.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kGzipMagic("\x1F\x8B", 2);
constexpr std::string_view kZstdMagic("\x28\xB5\x2F\xFD", 4);
constexpr std::string_view kPzstdMagic("\x50\x2A\x4D\x18", 4);  // of a frame that is skipped

// A file descriptor with a look at the bytes to come.
class RawFile {
 public:
  RawFile(const fs::path& path, ByteSource::Stop stop)
      : stop_(std::move(stop)), buffer_(kReadBytes) {
    std::error_code no_file;  // told by open()
    require(!fs::is_directory(path, no_file), "{}: is a folder, not a file", path.string());
    file_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) fail_to("open", path);
  }
  ~RawFile() {
    if (file_ > STDIN_FILENO) ::close(file_);
  }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  std::string_view ahead() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void consume(size_t bytes) {
    begin_ += bytes;
    position_ += static_cast<int64_t>(bytes);
  }
  int64_t position() const { return position_; }

  // Makes at least `wanted` bytes visible in ahead(), fewer only at the end of the file.
  void look_ahead(size_t wanted) {
    if (ahead().size() >= wanted) return;
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    while (end_ < wanted) {
      if (!wait()) return;
      const ssize_t got = ::read(file_, buffer_.data() + end_, buffer_.size() - end_);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        throw Error(fmt::format("cannot read: {}", std::strerror(errno)),
                    cause_of({errno, std::generic_category()}));
      }
      if (got == 0) return;
      end_ += static_cast<size_t>(got);
    }
  }

  // Waits for no more bytes than it needs: a terminal or a pipe may give a short line first.
  bool begins_with(std::string_view magic) {
    for (size_t bytes = 1; bytes <= magic.size(); ++bytes) {
      look_ahead(bytes);
      if (!ahead().starts_with(magic.substr(0, bytes))) return false;
    }
    return true;
  }

  bool would_wait() const { return ahead().empty() && !is_ready(/*milliseconds=*/0); }

 private:
  // Until there is something to read; false if told to stop before.
  bool wait() const {
    if (!stop_) return true;
    while (!stop_()) {
      if (is_ready(/*milliseconds=*/100)) return true;
    }
    return false;
  }

  bool is_ready(int milliseconds) const {
    pollfd file{.fd = file_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&file, 1, milliseconds);
    return ready > 0 || (ready < 0 && errno != EINTR);  // read() tells the error
  }

  int file_ = -1;
  ByteSource::Stop stop_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  int64_t position_ = 0;
};

class PlainSource : public ByteSource {
 public:
  explicit PlainSource(std::unique_ptr<RawFile> file) : file_(std::move(file)) {}

  size_t read(std::span<char> out) override {
    file_->look_ahead(1);
    const size_t count = std::min(out.size(), file_->ahead().size());
    std::memcpy(out.data(), file_->ahead().data(), count);
    file_->consume(count);
    return count;
  }

  bool would_wait() const override { return file_->would_wait(); }
  int64_t file_position() const override { return file_->position(); }

 private:
  std::unique_ptr<RawFile> file_;
};

class GzipSource : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<RawFile> file) : file_(std::move(file)) {
    constexpr int kGzipWindow = 15 + 16;  // 16: a gzip header, not a zlib one
    require(::inflateInit2(&stream_, kGzipWindow) == Z_OK, "zlib has no memory");
  }
  ~GzipSource() override { ::inflateEnd(&stream_); }

  size_t read(std::span<char> out) override {
    while (true) {
      file_->look_ahead(1);
      if (file_->ahead().empty()) {
        require(between_members_, "the gzip stream ends too early");
        return 0;
      }
      if (between_members_) start_member();
      const std::string_view ahead = file_->ahead();  // only now: start_member() may move the bytes
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(ahead.data()));
      stream_.avail_in = static_cast<uInt>(ahead.size());
      stream_.next_out = reinterpret_cast<Bytef*>(out.data());
      stream_.avail_out = static_cast<uInt>(out.size());
      const int status = ::inflate(&stream_, Z_NO_FLUSH);
      file_->consume(ahead.size() - stream_.avail_in);
      require(status == Z_OK || status == Z_STREAM_END, "the gzip stream is broken: {}",
              stream_.msg != nullptr ? stream_.msg : ::zError(status));
      if (status == Z_STREAM_END) between_members_ = true;
      const size_t made = out.size() - stream_.avail_out;
      if (made > 0) return made;
    }
  }

  bool would_wait() const override { return file_->would_wait(); }
  int64_t file_position() const override { return file_->position(); }

 private:
  void start_member() {
    require(file_->begins_with(kGzipMagic), "the gzip stream is followed by something else");
    ::inflateReset(&stream_);
    between_members_ = false;
  }

  std::unique_ptr<RawFile> file_;
  z_stream stream_{};
  bool between_members_ = true;
};

class ZstdSource : public ByteSource {
 public:
  explicit ZstdSource(std::unique_ptr<RawFile> file)
      : file_(std::move(file)), stream_(::ZSTD_createDStream()) {
    require(stream_ != nullptr, "zstd has no memory");
  }
  ~ZstdSource() override { ::ZSTD_freeDStream(stream_); }

  size_t read(std::span<char> out) override {
    while (true) {
      file_->look_ahead(1);
      const std::string_view ahead = file_->ahead();
      ZSTD_inBuffer input{ahead.data(), ahead.size(), 0};
      ZSTD_outBuffer output{out.data(), out.size(), 0};
      const size_t status = ::ZSTD_decompressStream(stream_, &output, &input);
      require(::ZSTD_isError(status) == 0, "the zstd stream is broken: {}",
              ::ZSTD_getErrorName(status));
      file_->consume(input.pos);
      if (input.pos > 0 || output.pos > 0) frame_complete_ = status == 0;
      if (output.pos > 0) return output.pos;
      if (ahead.empty()) {
        require(frame_complete_, "the zstd stream ends too early");
        return 0;
      }
    }
  }

  bool would_wait() const override { return file_->would_wait(); }
  int64_t file_position() const override { return file_->position(); }

 private:
  std::unique_ptr<RawFile> file_;
  ZSTD_DStream* stream_;
  bool frame_complete_ = false;
};

}  // namespace

std::string lower_extension(const fs::path& file) {
  std::string extension = file.extension();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

std::string uncompressed_extension(const fs::path& file) {
  const std::string extension = lower_extension(file);
  return extension == ".gz" || extension == ".zst" ? lower_extension(file.stem()) : extension;
}

std::unique_ptr<ByteSource> ByteSource::open(const fs::path& path, Stop stop) {
  auto file = std::make_unique<RawFile>(path, std::move(stop));
  const bool gzip = file->begins_with(kGzipMagic);
  const bool zstd = file->begins_with(kZstdMagic) || file->begins_with(kPzstdMagic);
  require(gzip || lower_extension(path) != ".gz", "{}: is not gzip", path.string());
  require(zstd || lower_extension(path) != ".zst", "{}: is not zstd", path.string());
  if (gzip) return std::make_unique<GzipSource>(std::move(file));
  if (zstd) return std::make_unique<ZstdSource>(std::move(file));
  return std::make_unique<PlainSource>(std::move(file));
}

}  // namespace convseq
