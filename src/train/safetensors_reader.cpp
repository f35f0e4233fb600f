#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/unique_fd.h"
#include "train/regular_file.h"
#include "train/safetensors_format.h"
#include "train/shape_text.h"
#include "vdnn/error.h"
#include "vdnn/safetensors.h"

namespace vdnn {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw StorageError(fmt::format("{}: not a usable safetensors file: {}", path, why));
}

class InputFile {
 public:
  explicit InputFile(const std::string& path)
      : path_(path), bytes_(regular_file_bytes(path, "")), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (!fd_.valid()) throw StorageError(fmt::format("cannot open {}: {}", path_, std::strerror(errno)));
  }

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  void read(std::int64_t offset, void* destination, std::size_t size) const {
    auto* at = static_cast<char*>(destination);
    while (size > 0) {
      const ssize_t count = ::pread(fd_.get(), at, size, offset);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        throw StorageError(fmt::format("cannot read {} bytes at offset {} of {}: {}", size, offset, path_,
                                       std::strerror(errno)));
      }
      if (count == 0) refuse(path_, fmt::format("it shrank to {} bytes while it was read", offset));
      at += count;
      offset += count;
      size -= static_cast<std::size_t>(count);
    }
  }

 private:
  std::string path_;
  std::int64_t bytes_;
  UniqueFd fd_;
};

// One tensor as the header describes it, in bytes relative to the end of the header.
struct Entry {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

json parse_header(const std::string& path, const std::string& text) {
  if (text.empty() || text[0] != '{') refuse(path, "the header does not start with '{'");
  // The parser itself lets the last of two equal keys win, so that two readers could see two files.
  std::vector<std::set<std::string>> keys_by_depth;
  const auto refuse_repeated_keys = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys_by_depth.emplace_back();
    if (event == json::parse_event_t::object_end) keys_by_depth.pop_back();
    if (event == json::parse_event_t::key && !keys_by_depth.back().insert(parsed.get<std::string>()).second) {
      refuse(path, fmt::format("the header has the key '{}' twice", parsed.get<std::string>()));
    }
    return true;
  };
  try {
    return json::parse(text, refuse_repeated_keys);
  } catch (const json::exception& error) {
    refuse(path, fmt::format("the header is not JSON: {}", error.what()));
  }
}

void check_metadata(const std::string& path, const json& metadata) {
  const bool valid = metadata.is_object() && std::all_of(metadata.begin(), metadata.end(),
                                                         [](const json& value) { return value.is_string(); });
  if (!valid) refuse(path, fmt::format("{} is not an object of strings", kSafetensorsMetadata));
}

std::vector<std::int64_t> parse_integers(const std::string& path, const std::string& name, const json& tensor,
                                         const char* key) {
  const auto found = tensor.find(key);
  if (found == tensor.end() || !found->is_array()) {
    refuse(path, fmt::format("tensor '{}' has no array '{}'", name, key));
  }
  std::vector<std::int64_t> values;
  for (const json& element : *found) {
    if (!element.is_number_unsigned() ||
        element.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      refuse(path,
             fmt::format("tensor '{}': an element of '{}' is not an integer from 0 to 2^63 - 1", name, key));
    }
    values.push_back(element.get<std::int64_t>());
  }
  return values;
}

Entry parse_entry(const std::string& path, const std::string& name, const json& tensor,
                  std::int64_t data_bytes) {
  if (!tensor.is_object()) refuse(path, fmt::format("tensor '{}' is not described by an object", name));
  const auto dtype = tensor.find("dtype");
  if (dtype == tensor.end() || !dtype->is_string()) {
    refuse(path, fmt::format("tensor '{}' has no string 'dtype'", name));
  }
  if (dtype->get_ref<const std::string&>() != "F32") {
    refuse(path, fmt::format("tensor '{}' has dtype '{}', but only F32 is read; convert it to 32-bit floats",
                             name, dtype->get_ref<const std::string&>()));
  }
  Entry entry{.name = name, .shape = parse_integers(path, name, tensor, "shape")};
  const std::vector<std::int64_t> offsets = parse_integers(path, name, tensor, "data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes) {
    refuse(path, fmt::format("tensor '{}' has data_offsets [{}], which is no range within {} bytes of data",
                             name, shape_text(offsets), data_bytes));
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  if (float_tensor_bytes(entry.shape) != entry.end - entry.begin) {
    refuse(path,
           fmt::format("tensor '{}' of shape [{}] does not have the {} bytes that its data_offsets state",
                       name, shape_text(entry.shape), entry.end - entry.begin));
  }
  return entry;
}

// The format wants each byte of data to belong to exactly one tensor.
void check_coverage(const std::string& path, std::vector<Entry>& entries, std::int64_t data_bytes) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::int64_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != covered) {
      refuse(path, fmt::format("tensor '{}' begins at byte {}, which {} (the one before ends at {})",
                               entry.name, entry.begin,
                               entry.begin < covered ? "overlaps another tensor" : "leaves a gap", covered));
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    refuse(path, fmt::format("its tensors end at byte {} of {} bytes of data", covered, data_bytes));
  }
}

std::string read_header_text(const std::string& path, const InputFile& file) {
  if (file.bytes() < kSafetensorsLengthBytes) {
    refuse(path, fmt::format("it has {} bytes, too few for the length of a header", file.bytes()));
  }
  std::uint64_t length = 0;
  file.read(0, &length, sizeof(length));
  const std::int64_t limit = std::min(kSafetensorsMaxHeaderBytes, file.bytes() - kSafetensorsLengthBytes);
  if (length > static_cast<std::uint64_t>(limit)) {
    refuse(path, fmt::format("it states a header of {} bytes; in a file of {} bytes at most {} are possible",
                             length, file.bytes(), limit));
  }
  std::string text(length, '\0');
  file.read(kSafetensorsLengthBytes, text.data(), text.size());
  return text;
}

std::map<std::string, StoredTensor> read_tensors(const std::string& path) {
  const InputFile file(path);
  const std::string text = read_header_text(path, file);
  const std::int64_t data_offset = kSafetensorsLengthBytes + static_cast<std::int64_t>(text.size());
  const std::int64_t data_bytes = file.bytes() - data_offset;
  std::vector<Entry> entries;
  const json header = parse_header(path, text);
  for (const auto& [name, description] : header.items()) {
    if (name == kSafetensorsMetadata) {
      check_metadata(path, description);
    } else {
      entries.push_back(parse_entry(path, name, description, data_bytes));
    }
  }
  check_coverage(path, entries, data_bytes);
  std::map<std::string, StoredTensor> tensors;
  for (Entry& entry : entries) {
    StoredTensor& tensor = tensors[entry.name];
    tensor.shape = std::move(entry.shape);
    tensor.values.resize(static_cast<std::size_t>(entry.end - entry.begin) / sizeof(float));
    file.read(data_offset + entry.begin, tensor.values.data(), tensor.values.size() * sizeof(float));
  }
  return tensors;
}

}  // namespace

std::map<std::string, StoredTensor> read_safetensors(const std::string& path) {
  try {
    return read_tensors(path);
  } catch (const std::bad_alloc&) {
    throw StorageError(fmt::format("{}: its tensors do not fit the memory", path));
  }
}

}  // namespace vdnn
