#include "vdnn/zoo.h"

#include <fmt/format.h>

#include <functional>

#include "base/nearest.h"
#include "model/networks.h"
#include "vdnn/error.h"
#include "vdnn/whole_file.h"

namespace vdnn {
namespace {

struct Entry {
  ModelInfo info;
  std::function<Graph(const NetworkOptions&)> make;
};

std::vector<Entry> zoo() {
  std::vector<Entry> entries = {
      {{"alexnet", "5 convolutions, one-weird-trick single tower", 224}, alexnet},
      {{"overfeat", "5 convolutions, fast model", 231}, overfeat},
      {{"googlenet", "9 inception modules, LRN, two auxiliary classifiers", 224}, googlenet},
      {{"googlenet-plain", "googlenet without LRN and auxiliary classifiers", 224}, googlenet_plain},
      {{"vgg-16", "13 convolutions of 3x3", 224}, [](const auto& options) { return vgg(options, 0); }}};
  for (int k = 1; k <= 4; ++k) {
    entries.push_back({{fmt::format("vgg-{}16", k),
                        fmt::format("vgg-16 with {} convolutions more in each group", 20 * k), 224},
                       [k](const auto& options) { return vgg(options, 20 * k); }});
  }
  entries.push_back({{"resnet-50", "16 bottlenecks joined by addition, batch norm", 224}, resnet50});
  return entries;
}

void check(const char* what, std::int64_t value) {
  if (value < 1) throw UsageError(fmt::format("{} {} must be at least 1", what, value));
}

Graph read_model(const std::string& path, const ModelOptions& options) {
  if (options.classes)
    throw UsageError("--classes is for networks of the zoo; in a file the last layer says it");
  return parse_graph(read_whole_file(path), path, options.batch, options.image);
}

}  // namespace

std::vector<ModelInfo> models() {
  std::vector<ModelInfo> infos;
  for (const auto& entry : zoo()) infos.push_back(entry.info);
  return infos;
}

TensorId convolution_relu(GraphBuilder& builder, const std::string& name, TensorId x,
                          const ConvolutionAttributes& attributes) {
  return builder.relu(name + "_relu", builder.convolution(name, x, attributes));
}

Graph make_model(const std::string& name_or_path, const ModelOptions& options) {
  if (options.batch) check("batch", *options.batch);
  if (options.image) check("image", *options.image);
  if (options.classes) check("classes", *options.classes);
  std::vector<std::string> known;
  for (const auto& entry : zoo()) {
    known.push_back(entry.info.name);
    if (entry.info.name != name_or_path) continue;
    const auto image = options.image.value_or(entry.info.image);
    return entry.make({.name = name_or_path,
                       .input = {options.batch.value_or(32), 3, image, image},
                       .classes = options.classes.value_or(1000)});
  }
  if (name_or_path.find_first_of("/.") != std::string::npos) return read_model(name_or_path, options);
  throw UsageError(fmt::format("unknown model '{}'{} (or the path of a network file)", name_or_path,
                               suggest(name_or_path, known)));
}

}  // namespace vdnn
