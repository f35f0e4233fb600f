#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "train/safetensors_format.h"
#include "train/shape_text.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"
#include "vdnn/safetensors.h"

namespace vdnn {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;
// Whatever the header takes, the size of the file is then a number.
constexpr std::int64_t kMaxDataBytes =
    std::numeric_limits<std::int64_t>::max() - kSafetensorsMaxHeaderBytes - kSafetensorsLengthBytes;

struct Layout {
  std::string header;  // with its length in front and padded
  std::int64_t data_bytes = 0;
};

Layout layout_of(const std::string& path, const std::vector<TensorHeader>& tensors) {
  std::int64_t offset = 0;
  std::set<std::string_view> names;
  nlohmann::ordered_json json = {{kSafetensorsMetadata, {{"format", "pt"}}}};
  for (const auto& [name, shape] : tensors) {
    if (name.empty() || name == kSafetensorsMetadata || !names.insert(name).second) {
      throw StorageError(fmt::format("cannot write {}: the tensor name '{}' is {}", path, name,
                                     name.empty()                   ? "empty"
                                     : name == kSafetensorsMetadata ? "reserved"
                                                                    : "used twice"));
    }
    const auto bytes = float_tensor_bytes(shape);
    std::int64_t end = 0;
    if (!bytes || __builtin_add_overflow(offset, *bytes, &end) || end > kMaxDataBytes) {
      throw StorageError(fmt::format("cannot write {}: tensor '{}' of shape [{}] has no valid size", path,
                                     name, shape_text(shape)));
    }
    json[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text;
  try {
    text = json.dump();
  } catch (const nlohmann::json::exception& error) {
    throw StorageError(fmt::format("cannot write {}: tensor names must be UTF-8: {}", path, error.what()));
  }
  text.resize(static_cast<std::size_t>(round_up(static_cast<std::int64_t>(text.size()), 8)), ' ');
  const std::uint64_t length = text.size();
  if (length > static_cast<std::uint64_t>(kSafetensorsMaxHeaderBytes)) {
    throw StorageError(
        fmt::format("cannot write {}: a header of {} bytes for {} tensors is above the limit of {}", path,
                    length, tensors.size(), kSafetensorsMaxHeaderBytes));
  }
  std::string header(reinterpret_cast<const char*>(&length), sizeof(length));
  return {.header = header + text, .data_bytes = offset};
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

namespace {

// The file that takes the new one's place: what a link points to, not the link.
std::string behind_links(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const auto target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

}  // namespace

class SafetensorsWriter::Output {
 public:
  Output(const std::string& path, std::int64_t data_bytes)
      : path_(behind_links(path)), data_bytes_(data_bytes) {
    buffer_.reserve(kBufferBytes);
    // Found out now and not after hours of training: rename would fail on a directory and replace a device.
    struct stat status = {};
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
      throw StorageError(fmt::format("cannot write {}: it exists and is not a regular file", path));
    }
    create_temporary();
  }

  ~Output() {
    if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void reserve(std::int64_t file_bytes) {
    // File systems that cannot reserve say so; then a full disk shows while writing.
    if (::fallocate(fd_.get(), 0, 0, file_bytes) != 0 && errno != EOPNOTSUPP && errno != ENOSYS &&
        errno != EINTR) {
      fail(fmt::format("reserving {} bytes", file_bytes));
    }
  }

  void write_header(std::string_view header) { buffer_and_write({header.data(), header.size()}); }

  void append(std::span<const float> values) {
    if (broken_) throw StorageError(fmt::format("cannot write {}: an earlier write failed", path_));
    const auto bytes = static_cast<std::int64_t>(values.size_bytes());
    if (bytes > data_bytes_ - given_bytes_) {
      broken_ = true;
      throw StorageError(fmt::format("cannot write {}: {} bytes of values given, but its tensors hold {}",
                                     path_, given_bytes_ + bytes, data_bytes_));
    }
    given_bytes_ += bytes;
    buffer_and_write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }

  void finish() {
    if (broken_ || temporary_path_.empty()) {
      throw StorageError(fmt::format("cannot finish {}: {}", path_,
                                     broken_ ? "an earlier write failed" : "it is already finished"));
    }
    if (given_bytes_ != data_bytes_) {
      throw StorageError(fmt::format("cannot finish {}: {} of the {} bytes of its tensors were given", path_,
                                     given_bytes_, data_bytes_));
    }
    write_all(buffer_);
    buffer_.clear();
    if (::fsync(fd_.get()) != 0) fail("fsync");
    if (::rename(temporary_path_.c_str(), path_.c_str()) != 0) fail("renaming " + temporary_path_);
    temporary_path_.clear();
    sync_directory();
  }

 private:
  [[noreturn]] void fail(const std::string& what) {
    const int code = errno;
    broken_ = true;
    throw StorageError(fmt::format("cannot write {}: {}: {}", path_, what, std::strerror(code)));
  }

  void create_temporary() {
    // mkstemp would keep others from reading the finished file; open() leaves that to the umask.
    for (int attempt = 0;; ++attempt) {
      const std::string candidate = fmt::format("{}.{}-{}.tmp", path_, ::getpid(), attempt);
      fd_ = UniqueFd(::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (fd_.valid()) {
        temporary_path_ = candidate;
        return;
      }
      if (errno != EEXIST || attempt == 1000) fail("creating " + candidate);
    }
  }

  void buffer_and_write(std::string_view bytes) {
    if (buffer_.size() + bytes.size() > kBufferBytes) {
      write_all(buffer_);
      buffer_.clear();
    }
    if (bytes.size() > kBufferBytes) {
      write_all(bytes);
    } else {
      buffer_ += bytes;
    }
  }

  void write_all(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count == 0) errno = EIO;
      if (count <= 0) fail(fmt::format("writing {} bytes at offset {}", bytes.size(), written_bytes_));
      written_bytes_ += count;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  // Without this the new name may be lost in a power failure, though the data is not.
  void sync_directory() {
    const std::string directory = directory_of(path_);
    const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Some file systems cannot sync a directory and need not: EINVAL.
    if (!fd.valid() || (::fsync(fd.get()) != 0 && errno != EINVAL)) fail("fsync of directory " + directory);
  }

  std::string path_;
  std::string temporary_path_;  // empty once renamed
  UniqueFd fd_;
  std::string buffer_;
  std::int64_t data_bytes_ = 0;
  std::int64_t given_bytes_ = 0;
  std::int64_t written_bytes_ = 0;
  bool broken_ = false;
};

SafetensorsWriter::SafetensorsWriter(const std::string& path, const std::vector<TensorHeader>& tensors) {
  const Layout layout = layout_of(path, tensors);
  output_ = std::make_unique<Output>(path, layout.data_bytes);
  output_->reserve(static_cast<std::int64_t>(layout.header.size()) + layout.data_bytes);
  output_->write_header(layout.header);
}

SafetensorsWriter::~SafetensorsWriter() = default;

void SafetensorsWriter::append(std::span<const float> values) {
  output_->append(values);
}

void SafetensorsWriter::finish() {
  output_->finish();
}

}  // namespace vdnn
