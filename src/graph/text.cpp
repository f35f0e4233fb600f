#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <map>
#include <sstream>

#include "base/nearest.h"
#include "graph/op_family.h"
#include "vdnn/error.h"
#include "vdnn/graph.h"

namespace vdnn {
namespace {

std::string print(std::int64_t value) {
  return fmt::format("{}", value);
}
std::string print(double value) {
  return fmt::format("{}", value);
}
std::string print(bool value) {
  return value ? "true" : "false";
}
std::string print(Extent2d value) {
  return value.height == value.width ? print(value.height) : fmt::format("{}x{}", value.height, value.width);
}

template <class Number>
bool parse_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}
bool parse(std::string_view text, std::int64_t& value) {
  return parse_number(text, value) && value < (1LL << 40);
}
bool parse(std::string_view text, double& value) {
  return parse_number(text, value);
}
bool parse(std::string_view text, bool& value) {
  value = text == "true";
  return value || text == "false";
}
bool parse(std::string_view text, Extent2d& value) {
  const auto cross = text.find('x');
  if (cross == std::string_view::npos) {
    if (!parse(text, value.height)) return false;
    value.width = value.height;
    return true;
  }
  return parse(text.substr(0, cross), value.height) && parse(text.substr(cross + 1), value.width);
}

std::string attributes_text(const Attributes& attributes, const Attributes& defaults) {
  std::string text;
  std::visit(
      [&](const auto& a) {
        using A = std::decay_t<decltype(a)>;
        std::map<std::string, std::string> plain;
        A::fields(std::get<A>(defaults),
                  [&](const char* name, const auto& value) { plain[name] = print(value); });
        A::fields(a, [&](const char* name, const auto& value) {
          if (print(value) != plain[name]) text += fmt::format(" {}={}", name, print(value));
        });
      },
      attributes);
  return text;
}

class Parser {
  [[noreturn]] void refuse(const std::string& why) const {
    throw ModelError(fmt::format("{}:{}: {}", source_, line_, why));
  }

  // Errors of the builder, with the place in the file.
  template <class Build>
  auto placed(Build&& build) const {
    try {
      return build();
    } catch (const ModelError& error) {
      refuse(error.what());
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}:{}: {}", source_, line_, error.what()));
    }
  }

 public:
  Parser(std::string_view source, std::optional<std::int64_t> batch, std::optional<std::int64_t> image)
      : source_(source), batch_(batch), image_(image) {}

