#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vdnn/graph.h"

namespace vdnn {

struct ModelInfo {
  std::string name;
  std::string summary;
  std::int64_t image = 224;
};

struct ModelOptions {
  std::optional<std::int64_t> batch;    // default 32, or what a file says
  std::optional<std::int64_t> image;    // height and width; default the network's own
  std::optional<std::int64_t> classes;  // default 1000; not for files
};

// The networks that make_model knows.
std::vector<ModelInfo> models();

// A network of the zoo by name, or the one in a text file (any name with a '/' or a '.' in it that is no
// network's). Throws UsageError for unknown names, with the nearest ones, and for impossible options;
// ModelError for an image that is too small or a file that does not parse; StorageError for a
// file that cannot be read.
Graph make_model(const std::string& name_or_path, const ModelOptions& options);

}  // namespace vdnn
