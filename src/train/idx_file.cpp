#include "train/idx_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "train/regular_file.h"
#include "train/shape_text.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
// No deflate stream expands further: its densest symbol is 258 bytes from 2 bits.
constexpr std::int64_t kMaxGzipRatio = 1032;
constexpr const char* kFetchAgain = "fetch the file again or check that the right one was named";

[[noreturn]] void refuse(const std::string& path, const std::string& why, const std::string& help) {
  throw StorageError(fmt::format("{}: {}; {}", path, why, help));
}

// A gzip or plain file as a stream of bytes.
class ByteStream {
 public:
  explicit ByteStream(std::string path) : path_(std::move(path)), file_(::gzopen(path_.c_str(), "rbe")) {
    if (!file_) throw StorageError(fmt::format("cannot open {}: {}", path_, std::strerror(errno)));
    ::gzbuffer(file_.get(), 1U << 18);
  }

  // Fills `destination` (at most kBlockBytes) unless the data ends before; returns the bytes read.
  std::size_t read(std::span<std::uint8_t> destination) {
    errno = 0;
    const int count = ::gzread(file_.get(), destination.data(), static_cast<unsigned>(destination.size()));
    if (count == static_cast<int>(destination.size())) return destination.size();
    int code = Z_OK;
    // zlib tells a stream that breaks off from one that ends only by the error state it leaves behind.
    const std::string message = ::gzerror(file_.get(), &code);
    if (code == Z_ERRNO) throw StorageError(fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
    if (code == Z_BUF_ERROR) refuse(path_, "the gzip data breaks off before its end", kFetchAgain);
    if (code != Z_OK || count < 0) {
      refuse(path_, fmt::format("the gzip data is corrupt ({})", message), kFetchAgain);
    }
    return static_cast<std::size_t>(count);
  }

 private:
  struct Close {
    void operator()(gzFile_s* file) const { ::gzclose_r(file); }
  };

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

std::string_view element_type_name(std::uint8_t code) {
  switch (code) {
    case 0x09:
      return "signed byte";
    case 0x0B:
      return "16-bit integer";
    case 0x0C:
      return "32-bit integer";
    case 0x0D:
      return "float";
    case 0x0E:
      return "double";
    default:
      return "unknown";
  }
}

void check_magic(const std::string& path, std::span<const std::uint8_t, 4> magic, IdxContent content) {
  if (magic[0] != 0 || magic[1] != 0) {
    refuse(
        path,
        fmt::format("is not an IDX file: it starts with {:02x} {:02x}, not with 00 00", magic[0], magic[1]),
        "give files in the format of MNIST, gzip or plain");
  }
  if (magic[2] != kUnsignedByte) {
    refuse(path, fmt::format("has elements of type 0x{:02x} ({})", magic[2], element_type_name(magic[2])),
           "only unsigned bytes (0x08) are read");
  }
  const int rank = magic[3];
  if (content == IdxContent::labels && rank != 1) {
    refuse(path, fmt::format("has rank {}, but labels have rank 1", rank),
           "give the files as IMAGES,LABELS, in this order");
  }
  if (content == IdxContent::images && rank != 3 && rank != 4) {
    refuse(path, fmt::format("has rank {}, but images have rank 3 (N x H x W) or 4 (N x C x H x W)", rank),
           "give the files as IMAGES,LABELS, in this order");
  }
}

std::vector<std::int64_t> read_shape(const std::string& path, ByteStream& stream, IdxContent content) {
  std::array<std::uint8_t, 4> magic = {};
  const std::size_t magic_bytes = stream.read(magic);
  if (magic_bytes < magic.size()) {
    refuse(path, fmt::format("ends after {} of the 4 bytes that start an IDX file", magic_bytes),
           kFetchAgain);
  }
  check_magic(path, magic, content);
  std::vector<std::int64_t> shape(magic[3]);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::array<std::uint8_t, 4> big_endian = {};
    const std::size_t count = stream.read(big_endian);
    if (count < big_endian.size()) {
      refuse(path,
             fmt::format("ends after {} of the {} bytes of its header", 4 + 4 * axis + count,
                         4 + 4 * shape.size()),
             kFetchAgain);
    }
    for (const std::uint8_t byte : big_endian) shape[axis] = shape[axis] * 256 + byte;
    if (shape[axis] == 0) refuse(path, fmt::format("dimension {} is 0", axis), kFetchAgain);
  }
  return shape;
}

std::optional<std::int64_t> product(std::span<const std::int64_t> shape) {
  std::int64_t result = 1;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(result, extent, &result)) return std::nullopt;
  }
  return result;
}

std::vector<std::uint8_t> read_payload(const std::string& path, ByteStream& stream,
                                       std::size_t payload_bytes) {
  std::vector<std::uint8_t> bytes;
  std::size_t filled = 0;
  while (filled < payload_bytes) {
    if (filled == bytes.size()) {
      // Doubling what has arrived keeps the cost linear and never trusts the header by more than that.
      const std::size_t grown = std::min(payload_bytes, std::max(kBlockBytes, 2 * filled));
      bytes.reserve(grown);
      bytes.resize(grown);
    }
    const std::size_t wanted = std::min(kBlockBytes, bytes.size() - filled);
    const std::size_t count = stream.read(std::span(bytes).subspan(filled, wanted));
    filled += count;
    if (count < wanted) {
      refuse(path, fmt::format("ends after {} of {} bytes of data", filled, payload_bytes), kFetchAgain);
    }
  }
  std::array<std::uint8_t, 1> beyond = {};
  if (stream.read(beyond) != 0) {
    refuse(path, fmt::format("goes on after the {} bytes of data that its header states", payload_bytes),
           kFetchAgain);
  }
  return bytes;
}

}  // namespace

IdxFile read_idx_file(const std::string& path, IdxContent content, const std::string& advice) {
  const std::int64_t file_bytes = regular_file_bytes(path, advice);
  ByteStream stream(path);
  IdxFile file{.path = path, .shape = read_shape(path, stream, content), .bytes = {}};
  const std::optional<std::int64_t> payload_bytes = product(file.shape);
  if (!payload_bytes || *payload_bytes / kMaxGzipRatio > file_bytes) {
    refuse(path,
           fmt::format("its header states {} bytes, more than a file of {} bytes can hold",
                       shape_text(file.shape, " x "), file_bytes),
           kFetchAgain);
  }
  try {
    file.bytes = read_payload(path, stream, static_cast<std::size_t>(*payload_bytes));
  } catch (const std::bad_alloc&) {
    refuse(path, fmt::format("its {} bytes of data do not fit the memory", *payload_bytes),
           "use a smaller data set");
  }
  return file;
}

}  // namespace vdnn