  Graph run(std::string_view text) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      if (const auto comment = line.find('#'); comment != std::string::npos) line.resize(comment);
      std::istringstream words(line);
      std::vector<std::string> tokens;
      for (std::string word; words >> word;) tokens.push_back(word);
      if (tokens.empty()) continue;
      if (tokens[0] == "network" && (tokens.size() < 2 || tokens[1] != "=")) {
        if (tokens.size() != 2) refuse("wants 'network NAME'");
        name_ = tokens[1];
      } else if (tokens[0] == "input" && (tokens.size() < 2 || tokens[1] != "=")) {
        input({tokens.begin() + 1, tokens.end()});
      } else {
        op(line);
      }
    }
    if (!builder_) refuse("has no 'input' line");
    return placed([&] { return std::move(*builder_).build(); });
  }

 private:
  static std::map<std::string, std::string> pairs(const std::vector<std::string>& words,
                                                  const Parser& parser) {
    std::map<std::string, std::string> result;
    for (const auto& word : words) {
      const auto equals = word.find('=');
      if (equals == std::string::npos) parser.refuse(fmt::format("'{}' is not key=value", word));
      if (!result.emplace(word.substr(0, equals), word.substr(equals + 1)).second) {
        parser.refuse(fmt::format("'{}' twice", word.substr(0, equals)));
      }
    }
    return result;
  }

  void input(const std::vector<std::string>& words) {
    if (builder_) refuse("a second 'input' line");
    std::map<std::string, std::int64_t> sizes = {
        {"batch", 32}, {"channels", 3}, {"height", 224}, {"width", 224}};
    for (const auto& [key, value] : pairs(words, *this)) {
      const auto size = sizes.find(key);
      if (size == sizes.end()) refuse(fmt::format("input has no '{}': batch, channels, height, width", key));
      if (!parse(value, size->second)) refuse(fmt::format("{}={} is not a number", key, value));
    }
    if (batch_) sizes["batch"] = *batch_;
    if (image_) sizes["height"] = sizes["width"] = *image_;
    placed([&] {
      return &builder_.emplace(name_,
                               Shape{sizes["batch"], sizes["channels"], sizes["height"], sizes["width"]});
    });
    tensors_["input"] = builder_->input();
  }

  // name = kind(input, input) key=value ...
  void op(const std::string& line) {
    if (!builder_) refuse("an op before the 'input' line");
    const auto equals = line.find('=');
    const auto open = line.find('(');
    const auto close = line.find(')');
    if (equals == std::string::npos || open == std::string::npos || close == std::string::npos ||
        open < equals || close < open) {
      refuse("wants 'name = op(inputs) key=value ...'");
    }
    const std::string name = word_in(line.substr(0, equals));
    const std::string kind = word_in(line.substr(equals + 1, open - equals - 1));
    const OpFamily& family = family_named(kind);
    std::vector<TensorId> inputs;
    std::istringstream list(line.substr(open + 1, close - open - 1));
    for (std::string item; std::getline(list, item, ',');) {
      const auto tensor = tensors_.find(word_in(item));
      if (tensor == tensors_.end())
        refuse(fmt::format("{}: unknown input '{}'{}", name, word_in(item), suggest_tensor(word_in(item))));
      inputs.push_back(tensor->second);
    }
    std::istringstream rest(line.substr(close + 1));
    std::vector<std::string> words;
    for (std::string word; rest >> word;) words.push_back(word);
    Attributes attributes = family.default_attributes;
    set(attributes, name, kind, pairs(words, *this));
    tensors_[name] =
        placed([&] { return builder_->append(family.kind, name, std::move(inputs), attributes); });
  }

  void set(Attributes& attributes, const std::string& name, const std::string& kind,
           std::map<std::string, std::string> values) const {
    std::visit(
        [&](auto& a) {
          std::decay_t<decltype(a)>::fields(a, [&](const char* key, auto& field) {
            const auto value = values.find(key);
            if (value == values.end()) return;
            if (!parse(value->second, field))
              refuse(fmt::format("{}: bad value {}={}", name, key, value->second));
            values.erase(value);
          });
        },
        attributes);
    if (!values.empty())
      refuse(fmt::format("{}: {} has no attribute '{}'", name, kind, values.begin()->first));
  }

  const OpFamily& family_named(const std::string& kind) const {
    std::vector<std::string> known;
    for (const auto* family : op_families()) {
      if (op_name(family->kind) == kind) return *family;
      known.emplace_back(op_name(family->kind));
    }
    refuse(fmt::format("unknown op '{}'{}", kind, suggest(kind, known)));
  }

  std::string suggest_tensor(const std::string& name) const {
    std::vector<std::string> known;
    for (const auto& [tensor, id] : tensors_) known.push_back(tensor);
    return suggest(name, known);
  }

  std::string word_in(const std::string& text) const {
    std::istringstream words(text);
    std::string word;
    std::string extra;
    words >> word;
    if (word.empty() || words >> extra) refuse(fmt::format("'{}' is not one name", text));
    return word;
  }

  std::string source_;
  std::optional<std::int64_t> batch_;
  std::optional<std::int64_t> image_;
  std::string name_ = "network";
  int line_ = 0;
  std::optional<GraphBuilder> builder_;
  std::map<std::string, TensorId> tensors_;
};

}  // namespace

std::string to_text(const Graph& graph) {
  const Shape& input = graph.tensor(graph.input()).shape;
  std::string text = fmt::format("network {}\ninput batch={} channels={} height={} width={}\n", graph.name(),
                                 input[0], input[1], input[2], input[3]);
  for (const auto& op : graph.ops()) {
    std::vector<std::string> inputs;
    for (const auto x : op.inputs) inputs.push_back(graph.tensor(x).name);
    text += fmt::format("{} = {}({}){}\n", op.name, op_name(op.kind), fmt::join(inputs, ", "),
                        attributes_text(op.attributes, op_family(op.kind).default_attributes));
  }
  return text;
}

Graph parse_graph(std::string_view text, std::string_view source, std::optional<std::int64_t> batch,
                  std::optional<std::int64_t> image) {
  return Parser(source, batch, image).run(text);
}

}  // namespace vdnn
